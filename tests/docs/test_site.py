"""The sources of the site fit together: pages are linked, public names described by an example."""

import importlib.util
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from types import ModuleType

import pytest

import metricfit as mf
import metricfit.boosting
import metricfit.functional
import metricfit.sklearn
from docs.pages import DOCS, PAGES, README, ROOT, run, snippets

API = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
# A module is described by what it holds.
PUBLIC = [
    *(f"metricfit.{name}" for name in mf.__all__ if name != "functional"),
    *(f"metricfit.functional.{name}" for name in metricfit.functional.__all__),
    *(f"metricfit.boosting.{name}" for name in metricfit.boosting.__all__),
    *(f"metricfit.sklearn.{name}" for name in metricfit.sklearn.__all__),
]


def links() -> ModuleType:
    spec = importlib.util.spec_from_file_location("links", DOCS / "links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def found(name: str) -> object:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name):
    doc = found(name).__doc__ or ""
    assert "Examples\n" in doc
    assert ">>> " in doc


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_in_the_reference(name):
    last = name.rpartition(".")[2]
    line = rf"^\.\. auto\w+:: (metricfit\.(functional|boosting)\.)?{last}(\(\))?$"
    assert re.search(line, API, flags=re.MULTILINE)


def test_every_page_is_in_a_table_of_contents():
    listed: set[str] = set()
    for page in PAGES:
        if page != README:
            text = page.read_text(encoding="utf-8")
            for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
                names = [line for line in block.split() if not line.startswith(":")]
                listed |= {str((page.parent / name).relative_to(DOCS)) for name in names}
    pages = {
        str(path.relative_to(DOCS).with_suffix(""))
        for path in PAGES
        if path not in (README, DOCS / "index.md")
    }
    assert {page for page in pages if not any(fnmatch(page, pattern) for pattern in listed)} == set()


def test_the_scores_in_the_decision_table_are_right():
    page = DOCS / "choosing.md"
    names: dict[str, object] = {}
    run(snippets(page, "python")[0], names)
    text = page.read_text(encoding="utf-8").replace("**", "")
    for name, scores in names["table"].items():
        assert f"| {name} | {' | '.join(map(str, scores))} |" in text


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there"></a><a href="#here"></a></p>')
    (tmp_path / "b.html").write_text('<a href="c.html"></a><img src="https://example.org/x.png">')
    assert links().broken_links(tmp_path) == [
        "a.html links to b.html#there, which has no such anchor",
        "b.html links to c.html, which does not exist",
        "b.html loads https://example.org/x.png from another site",
    ]


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(tmp_path):
    # In a copy, since the gallery is written beside the pages. What was drawn before is not drawn again.
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("_build", "__pycache__"))
    for name in ("README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "docs", "html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-4000:]
    assert links().broken_links(tmp_path / "html") == []
