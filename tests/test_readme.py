"""Every Python snippet of the README runs, in order, in one session."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def snippets() -> list[tuple[int, str]]:
    text = README.read_text()
    found = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(text[: match.start()].count("\n") + 1, match[1]) for match in found]


def test_every_snippet_of_the_readme_runs():
    found = snippets()
    assert found
    names: dict[str, object] = {}
    for line, code in found:
        # Blank lines first, so that a traceback shows the line of the README.
        exec(compile("\n" * line + code, str(README), "exec"), names)
