"""What is shown in the terminal: progress, tables of scores, and sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from skorch.callbacks import Callback

from metricfit.cli.candidates import COSTS
from metricfit.cli.mistakes import UserMistakeError
from metricfit.report import Comparison, in_words

__all__ = ["Screen", "answering"]

MISTAKE = 2
INTERRUPTED = 130


class Screen:
    """Shows progress and results; with `quiet`, as for machines, it shows nothing."""

    def __init__(self, *, quiet: bool) -> None:
        # Names of columns and labels may hold brackets or colons, which must not be read as markup.
        self.out = Console(quiet=quiet, markup=False, emoji=False, highlight=False)
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=8),
            TextColumn("{task.fields[count]}", markup=False),
            TimeRemainingColumn(compact=True),
            TextColumn("left; {task.fields[state]}", markup=False),
            console=Console(stderr=True, quiet=quiet, markup=False, emoji=False),
        )

    def watch(self, name: str, epochs: int) -> Sequence[Any]:
        """Return callbacks that show how a training goes on."""
        return (_Bar(self.progress, name, epochs),)

    def steps(self, name: str, fits: int, total: float) -> _Steps:
        """Return what shows which model of an ensemble is fitted."""
        return _Steps(self.progress, name, fits, total)

    def show(self, comparison: Comparison) -> None:
        """Print the scores of a comparison."""
        metric = comparison.metric
        table = Table(title=comparison.title, title_justify="left")
        table.add_column("")
        table.add_column(comparison.name, justify="right")
        table.add_column("95% interval")
        for constraint in metric.constraints:
            table.add_column(str(constraint))
        further = [comparison.beside(method) for method in comparison.methods]
        for column in (*further[0], "seconds"):
            table.add_column(column, justify="right")
        for method, interval, others in zip(comparison.methods, comparison.intervals, further, strict=True):
            held = [f"{value:.3f} {'met' if met else 'missed'}" for _, value, met in comparison.held(method)]
            held += [f"{value:.3f}" for value in others.values()]
            seconds = "" if method.constant else f"{method.seconds:.1f}"
            table.add_row(method.name, f"{comparison.value(method):.3f}", str(interval), *held, seconds)
        self.out.print(table)
        for line in (*comparison.notes, *in_words(comparison)):
            self.say(line)

    def evaluate(self, found: dict[str, Any]) -> None:
        """Print how good a model is on a table."""
        scores = _scores(found, f"{found['rows']} rows, {found['positives']} positive", "precision", "recall")
        for bound in found["constraints"]:
            scores.add_row(bound["constraint"], f"{bound['value']:.3f}", "met" if bound["met"] else "missed")
        self.out.print(scores)
        cells = found["confusion"]
        confusion = Table()
        for name in ("", "predicted positive", "predicted negative"):
            confusion.add_column(name)
        confusion.add_row("actual positive", f"{cells['tp']:.10g}", f"{cells['fn']:.10g}")
        confusion.add_row("actual negative", f"{cells['fp']:.10g}", f"{cells['tn']:.10g}")
        self.out.print(confusion)
        for note in found["notes"]:
            self.say(note)

    def evaluate_classes(self, found: dict[str, Any]) -> None:
        """Print how good a model of several classes is on a table."""
        self.out.print(_scores(found, f"{found['rows']} rows", "accuracy", "macro_recall"))
        classes = Table()
        for name in ("class", "rows", *found["per_class"]):
            classes.add_column(name)
        for index, (name, rows) in enumerate(found["classes"].items()):
            values = [f"{column[index]:.3f}" for column in found["per_class"].values()]
            classes.add_row(name, f"{rows:.10g}", *values)
        self.out.print(classes)
        for note in found["notes"]:
            self.say(note)

    def list_metrics(self, found: list[dict[str, str]]) -> None:
        """Print names, formulas, meanings and other names."""
        for metric in found:
            also = f"\n    Also: {metric['aliases']}" if metric["aliases"] else ""
            self.say(f"{metric['name']}\n    {metric['formula']}\n    {metric['meaning']}{also}")

    def say(self, text: str) -> None:
        """Print a sentence."""
        self.out.print(text, soft_wrap=True)


def _scores(found: dict[str, Any], rows: str, *names: str) -> Table:
    """Return the table of the metric with its interval, and of further scores."""
    low, high = found["interval"]
    table = Table(title=f"{found['title']}, {rows}")
    for name in ("", "value", "95% interval"):
        table.add_column(name)
    table.add_row(found["metric"], f"{found['value']:.3f}", f"{low:.3f} to {high:.3f}")
    for name in names:
        table.add_row(name.replace("_", " "), f"{found[name]:.3f}", "")
    return table


class _Bar(Callback):
    """Moves a progress bar and shows the metric of the epoch that is kept, on the held-out rows."""

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
        """Show the value of the epoch that is kept so far: the first of the highest rank."""
        ranks, values = net.history[:, "rank"], net.history[:, "valid_metric"]
        kept = ranks.index(max(ranks))
        state = f"best {values[kept]:.3f}, epoch {kept + 1}"
        self.progress.update(self._task(), completed=len(values), state=state, count=self._count(len(values)))

    def _task(self) -> TaskID:
        if self.task is None:
            self.task = self.progress.add_task(self.name, total=self.epochs, state="", count=self._count(0))
        return self.task

    def _count(self, done: int) -> str:
        return f"{done}/{self.epochs}"


class _Steps:
    """Shows which model of an ensemble is fitted; all ensembles of a run share one bar."""

    def __init__(self, progress: Progress, name: str, fits: int, total: float) -> None:
        self.progress = progress
        self.name = name
        self.fits = fits
        self.done = 0
        if not progress.tasks:
            progress.add_task(name, total=total, state="", count="")
        self.task = progress.tasks[0].id

    def __deepcopy__(self, memo: object) -> _Steps:
        """Return itself: copies of an estimator report to the same bar."""
        return self

    def begin(self, name: str) -> None:
        """Show what is fitted."""
        count = f"{self.done + 1}/{self.fits}"
        self.progress.update(self.task, description=self.name, count=count, state=f"fitting: {name}")

    def end(self, name: str) -> None:
        """Move the bar by what the fit costs in relation to the others."""
        self.done += 1
        self.progress.update(self.task, advance=COSTS[name])


@contextmanager
def answering(*, as_json: bool) -> Iterator[None]:
    """Turn a mistake of the user into a message and exit code 2, and Ctrl-C into exit code 130."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of the output has gone, as in a pipe to head
    except UserMistakeError as mistake:
        _refuse(str(mistake), as_json=as_json)
    except OSError as error:
        _refuse(f"{error.filename or 'A file'}: {error.strerror or error}.", as_json=as_json)
    except (MemoryError, torch.OutOfMemoryError) as error:
        reason = str(error).strip().partition("\n")[0]
        _refuse(f"There is not enough memory for this table. {reason}".strip(), as_json=as_json)
    except KeyboardInterrupt:
        typer.echo("metricfit: stopped.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _refuse(sentence: str, *, as_json: bool) -> NoReturn:
    if as_json:
        with suppress(OSError):  # such as a full disk, which may be what the sentence is about
            typer.echo(json.dumps({"error": sentence}, ensure_ascii=False))
            raise typer.Exit(MISTAKE)
    typer.echo(f"metricfit: {sentence}", err=True)
    raise typer.Exit(MISTAKE)
