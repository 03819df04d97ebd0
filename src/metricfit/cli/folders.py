"""Where results go: written aside first, so that there is all of a result or none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from metricfit.cli.mistakes import UserMistakeError

__all__ = ["RunFolder", "write_whole"]

CHECKPOINTS = "checkpoints"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that at no moment a part of it is there."""
    aside = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise UserMistakeError(f"{path} cannot be written: {error.strerror}.") from None


class RunFolder:
    """The folder of one training run, which is put in its place when it is complete.

    Until then everything is in a folder beside it, whose name ends in ``.partial``. What is needed to go on
    with an unfinished training is kept in `checkpoints`.
    """

    def __init__(self, place: Path, *, resume: bool, overwrite: bool) -> None:
        self.place = Path(os.path.abspath(place))
        self.partial = self.place.with_name(self.place.name + ".partial")
        self.resume = resume
        self._check(overwrite)

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.partial / CHECKPOINTS

    def open(self) -> None:
        """Make the folder, or take up the one that was left."""
        try:
            if not self.resume and self.partial.exists():
                shutil.rmtree(self.partial)
            if not self.partial.exists() and self.resume and (self.place / CHECKPOINTS).is_dir():
                shutil.copytree(self.place / CHECKPOINTS, self.checkpoints)
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserMistakeError(f"{self.partial} cannot be written: {error.strerror}.") from None

    def discard(self) -> None:
        """Remove what was written; a run that stood in the place before is left as it is."""
        shutil.rmtree(self.partial, ignore_errors=True)

    def put_in_place(self, *, keep_checkpoints: bool) -> None:
        """Put the complete folder where it belongs."""
        if not keep_checkpoints:
            shutil.rmtree(self.checkpoints)
        before = self.place.with_name(self.place.name + ".old")
        if self.place.exists():
            self.place.rename(before)
        self.partial.rename(self.place)
        shutil.rmtree(before, ignore_errors=True)

    def _check(self, overwrite: bool) -> None:
        unfinished = self.partial.exists() or (self.place / CHECKPOINTS).is_dir()
        if self.resume:
            if not unfinished:
                raise UserMistakeError(
                    f"There is no unfinished run in {self.place.name} to resume; leave out --resume."
                )
            return
        if unfinished and not overwrite:
            raise UserMistakeError(
                f"{self.place.name} holds an unfinished run; add --resume to go on with it, "
                f"or --overwrite to begin again."
            )
        if not self.place.exists() or (self.place.is_dir() and not any(self.place.iterdir())):
            return
        if not (self.place / "model.json").is_file():
            raise UserMistakeError(
                f"{self.place.name} exists and is no run of metricfit; choose another name for --out."
            )
        if not overwrite:
            raise UserMistakeError(
                f"{self.place.name} holds a run already; choose another --out, or add --overwrite."
            )
