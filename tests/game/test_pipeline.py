"""Functions compile to what Numba would make of them."""

import subprocess
import sys
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.compiler import Flags

from metricfit.game.pipeline import Apart, Forward, Frugal, OwnFlags, Within, Written


def scaled_sum(values: Any, factor: float) -> float:
    total = 0.0
    for value in values:
        total += factor * value
    return total


def with_options(**options: Any) -> OwnFlags:
    flags: Any = Flags()
    for name, value in options.items():
        setattr(flags, name, value)
    own: Any = OwnFlags
    return own(flags)


@pytest.mark.parametrize("pipeline", [Within, Apart])
def test_a_function_within_another_returns_what_it_does_on_its_own(pipeline: Any) -> None:
    within = numba.njit(pipeline_class=pipeline, no_cpython_wrapper=True, no_cfunc_wrapper=True)(scaled_sum)

    @numba.njit(pipeline_class=Frugal)
    def twice(values: Any, factor: float) -> float:
        return within(values, factor) + within(values[1:], 2.0 * factor)

    values = np.arange(9.0)
    assert twice(values, 0.5) == scaled_sum(values, 0.5) + scaled_sum(values[1:], 1.0)
    (made,) = within.overloads.values()
    assert isinstance(made.library, Written)
    assert made.library.get_pointer_to_function(made.fndesc.llvm_func_name) == 0


def test_no_index_is_looked_at_where_none_is_negative() -> None:
    def middle(values: Any, first: int) -> float:
        part = values[first : first + 5]
        return float(values[first + 2] + part[first])

    usual, ahead = (numba.njit(pipeline_class=pipeline)(middle) for pipeline in (Frugal, Forward))
    values = np.arange(9.0)
    assert usual(values, 2) == ahead(values, 2) == middle(values, 2)
    (made_usually,), (made_ahead,) = usual.inspect_llvm().values(), ahead.inspect_llvm().values()
    assert made_ahead.count("select") < made_usually.count("select")


def test_a_mistake_within_a_function_is_reported_as_ever() -> None:
    @numba.njit(pipeline_class=Within, no_cpython_wrapper=True)
    def wrong(value: float) -> Any:
        return value.nothing

    @numba.njit(pipeline_class=Frugal)
    def caller(value: float) -> Any:
        return wrong(value)

    with pytest.raises(numba.TypingError, match="nothing"):
        caller(1.0)


def test_functions_share_equal_options_and_no_others() -> None:
    one, same, other = with_options(nrt=True), with_options(nrt=True), with_options(nrt=True, noalias=True)
    assert one.copy() is same.copy()
    assert one.copy() == same.copy()
    assert one.copy() != other.copy()
    assert other.copy().values() == other.values()


def test_options_of_one_function_may_change_without_those_that_are_shared() -> None:
    one = with_options(nrt=True)
    shared = one.copy()
    one.noalias = True
    assert not shared.noalias
    assert one.copy() is not shared


REMEMBERING = """
import numba
import numpy as np
from metricfit.game.pipeline import Frugal, remember_types

remember_types()
counted = []

def made(fastmath):
    @numba.njit(pipeline_class=Frugal, fastmath=fastmath)
    def doubled(values, start):
        room = np.empty(values.shape[0] + 1)
        room[0] = start
        for x in range(values.shape[0]):
            room[x + 1] = room[x] + values[x] * 2 + np.sqrt(values[x])
        return room
    return doubled

for function in (made(False), made(True), made(False)):
    for values in (np.array([1.0, 4.0]), np.array([1, 4]), np.array([1.0, 4.0], np.float32)):
        np.testing.assert_allclose(function(values, 1), [1.0, 4.0, 14.0])
    try:
        function("text", 1)
    except numba.TypingError:
        counted.append(function)
assert len(counted) == 3
"""


def test_operations_whose_types_are_remembered_do_what_they_did() -> None:
    """In a process of its own: what is remembered is so for all that the process compiles."""
    subprocess.run([sys.executable, "-c", REMEMBERING], check=True)
