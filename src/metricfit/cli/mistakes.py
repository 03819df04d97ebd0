"""Mistakes of the user, which end a command with a message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["UserMistakeError", "did_you_mean", "listed", "sentence"]

SHOWN = 5


class UserMistakeError(Exception):
    """A mistake that the user can correct; the message says how."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question with the closest known name, or nothing.

    Examples
    --------
    >>> did_you_mean("chrun", ["churn", "age"])
    ' Did you mean churn?'
    """
    plain: dict[str, str] = {}
    for other in known:
        plain.setdefault(other.strip().casefold(), other)
    close = difflib.get_close_matches(name.strip().casefold(), list(plain), n=1)
    return f" Did you mean {plain[close[0]]}?" if close else ""


def listed(names: Iterable[object]) -> str:
    """Return the first few of many names.

    Examples
    --------
    >>> listed(range(8))
    '0, 1, 2, 3, 4 and 3 more'
    """
    texts = [str(name) for name in names]
    rest = len(texts) - SHOWN
    return ", ".join(texts[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def sentence(text: str) -> str:
    """Return a message with a capital first letter and a full stop.

    Examples
    --------
    >>> sentence("give more rows")
    'Give more rows.'
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
