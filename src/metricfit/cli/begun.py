"""The settings of an unfinished run, so that it is not resumed with different ones."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import metricfit as mf
from metricfit.cli.descriptions import installed
from metricfit.cli.mistakes import UserMistakeError

__all__ = ["Begun"]


@dataclass(frozen=True)
class Begun:
    """What a run depends on.

    Attributes
    ----------
    command : str
        The command line that asks for it.
    options : dict of str to str
        The options that decide on what is trained, with their values.
    table : str
        A digest of the file with the table.
    versions : dict of str to str
        The versions of the packages that encode and fit.
    """

    command: str
    options: dict[str, str]
    table: str
    versions: dict[str, str]

    @classmethod
    def of(cls, command: str, options: dict[str, str], table: Path) -> Begun:
        """Return what a run that starts now depends on."""
        with table.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(command, options, digest, {"metricfit": mf.__version__, **installed()})

    def write(self, path: Path) -> None:
        """Write it into a file."""
        path.write_text(json.dumps(vars(self), ensure_ascii=False), encoding="utf-8")

    def compare(self, path: Path) -> None:
        """Raise an error that names the difference, if this run differs from the one that wrote a file.

        Examples
        --------
        >>> import tempfile
        >>> first = Begun("fit t.csv --seed 0", {"--seed": "0"}, "", {})
        >>> second = Begun("fit t.csv --seed 1", {"--seed": "1"}, "", {})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first.write(Path(folder) / "settings.json")
        ...     second.compare(Path(folder) / "settings.json")
        Traceback (most recent call last):
            ...
        metricfit.cli.mistakes.UserMistakeError: The unfinished run was begun with another setting: ...
        Go on with it by:     fit t.csv --seed 0 --resume
        Or begin again by:    fit t.csv --seed 1 --overwrite
        """
        again = f"begin again by:    {self.command} --overwrite"
        try:
            begun = Begun(**json.loads(path.read_text(encoding="utf-8")))
            differing = [
                f"{name} {begun.options[name]}, now {value}"
                for name, value in self.options.items()
                if begun.options[name] != value
            ]
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            raise UserMistakeError(
                f"The unfinished run cannot be resumed: {path} does not say how it was begun.\n"
                f"You can {again}"
            ) from None
        if differing:
            what = "another setting" if len(differing) == 1 else "other settings"
            raise UserMistakeError(
                f"The unfinished run was begun with {what}: {'; '.join(differing)}.\n"
                f"Go on with it by:     {begun.command} --resume\nOr {again}"
            )
        if begun.table != self.table:
            raise UserMistakeError(
                f"The table has changed since the unfinished run was begun. Put the earlier one back to go "
                f"on with --resume.\nOr {again}"
            )
        if begun.versions != self.versions:
            raise UserMistakeError(
                f"The unfinished run was begun with {_versions(begun.versions)}; here is "
                f"{_versions(self.versions)}. Install those versions to go on with --resume.\nOr {again}"
            )


def _versions(found: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in found.items())
