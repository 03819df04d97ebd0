"""Named tuples of arrays that compiled code finds by their addresses."""

from typing import NamedTuple

import numba as nb
import numpy as np

from metricfit.solvers.fast.pinning import Held, reader
from metricfit.solvers.fast.state import Matrix, Vector


class Inner(NamedTuple):
    """Something within."""

    values: Vector
    here: int


class Outer(NamedTuple):
    """Arrays, a number, and a tuple that is pinned as well."""

    first: Vector
    inner: Inner
    table: Matrix
    number: float
    here: int


whole_at, part_at = reader(Outer), reader(Outer, "inner", "number")


@nb.njit
def read_all(address):
    outer = whole_at(address)
    return outer.first[1], outer.inner.values[0], outer.table[1, 0], outer.number, outer.here


@nb.njit
def read_some(address):
    outer = part_at(address)
    again = whole_at(outer.here)
    return outer.inner.values[0], outer.number, again.table[1, 0]


def test_what_is_held_is_read_as_it_is():
    outer = Outer(np.array([1.0, 2.0]), Inner(np.array([3.0]), 0), np.array([[4.0], [5.0]]), 0.5, 0)
    held = Held(outer)
    assert read_all(held.address) == (2.0, 3.0, 5.0, 0.5, held.address)


def test_fields_that_are_not_read_are_found_by_the_address():
    outer = Outer(np.array([1.0, 2.0]), Inner(np.array([3.0]), 0), np.array([[4.0], [5.0]]), 0.5, 0)
    held = Held(outer)
    assert read_some(held.address) == (3.0, 0.5, 5.0)
    outer.inner.values[0], outer.table[1, 0] = 7.0, 8.0
    assert read_some(held.address) == (7.0, 0.5, 8.0)
