"""The commands and options of the command line, as the program itself declares them."""

from __future__ import annotations

import inspect
from typing import Any

import typer.main
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from metricfit.cli.app import app as program


class CommandLine(SphinxDirective):
    """Writes a section for each command."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        group: Any = typer.main.get_command(program)
        return self.parse_text_to_nodes(
            "\n".join(markdown(name, command) for name, command in group.commands.items()),
            allow_section_headings=True,
        )


def markdown(name: str, command: Any) -> str:
    """Return the section of one command."""
    arguments = [part for part in command.params if part.param_type_name == "argument"]
    options = [part for part in command.params if part.param_type_name == "option"]
    usage = " ".join(["metricfit", name, *(part.name.upper() for part in arguments), "[OPTIONS]"])
    lines = [f"## {name}", "", "```text", usage, "```", "", inspect.cleandoc(command.help or ""), ""]
    lines += ["| | meaning | default |", "| --- | --- | --- |"]
    for part in arguments:
        lines.append(f"| `{part.name.upper()}` | {text(part.help)} | |")
    for part in options:
        names = ", ".join(f"`{name}`" for name in [*part.opts, *part.secondary_opts])
        lines.append(f"| {names} | {text(part.help)} | {default(part)} |")
    return "\n".join([*lines, "", ""])


def text(words: str | None) -> str:
    """Return one line that may stand in a table."""
    return " ".join((words or "").split()).replace("|", "\\|")


def default(option: Any) -> str:
    """Return what is taken if the option is left out."""
    if option.required:
        return "required"
    if option.default is None or option.default is False or callable(option.default):
        return ""
    return f"`{getattr(option.default, 'value', option.default)}`"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
