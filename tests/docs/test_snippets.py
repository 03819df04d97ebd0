"""Every program in the README and on the pages of the site runs, and shows what the page says it shows."""

import shlex
import warnings

import pytest
import typer.main

from docs.pages import PAGES, ROOT, run, snippets
from metricfit.cli.app import app


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_snippets_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for snippet in snippets(page, "python", "diff", "pycon"):
        with warnings.catch_warnings():
            run(snippet, names)


def commands() -> list[str]:
    lines = [line for page in PAGES for part in snippets(page, "sh") for line in part.code.splitlines()]
    return sorted({line.partition("  #")[0] for line in lines if line.startswith("metricfit ")})


@pytest.mark.parametrize("line", commands())
def test_every_command_shown_has_the_options_it_uses(line):
    group = typer.main.get_command(app)
    words = shlex.split(line)[1:]
    options = {name for parameter in group.params for name in parameter.opts}
    if words[0] in group.commands:
        command = group.commands[words.pop(0)]
        options = {name for parameter in command.params for name in parameter.opts} | {"--help"}
    used = {word.partition("=")[0] for word in words if word.startswith("-")}
    assert used <= options
