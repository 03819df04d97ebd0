"""Output folders: results are complete or absent, and only files that metricfit has written are removed."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from metricfit.cli.locking import FolderBusyError, Lock
from metricfit.cli.mistakes import UserMistakeError

__all__ = ["UNFINISHED", "RunFolder", "check_writable", "write_whole"]

DESCRIPTION = "model.json"
UNFINISHED = "metricfit-unfinished"
CHECKPOINTS, RESULTS, LOCK, SETTINGS = "checkpoints", "results", "lock", "settings.json"


def write_whole(path: Path, text: str) -> None:
    """Write a file completely or not at all; a link is followed."""
    place = Path(os.path.realpath(path))
    aside = place.with_name(f".metricfit-{secrets.token_hex(8)}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("x", encoding="utf-8") as file:
            file.write(text)
        aside.replace(place)
    except OSError as error:
        raise UserMistakeError(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        with suppress(OSError):
            aside.unlink()


def check_writable(path: Path) -> None:
    """Raise an error if a file cannot be written, to be called before the work it is for."""
    place = Path(os.path.realpath(path))
    aside = place.with_name(f".metricfit-{secrets.token_hex(8)}")
    try:
        if place.is_dir():
            raise UserMistakeError(f"{path} is a folder; give the name of a file.")
        place.parent.mkdir(parents=True, exist_ok=True)
        aside.touch(exist_ok=False)
    except OSError as error:
        raise UserMistakeError(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        with suppress(OSError):
            aside.unlink()


class RunFolder:
    """The folder of one run of training, as a context manager that holds its lock.

    Until the run is complete, everything is in the folder ``metricfit-unfinished`` inside of it: the
    checkpoints, which are needed to go on, and the results. Results are moved out in the end, ``model.json``
    last: a folder without that file is no run. Nothing outside the folder is touched.

    Parameters
    ----------
    place : Path
        What the user gave as ``--out``; a link is followed.
    resume, overwrite : bool
        Whether to go on with an unfinished run, and whether to replace a finished one.
    """

    def __init__(self, place: Path, *, resume: bool, overwrite: bool) -> None:
        self.shown = place
        self.resume = resume
        self.overwrite = overwrite
        self.place = Path(os.path.realpath(place))
        self._lock = Lock(self.unfinished / LOCK)
        self._is_new = False
        self._complete = False
        try:
            self._check()
            if (self.unfinished / LOCK).exists():
                self._acquire()
                self._lock.release()
        except OSError as error:
            raise self._unwritable(error) from None

    @property
    def unfinished(self) -> Path:
        """The folder of what is not complete yet."""
        return self.place / UNFINISHED

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.unfinished / CHECKPOINTS

    @property
    def settings(self) -> Path:
        """The file that says how the unfinished run was begun."""
        return self.unfinished / SETTINGS

    @property
    def results(self) -> Path:
        """The folder of the results until they are put in place."""
        return self.unfinished / RESULTS

    @property
    def has_checkpoints(self) -> bool:
        """Whether there is something to go on from."""
        return self.checkpoints.is_dir() and any(self.checkpoints.iterdir())

    def __enter__(self) -> RunFolder:
        """Make the folder, or reuse the one of an unfinished run, and lock it."""
        try:
            self._is_new = not self.place.exists()
            self.unfinished.mkdir(parents=True, exist_ok=True)
            self._acquire()
        except OSError as error:
            self._remove_empty()
            raise self._unwritable(error) from None
        try:
            self._check()  # again, since another process may have finished in the meantime
            if not self.resume:
                shutil.rmtree(self.checkpoints, ignore_errors=True)
            shutil.rmtree(self.results, ignore_errors=True)
            self.checkpoints.mkdir(exist_ok=True)
            self.results.mkdir()
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                raise self._unwritable(error) from None
            raise
        return self

    def __exit__(self, *details: object) -> None:
        """Release the lock; what is unfinished stays if one can go on from it."""
        if self._complete or not self.has_checkpoints:
            shutil.rmtree(self.unfinished, ignore_errors=True)
        self._lock.release()
        self._remove_empty()

    def put_in_place(self, *, keep_checkpoints: bool) -> None:
        """Move the results to where they belong; those of an earlier run of the same name are replaced."""
        (self.place / DESCRIPTION).unlink(missing_ok=True)
        for file in sorted(self.results.iterdir(), key=lambda file: file.name == DESCRIPTION):
            file.replace(self.place / file.name)
        self._complete = not keep_checkpoints

    def _remove_empty(self) -> None:
        """Remove folders that were made here and hold nothing."""
        for folder in (self.unfinished, self.place) if self._is_new else (self.unfinished,):
            with suppress(OSError):
                folder.rmdir()

    def _acquire(self) -> None:
        try:
            self._lock.acquire()
        except FolderBusyError:
            raise UserMistakeError(
                f"Another metricfit fit is writing to {self.shown}; wait until it is done, "
                f"or choose another --out."
            ) from None

    def _unwritable(self, error: OSError) -> UserMistakeError:
        return UserMistakeError(f"{self.shown} cannot be written: {error.strerror}.")

    def _check(self) -> None:
        held = sorted(entry.name for entry in self.place.iterdir()) if self.place.exists() else []
        if UNFINISHED in held and not self._is_ours():
            raise UserMistakeError(
                f"{self.shown / UNFINISHED} was not written by metricfit; rename it, or choose another --out."
            )
        if self.has_checkpoints:
            if not (self.resume or self.overwrite):
                raise UserMistakeError(
                    f"{self.shown} holds an unfinished run; add --resume to go on with it, "
                    f"or --overwrite to begin again."
                )
            return
        if self.resume:
            raise UserMistakeError(
                f"There is no unfinished run in {self.shown} to resume; leave out --resume."
            )
        if DESCRIPTION not in held and held not in ([], [UNFINISHED]):
            raise UserMistakeError(
                f"{self.shown} exists and is not a run of metricfit; choose another name for --out."
            )
        if DESCRIPTION in held and not self.overwrite:
            raise UserMistakeError(
                f"{self.shown} holds a run already; choose another --out, or add --overwrite."
            )

    def _is_ours(self) -> bool:
        return (self.unfinished / LOCK).is_file() or not any(self.unfinished.iterdir())
