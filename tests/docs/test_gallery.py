"""Every script of the gallery runs, with short settings, and draws something."""

import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from docs.pages import ROOT

SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
# It starts processes, which takes a while.
SLOW = {"two_processes"}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "script",
    [pytest.param(path, marks=[pytest.mark.slow] if path.stem in SLOW else []) for path in SCRIPTS],
    ids=lambda path: path.stem,
)
def test_the_script_draws(script: Path, monkeypatch):
    monkeypatch.setenv("METRICFIT_SHORT", "1")
    mpl.use("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        runpy.run_path(str(script), run_name="__main__")
        assert plt.get_fignums()
    finally:
        plt.close("all")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_opens_with_a_title(script: Path):
    first, title, underline, blank, *_ = script.read_text(encoding="utf-8").splitlines()
    assert first == '"""'
    assert underline == "=" * len(title)
    assert blank == ""
