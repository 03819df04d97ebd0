"""The Markdown pages of the project, and the programs in them."""

import contextlib
import doctest
import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)]

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Snippet:
    page: Path
    kind: str
    line: int
    code: str


def snippets(page: Path, *kinds: str) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"^```({'|'.join(kinds)})\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [Snippet(page, match[1], text[: match.start()].count("\n") + 1, match[2]) for match in found]


def side(diff: str, sign: str) -> str:
    """The program on one side of a diff; the lines of the other side are left blank."""
    return "\n".join(line[1:] if line[:1] in ("", " ", sign) else "" for line in diff.splitlines())


def run(snippet: Snippet, names: dict[str, object]) -> str:
    """Run a program in the given namespace and return what it printed."""
    if snippet.kind == "pycon":
        return _run_session(snippet, names)
    code = snippet.code
    programs = [side(code, "-"), side(code, "+")] if snippet.kind == "diff" else [code]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for program in programs:
            # Blank lines first, so that a traceback shows the line of the page.
            exec(compile("\n" * snippet.line + program, str(snippet.page), "exec"), names)
    return printed.getvalue()


def _run_session(snippet: Snippet, names: dict[str, object]) -> str:
    """Run what stands after >>> and compare; a page shows a warning or an error by its last line."""
    for example in doctest.DocTestParser().get_examples(snippet.code):
        got = _answer(example.source, names)
        want = re.sub(r"\ATraceback .*?\n +\.\.\.\n", "", example.want)
        if not doctest.OutputChecker().check_output(want, got, FLAGS):
            line = snippet.line + example.lineno + 1
            raise AssertionError(f"{snippet.page.name}:{line}: {example.source}gives\n{got}\nbut not\n{want}")
    return ""


def _answer(source: str, names: dict[str, object]) -> str:
    error = ""
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("always")
        try:
            exec(compile(source, "<session>", "single"), names)
        # Which errors a page shows is up to the page.
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}\n"
    said = "".join(f"{warning.category.__name__}: {warning.message}\n" for warning in caught)
    return said + printed.getvalue() + error
