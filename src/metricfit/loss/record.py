"""The record of the last forward pass of a loss, and of the warnings it has given.

An operator of PyTorch takes only tensors and plain values, and still works after the module around it has
been compiled away. So the module passes a number to it, and the operator finds the module's recorder by this
number.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass

from metricfit.solving import Solution

__all__ = ["NOBODY", "BatchSolution", "Recorder", "find_recorder"]

NOBODY = 0
"""The number of no recorder."""

_numbers = itertools.count(1)
_recorders: weakref.WeakValueDictionary[int, Recorder] = weakref.WeakValueDictionary()


@dataclass(frozen=True, eq=False)
class BatchSolution:
    """The games of one forward pass.

    Attributes
    ----------
    solutions : tuple of Solution or None
        One per game: the labels of the first group, then those of the next. None stands for a game that
        was not played, because it had no valid entries or its constraints could not be met.
    seconds : float
        The time it took to solve them all.
    """

    solutions: tuple[Solution | None, ...]
    seconds: float

    @property
    def value(self) -> float:
        """The mean value of the games; NaN if none was played."""
        values = [solution.value for solution in self.solutions if solution is not None]
        return sum(values) / len(values) if values else float("nan")

    @property
    def gap(self) -> float:
        """The largest certified gap; 0 if no game was played."""
        return max((solution.gap for solution in self.solutions if solution is not None), default=0.0)


class Recorder:
    """Keeps the last forward pass, one per thread, and which warnings have been given.

    Examples
    --------
    >>> recorder = Recorder()
    >>> find_recorder(recorder.number) is recorder
    True
    """

    def __init__(self) -> None:
        self.number = next(_numbers)
        self._threads = threading.local()
        self._lock = threading.Lock()
        self._said: set[type[Warning]] = set()
        _recorders[self.number] = self

    @property
    def last(self) -> BatchSolution | None:
        """The last pass of the calling thread; games on a device are waited for when this is read."""
        record: Callable[[], BatchSolution] | None = getattr(self._threads, "record", None)
        return record() if record is not None else None

    def keep(self, record: Callable[[], BatchSolution]) -> None:
        """Keep a pass, as a function that returns its solutions when they are asked for."""
        self._threads.record = record

    def is_first(self, kind: type[Warning]) -> bool:
        """Whether such a warning has not been given yet."""
        with self._lock:
            first = kind not in self._said
            self._said.add(kind)
        return first


def find_recorder(number: int) -> Recorder | None:
    """Return the recorder with this number, if its loss is still there."""
    return None if number == NOBODY else _recorders.get(number)
