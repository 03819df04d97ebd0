"""Progress bars: the epochs of a network, and the fits of ensembles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

from rich.progress import Progress, TaskID
from skorch.callbacks import Callback

from metricfit.cli.announced import Steps, StepsFile
from metricfit.cli.candidates import COSTS

__all__ = ["EpochBar", "FitBar", "followed"]

SECONDS = 0.1


class EpochBar(Callback):
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


class FitBar:
    """Shows which model of an ensemble is fitted; all ensembles of a run share one bar."""

    def __init__(self, progress: Progress, name: str, fits: int, total: float) -> None:
        self.progress = progress
        self.name = name
        self.fits = fits
        self.done = 0
        if not progress.tasks:
            progress.add_task(name, total=total, state="", count="")
        self.task = progress.tasks[0].id

    def begin(self, name: str) -> None:
        """Show what is fitted."""
        count = f"{self.done + 1}/{self.fits}"
        self.progress.update(self.task, description=self.name, count=count, state=f"fitting: {name}")

    def end(self, name: str) -> None:
        """Move the bar by what the fit costs in relation to the others."""
        self.done += 1
        self.progress.update(self.task, advance=COSTS[name])


@contextmanager
def followed(steps: Steps) -> Iterator[StepsFile]:
    """Yield what fits in any process can report to; what they report is passed on to `steps`.

    Examples
    --------
    >>> class Shown:
    ...     begin = end = staticmethod(print)
    >>> with followed(Shown()) as anywhere:
    ...     anywhere.begin("trees")
    trees
    """
    with TemporaryDirectory(prefix="metricfit-") as folder:
        file = StepsFile(Path(folder, "steps"))
        file.path.touch()
        finished = Event()
        thread = Thread(target=_follow, args=(file.path, steps, finished), daemon=True)
        thread.start()
        try:
            yield file
        finally:
            finished.set()
            thread.join()


def _follow(path: Path, steps: Steps, finished: Event) -> None:
    pass_on = {"begin": steps.begin, "end": steps.end}
    with path.open(encoding="utf-8") as file:
        begun = ""
        last = False
        while not last:
            last = finished.wait(SECONDS)
            *lines, begun = (begun + file.read()).split("\n")
            for line in lines:
                what, name = line.split(" ", 1)
                pass_on[what](name)
