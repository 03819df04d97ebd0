"""Compiled code is not older than the files it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metricfit.game import best_response, compiled
from metricfit.solvers import fast
from metricfit.solvers.fast.parts import REGISTERED
from metricfit.solvers.fast.playing import solve_games

GAME, FAST = Path(compiled.__file__).parent, Path(fast.__file__).parent


def test_the_digest_follows_names_and_contents(tmp_path: Path) -> None:
    seen = set()
    for name, text in [("a.py", "x"), ("a.py", "y"), ("b.py", ""), ("c.py", "y")]:
        (tmp_path / name).write_text(text)
        compiled.digest.cache_clear()
        seen.add(compiled.digest(tmp_path))
    (tmp_path / "notes.txt").write_text("z")
    compiled.digest.cache_clear()
    assert compiled.digest(tmp_path) in seen
    assert len(seen) == 4


@pytest.mark.parametrize("function", [solve_games, *(part.compiled for part in REGISTERED.values())])
def test_the_solver_is_compiled_anew_when_a_file_changes_that_it_was_made_of(function: Any) -> None:
    assert function._cache._cache_file._source_stamp[1] == compiled.digest(GAME, FAST)


@pytest.mark.parametrize("function", [best_response.small_predictor_values, best_response.sort_ascending])
def test_the_referee_is_compiled_anew_when_a_file_of_the_game_changes(function: Any) -> None:
    assert function._cache._cache_file._source_stamp[1] == compiled.digest(GAME)
