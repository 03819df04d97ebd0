"""Writes description.md: the README without pictures and without links into the repository.

    python packaging/describe.py

A package index shows one page, on which relative links lead nowhere. Their texts stay.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
DESCRIPTION = HERE / "description.md"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)]*)\)", flags=re.DOTALL)
SOURCES = "The pages named here are in the folder `docs` of the source distribution.\n"


def described(readme: str) -> str:
    """Return the text of a README with absolute links only; pictures become their descriptions."""
    return re.sub(r"<!--.*?-->\n", "", LINK.sub(_on_an_index, readme)).rstrip() + "\n\n" + SOURCES


def _on_an_index(link: re.Match[str]) -> str:
    is_picture, text, target = link.groups()
    if "://" in target and not is_picture:
        return link[0]
    return f"**{text}.**" if is_picture else text


if __name__ == "__main__":
    DESCRIPTION.write_text(described(README.read_text(encoding="utf-8")), encoding="utf-8")
