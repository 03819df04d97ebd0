"""The progress of many trainings: how many are done, the time left, and the best score so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from metricfit.experiments.metrics import TITLES
from metricfit.experiments.runs import Run

__all__ = ["SweepScreen"]


class SweepScreen:
    """One progress bar for a sweep.

    Parameters
    ----------
    runs : sequence of Run
        All that was asked for.
    finished : mapping
        The cells that were there before, by key.
    """

    def __init__(self, runs: Sequence[Run], finished: Mapping[str, dict[str, Any]]) -> None:
        self.progress = Progress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("cells,"),
            TimeRemainingColumn(compact=True),
            TextColumn("left;"),
            # Only this column is shortened in a narrow terminal.
            TextColumn(
                "{task.fields[state]}",
                markup=False,
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            console=Console(stderr=True),
            expand=True,
        )
        self.best: dict[tuple[str, str], tuple[float, str]] = {}
        before = [finished[run.key] for run in runs if run.key in finished]
        self.task = self.progress.add_task("", total=len(runs) - len(before), state="no cell yet")
        for cell in before:
            self._note(cell)

    def __enter__(self) -> SweepScreen:
        self.progress.start()
        return self

    def __exit__(self, *details: object) -> None:
        self.progress.stop()

    def done(self, cell: dict[str, Any]) -> None:
        """Count a finished cell and show the best validation score of what it was about."""
        self._note(cell)
        metric = cell["metric"] or "f1"
        value, loss = self.best.get((cell["dataset"], metric), (0.0, "nothing"))
        state = f"{cell['dataset']}, {TITLES[metric]}, held out: {value:.3f} by {loss}"
        self.progress.update(self.task, advance=1, state=state)

    def _note(self, cell: dict[str, Any]) -> None:
        for metric, decisions in cell["results"].items():
            for found in decisions.values():
                if found["missed"] > 1e-9:
                    continue
                earlier = self.best.get((cell["dataset"], metric))
                if earlier is None or found["validation"] > earlier[0]:
                    self.best[cell["dataset"], metric] = (found["validation"], cell["loss"])
