"""A lock on a folder, held by one process and released by the system when that process ends."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import IO

__all__ = ["FolderBusyError", "Lock"]

if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


# Errors of file systems without locks, such as some network drives.
WITHOUT_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP}


class FolderBusyError(Exception):
    """Another process holds the lock."""


class Lock:
    """Holds a lock by way of a file; on file systems without locks the file protects nothing.

    Parameters
    ----------
    path : Path
        The file; its folder must exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock, second = Lock(Path(folder) / "lock"), Lock(Path(folder) / "lock")
    ...     lock.acquire()
    ...     try:
    ...         second.acquire()
    ...     except FolderBusyError:
    ...         print("another holds it")
    ...     lock.release()
    another holds it
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def acquire(self) -> None:
        """Take the lock at once, or raise FolderBusyError."""
        while self._file is None:
            file = self.path.open("ab")
            try:
                _take(file)
            except OSError as error:
                if error.errno not in WITHOUT_LOCKS:
                    file.close()
                    if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                        raise FolderBusyError from None
                    raise
            except BaseException:
                file.close()
                raise
            if self._is_still(file):
                self._file = file
            else:  # the process that held it has removed the file in the meantime
                file.close()

    def release(self) -> None:
        """Give the lock back; the file stays."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_still(self, file: IO[bytes]) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self.path))
        except FileNotFoundError:
            return False
