"""What is shown in the terminal: tables of scores, messages, and progress."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from metricfit.cli.mistakes import UserMistakeError
from metricfit.report import Comparison, in_words

if TYPE_CHECKING:
    from metricfit.cli.announced import Steps

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
        from metricfit.cli.progress import EpochBar

        return (EpochBar(self.progress, name, epochs),)

    def steps(self, name: str, fits: int, total: float) -> AbstractContextManager[Steps]:
        """Return a context that gives what shows which model of an ensemble is fitted."""
        from metricfit.cli.progress import FitBar, followed

        return followed(FitBar(self.progress, name, fits, total))

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
        names = [name for name in ("accuracy", "macro_recall") if name != found["metric"]]
        self.out.print(_scores(found, f"{found['rows']} rows", *names))
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
    except (MemoryError, RuntimeError) as error:
        # The error of PyTorch is known by its name: commands that need no PyTorch do not import it.
        if not isinstance(error, MemoryError) and type(error).__name__ != "OutOfMemoryError":
            raise
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
