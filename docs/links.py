"""Find links of the built site that lead nowhere.

    python docs/links.py docs/_build/html

Pages, anchors, pictures, scripts and style sheets are looked up in the folder. Links to other sites are not
followed, but a page that would load something from another site is reported: the site has to work offline.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, as opposed to what a reader may follow.
LOADED = {"img", "script", "source", "iframe"}


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors = {""}
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of one element."""
        values = dict(attrs)
        self.anchors |= {values.get("id") or "", values.get("name") or ""}
        target = values.get("href") or values.get("src")
        if target is None:
            return
        is_sheet = tag == "link" and (values.get("rel") or "") in ("stylesheet", "icon", "preload")
        (self.loads if tag in LOADED or is_sheet else self.links).add(target)


def broken_links(folder: Path) -> list[str]:
    """Return a sentence for every link that leads nowhere, and for everything loaded from elsewhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder)
        for target in sorted(page.links | page.loads):
            parts = urlsplit(target)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if target in page.loads:
                    found.append(f"{name} loads {target} from another site")
                continue
            there = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if there.is_dir():
                there = there / "index.html"
            if not there.exists():
                found.append(f"{name} links to {target}, which does not exist")
            elif there in pages and unquote(parts.fragment) not in pages[there].anchors:
                found.append(f"{name} links to {target}, which has no such anchor")
    return found


if __name__ == "__main__":
    built = Path(sys.argv[1]).resolve()
    problems = broken_links(built)
    for problem in problems:
        print(problem)
    print(f"{len(list(built.rglob('*.html')))} pages, {len(problems)} broken links")
    sys.exit(bool(problems))
