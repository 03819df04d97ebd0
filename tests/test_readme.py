"""Every snippet of the README runs, in order; of a diff, the program before and the one after."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def snippets() -> list[tuple[str, int, str]]:
    text = README.read_text(encoding="utf-8")
    found = re.finditer(r"^```(python|diff)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(match[1], text[: match.start()].count("\n") + 1, match[2]) for match in found]


def side(diff: str, sign: str) -> str:
    """The program on one side of a diff; the lines of the other side are left blank."""
    return "\n".join(line[1:] if line[:1] in ("", " ", sign) else "" for line in diff.splitlines())


def run(line: int, code: str, names: dict[str, object]) -> str:
    # Blank lines first, so that a traceback shows the line of the README.
    program = compile("\n" * line + code, str(README), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program, names)
    return printed.getvalue()


def test_every_snippet_of_the_readme_runs():
    names: dict[str, object] = {}
    found = snippets()
    assert {kind for kind, _, _ in found} == {"python", "diff"}
    for kind, line, code in found:
        programs = [code] if kind == "python" else [side(code, "-"), side(code, "+")]
        for program in programs:
            run(line, program, names)


def test_the_change_from_cross_entropy_is_six_lines():
    (diff,) = [code for kind, _, code in snippets() if kind == "diff"]
    assert sum(line.startswith(("+", "-")) for line in diff.splitlines()) == 6


def test_the_refusal_is_printed_as_the_readme_shows_it():
    (code,) = [code for _, _, code in snippets() if "UnsupportedMetricError" in code]
    shown = re.search(r"# (.*) \.\.\.", code)
    assert shown
    assert run(0, "import metricfit as mf\n" + code, {}).startswith(shown[1])
