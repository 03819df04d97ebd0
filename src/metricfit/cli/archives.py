"""Zip files from others: their size is checked before anything is unpacked."""

from __future__ import annotations

import zipfile
from pathlib import Path

__all__ = ["LARGEST", "check_archive"]

# The encoder of a large table unpacks to some tens of megabytes.
LARGEST = 2**29


def check_archive(path: Path, largest: int = LARGEST) -> None:
    """Raise BadZipFile if a file is no zip file, is damaged, or unpacks to too much.

    The sizes that the file states are added up first. Then it is unpacked in small pieces that are thrown
    away, which finds a part that is larger than stated.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "zeros.zip"
    ...     with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
    ...         archive.writestr("zeros", bytes(10**6))
    ...     check_archive(path, largest=1000)
    Traceback (most recent call last):
        ...
    zipfile.BadZipFile: it unpacks to 1000000 bytes, more than 1000
    """
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
        if size > largest:
            raise zipfile.BadZipFile(f"it unpacks to {size} bytes, more than {largest}")
        damaged = archive.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"{damaged} is damaged")
