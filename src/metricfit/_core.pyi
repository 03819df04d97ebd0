"""The compiled core: the interior-point solver and the referee. Its source is in cpp/."""

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_StrategyArrays = tuple[_Ints, _Floats, _Floats]

class Setting:
    """A restricted game but for its scores. Immutable; shared between threads."""

    @property
    def groups(self) -> int: ...
    @property
    def items(self) -> int: ...

def make_setting(
    alpha: _Floats,
    beta: _Floats,
    predictor_sizes: _Floats,
    adversary_sizes: _Floats,
    chain: _Ints,
    gain: _Floats,
    offset: _Floats,
    rows: _Ints,
    columns: _Ints,
    blocks: _Ints,
    order: _Ints,
    split: int,
    reach: float,
    opening: _Ints,
) -> Setting: ...
def attempt(
    setting: Setting, scores: _Floats, tolerance: float, max_iterations: int, regularisation: float
) -> tuple[float, int, _Floats, _StrategyArrays, _StrategyArrays]: ...
def judge(
    setting: Setting,
    scores: _Floats,
    tolerance: float,
    max_iterations: int,
    regularisation: float,
    alpha: _Floats,
    beta: _Floats,
    inclusion: _Floats,
    verdicts: _Floats,
) -> None: ...
def clean_in_place(sizes: _Ints, weights: _Floats, marginals: _Floats, blocks: _Ints) -> bool: ...
def tie_averages(scores: _Floats, split: int, marginals: _Floats, blocks: _Ints) -> tuple[_Floats, _Ints]: ...
def inclusion_in_order(marginals: _Floats, blocks: _Ints, order: _Ints, result: _Floats) -> None: ...
def predictor_values(
    alpha: _Floats,
    beta: _Floats,
    start: int,
    expected_score: float,
    split: int,
    sizes: _Ints,
    weights: _Floats,
    marginals: _Floats,
    blocks: _Ints,
    multipliers: _Floats,
    gain: _Floats,
    offset: _Floats,
    values: _Floats,
) -> None: ...
def adversary_values(
    alpha: _Floats,
    beta: _Floats,
    start: int,
    scores: _Floats,
    running: _Floats | None,
    sizes: _Ints,
    weights: _Floats,
    marginals: _Floats,
    blocks: _Ints,
    values: _Floats,
) -> None: ...
def expected_score(scores: _Floats, marginals: _Floats, blocks: _Ints) -> float: ...
def constraint_slacks(
    gain: _Floats,
    offset: _Floats,
    split: int,
    sizes: _Ints,
    weights: _Floats,
    marginals: _Floats,
    blocks: _Ints,
) -> _Floats: ...
def best_pure(gain: _Floats, offset: _Floats, split: int) -> tuple[int, float, float]: ...
def project(matrix: _Floats) -> _Floats: ...
def block_bytes(items: int, constraints: int) -> int: ...
def solve_on_host(batch: int, blocks: int) -> None: ...
def target() -> str: ...
