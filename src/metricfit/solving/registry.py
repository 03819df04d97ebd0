"""The solvers by name. A new solver is one file and one line here, two if it has a quick way for batches."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from metricfit.solving.solution import Answer

__all__ = ["DEFAULT", "LAST_RESORT", "check_options", "find_judge", "find_solver", "resolve", "solvers"]

Floats = NDArray[np.float64]

# A module is imported when its solver is first used.
SOLVERS = MappingProxyType(
    {
        "fast": "metricfit.solving.fast:solve_fast",
        "device": "metricfit.solving.device:solve_device",
        "exact-lp": "metricfit.solving.lp:solve_exact_lp",
        "admm": "metricfit.solving.admm:solve_admm",
    }
)

# Solvers that can try a whole batch at once, before the games that this leaves are solved one by one; and
# whether they take games with constraints.
JUDGES = MappingProxyType(
    {
        "fast": ("metricfit.solving.fast:judge_fast", False),
        "device": ("metricfit.solving.device:judge_device", True),
    }
)

DEFAULT = "fast"
LAST_RESORT = "exact-lp"


def solvers() -> tuple[str, ...]:
    """Names of the solvers that `solve` and the loss accept.

    Examples
    --------
    >>> solvers()
    ('auto', 'fast', 'device', 'exact-lp', 'admm')
    """
    return ("auto", *SOLVERS)


def resolve(name: str) -> str:
    """Name of the solver that is meant; "auto" is resolved.

    Examples
    --------
    >>> resolve("auto")
    'fast'
    """
    if name == "auto":
        return DEFAULT
    if not isinstance(name, str) or name not in SOLVERS:
        raise ValueError(f"unknown solver {name!r}; choose one of {', '.join(solvers())}")
    return name


@cache
def find_solver(name: str) -> Callable[..., Answer]:
    """Return the function behind a name: ``(game, tol, **options) -> Answer``."""
    module, function = SOLVERS[resolve(name)].split(":")
    found: Callable[..., Answer] = getattr(import_module(module), function)
    return found


@cache
def find_judge(name: str, constrained: bool) -> Callable[..., tuple[Floats, Floats, Floats]] | None:
    """Return what tries a batch of games, which have constraints or not; or None.

    It is called as ``(metric, scores, labels, tol, **options)``. Of ``scores`` and ``labels``, shape
    (games, n), it returns the inclusion probabilities of adversary and predictor, shape (games, 2, n); per
    game value, gap and iterations as of a `Solution`, shape (games, 3); and the multipliers of the
    constraints, shape (games, constraints). Games that it cannot do have an infinite gap.
    """
    place, takes_constraints = JUDGES.get(resolve(name), ("", False))
    if not place or constrained > takes_constraints:
        return None
    module, function = place.split(":")
    found: Callable[..., tuple[Floats, Floats, Floats]] = getattr(import_module(module), function)
    return found


def check_options(name: str, options: Iterable[str]) -> None:
    """Raise TypeError for an option that the solver does not have.

    Examples
    --------
    >>> check_options("exact-lp", ["rho"])
    Traceback (most recent call last):
        ...
    TypeError: solver 'exact-lp' has no option 'rho'; it has no options
    """
    known = list(inspect.signature(find_solver(name)).parameters)[2:]
    for option in options:
        if option not in known:
            listing = f"its options are {', '.join(known)}" if known else "it has no options"
            raise TypeError(f"solver {name!r} has no option {option!r}; {listing}")
