"""What is shown in the terminal: progress, tables of scores, and sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table
from skorch.callbacks import Callback

from metricfit.cli.mistakes import UserMistakeError
from metricfit.report import Comparison

__all__ = ["Screen", "answering"]

MISTAKE = 2
INTERRUPTED = 130


class Screen:
    """Shows progress and results; with `quiet`, as for machines, it shows nothing."""

    def __init__(self, *, quiet: bool) -> None:
        self.out = Console(quiet=quiet)
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            TextColumn("{task.completed:.0f}/{task.total:.0f} epochs"),
            TextColumn("{task.fields[state]}"),
            console=Console(stderr=True, quiet=quiet),
        )

    def watch(self, name: str, epochs: int) -> Sequence[Any]:
        """Return callbacks that show how a training goes on."""
        return (_Bar(self.progress, name, epochs),)

    def show(self, comparison: Comparison) -> None:
        """Print the scores of a comparison."""
        metric = comparison.metric
        table = Table(title=comparison.title, title_justify="left")
        table.add_column("")
        table.add_column(metric.name, justify="right")
        table.add_column("95% interval")
        for constraint in metric.constraints:
            table.add_column(str(constraint))
        table.add_column("seconds", justify="right")
        for method, interval in zip(comparison.methods, comparison.intervals, strict=True):
            held = [f"{value:.3f} {'met' if met else 'missed'}" for _, value, met in comparison.held(method)]
            table.add_row(
                method.name, f"{comparison.value(method):.3f}", str(interval), *held, f"{method.seconds:.1f}"
            )
        self.out.print(table)
        for note in comparison.notes:
            self.out.print(note, highlight=False)

    def say(self, text: str) -> None:
        """Print a sentence."""
        self.out.print(text, highlight=False, soft_wrap=True, markup=False)


class _Bar(Callback):
    """Moves a progress bar and shows the metric on the held-out rows beside it."""

    def __init__(self, progress: Progress, name: str, epochs: int) -> None:
        self.progress = progress
        self.name = name
        self.epochs = epochs
        self.task: TaskID | None = None

    def restart(self, name: str) -> None:
        """Begin again with another model, on the same line."""
        self.name = name
        self.progress.reset(self._task(), description=name, completed=0)

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Show the bar before the first epoch."""
        self._task()

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Show the value of this epoch."""
        values = net.history[:, "valid_metric"]
        state = f"{values[-1]:.3f} held out"
        self.progress.update(self._task(), completed=len(values), state=state)

    def _task(self) -> TaskID:
        if self.task is None:
            self.task = self.progress.add_task(self.name, total=self.epochs, state="")
        return self.task


@contextmanager
def answering(*, as_json: bool) -> Iterator[None]:
    """Turn a mistake into a sentence and exit code 2, and Ctrl-C into exit code 130."""
    try:
        yield
    except UserMistakeError as mistake:
        if as_json:
            typer.echo(json.dumps({"error": str(mistake)}, ensure_ascii=False))
        else:
            typer.echo(f"metricfit: {mistake}", err=True)
        raise typer.Exit(MISTAKE) from None
    except KeyboardInterrupt:
        typer.echo("metricfit: stopped.", err=True)
        raise typer.Exit(INTERRUPTED) from None
