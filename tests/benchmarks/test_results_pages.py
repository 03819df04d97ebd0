"""The pages of results say what the recorded cells say, and nothing is typed into them."""

import importlib
import re
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def program():
    """The generator, imported as its own folder's scripts import each other."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("results_pages")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def made(program):
    return program.pages(program.evidence())


def test_the_pages_are_what_the_generator_makes_of_the_recorded_cells(made):
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name} is not what was recorded; run python benchmarks/results_pages.py"
        )


def test_the_page_is_short_and_its_words_are_free_of_typed_figures(program, made):
    page = made[program.DOCS / "results.md"]
    words = re.sub(r"^\|.*$|!\[.*$", "", page, flags=re.MULTILINE)
    assert len(words.split()) < 650, "three minutes"
    assert len(re.findall(r"^!\[", page, flags=re.MULTILINE)) <= 4
    assert len(re.findall(r"^\| ---", page, flags=re.MULTILINE)) <= 3


@pytest.mark.parametrize("template", sorted((BENCHMARKS / "pages").glob("*.md")), ids=lambda path: path.stem)
def test_no_figure_is_typed_into_a_template(template):
    text = template.read_text(encoding="utf-8")
    if template.stem == "results_details":  # what was measured, not what came out
        text = re.sub(r"## How it was measured.*?(?=\n## )", "", text, flags=re.DOTALL)
    assert not re.search(r"[-+]0\.\d{2,}|\d+ of \d+|\d+ %", text), "a figure comes from the cells"


def test_the_figures_are_there_and_can_be_drawn(program, made, tmp_path):
    program.figures(program.evidence(), tmp_path)
    drawn = sorted(path.name for path in tmp_path.iterdir())
    shown = re.findall(r"\(images/([\w-]+\.png)\)", made[program.DOCS / "results.md"])
    assert sorted(shown) == drawn
    for name in shown:
        assert (program.DOCS / "images" / name).stat().st_size > 5000


def test_every_quoted_block_is_filled(program, made):
    for path in program.QUOTING:
        blocks = program.QUOTE.findall(made[path])
        assert blocks, path.name
        assert "{" not in "".join(name for name, _ in blocks)
