"""What the user asked ``metricfit fit`` for."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from metricfit.cli.begun import Begun
from metricfit.cli.reading import Reading

__all__ = ["FitOptions"]


@dataclass(frozen=True)
class FitOptions:
    """What the user asked for."""

    table: Path
    target: str
    metric: str
    subject_to: tuple[str, ...]
    drop: tuple[str, ...]
    keep: tuple[str, ...]
    reading: Reading
    out: Path
    positive: str | None
    cut: Literal["expected", "empirical", "zero"]
    fast: bool
    confidence: float | None
    weight: str | None
    epochs: int
    test_fraction: float
    seed: int
    device: str
    jobs: int | None
    resume: bool
    overwrite: bool

    def command(self) -> str:
        """Return the command line that asks for this."""
        words = ["metricfit", "fit", str(self.table)]
        for option, values in self._options().items():
            words += [word for value in values for word in ([option, value] if value else [option])]
        if self.jobs is not None:
            words += ["--jobs", str(self.jobs)]
        return shlex.join([*words, "--device", self.device, "--out", str(self.out)])

    def begun(self) -> Begun:
        """Return what a run with these options depends on."""
        options = {
            option: ", ".join(value or "given" for value in values) or "not given"
            for option, values in self._options().items()
        }
        if self.fast:  # one network can go on for more epochs
            del options["--epochs"]
        return Begun.of(self.command(), options, self.table)

    def _options(self) -> dict[str, tuple[str, ...]]:
        """Return the values of every option that decides on what is trained."""
        given: dict[str, tuple[object, ...]] = {
            "--target": (self.target,),
            "--metric": (self.metric,),
            "--subject-to": self.subject_to,
            "--drop": self.drop,
            "--keep": self.keep,
            "--delimiter": (self.reading.delimiter,),
            "--encoding": (self.reading.encoding,),
            "--fast": ("",) if self.fast else (),
            "--confidence": (self.confidence,),
            "--weight": (self.weight,),
            "--positive": (self.positive,),
            "--cut": (self.cut,),
            "--epochs": (self.epochs,),
            "--seed": (self.seed,),
            "--test-fraction": (self.test_fraction,),
        }
        return {
            option: tuple(str(value) for value in values if value is not None)
            for option, values in given.items()
        }
