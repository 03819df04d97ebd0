"""Random games under the sanitizers, and with memory that is filled with NaN before every solve."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from core.builds import built, instruction_sets, run

LEVEL = "-DMETRICFIT_OPTIMISATION=-O1;-g"


def played(programs: Path, games: int, threads: int, name: str) -> np.ndarray:
    """Return number, upper and lower bound, and steps of every game."""
    environment = os.environ | {"METRICFIT_TARGET": name, "UBSAN_OPTIONS": "print_stacktrace=1"}
    text = run(programs / "stress", str(games), str(threads), "print", env=environment)
    return np.array([[float(word) for word in line.split()] for line in text.splitlines()])


def sanitized(factory: pytest.TempPathFactory, name: str, flags: str) -> Path:
    return built(factory, name, "stress", LEVEL, f"-DCMAKE_CXX_FLAGS={flags}")


@pytest.mark.slow
@pytest.mark.parametrize("name", instruction_sets())
def test_no_address_is_wrong_and_nothing_is_undefined(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    flags = "-fsanitize=address,undefined -fno-sanitize-recover=all"
    assert len(played(sanitized(tmp_path_factory, "address", flags), 400, 3, name)) == 400


@pytest.mark.slow
def test_threads_do_not_race(tmp_path_factory: pytest.TempPathFactory) -> None:
    programs = sanitized(tmp_path_factory, "thread", "-fsanitize=thread")
    assert len(played(programs, 200, 4, instruction_sets()[-1])) == 200


@pytest.mark.slow
def test_threads_of_a_block_do_not_race(tmp_path_factory: pytest.TempPathFactory) -> None:
    options = LEVEL, "-DCMAKE_CXX_FLAGS=-fsanitize=thread"
    run(built(tmp_path_factory, "thread", "block", *options) / "block", "two_warps", "four_warps")


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags", ["", "-fsanitize=undefined -fno-sanitize-recover=all"], ids=["plain", "undefined"]
)
def test_no_order_of_a_blocks_threads_changes_a_result(
    tmp_path_factory: pytest.TempPathFactory, flags: str
) -> None:
    run(built(tmp_path_factory, f"block{len(flags)}", "block", LEVEL, f"-DCMAKE_CXX_FLAGS={flags}") / "block")


@pytest.mark.slow
@pytest.mark.parametrize("name", instruction_sets())
def test_uninitialised_memory_changes_nothing(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    plain = built(tmp_path_factory, "plain", "stress", LEVEL)
    poisoned = built(tmp_path_factory, "poisoned", "stress", LEVEL, "-DCMAKE_CXX_FLAGS=-DMETRICFIT_POISON")
    wanted = played(plain, 1000, 1, name)
    np.testing.assert_array_equal(played(poisoned, 1000, 1, name), wanted)
    np.testing.assert_array_equal(played(plain, 1000, 4, name), wanted)
