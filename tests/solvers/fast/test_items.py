"""Alpha in factors, and what items answer by them, against dense algebra."""

import numba as nb
import numpy as np
import pytest

import metricfit as mf
from metricfit.solvers.fast import coupling, items, memory
from metricfit.solvers.fast.memory import memory_for
from metricfit.solvers.fast.pinning import Held, reader
from metricfit.solvers.fast.restriction import tables_at
from metricfit.solvers.fast.state import (
    ALPHA,
    LANES,
    PULL,
    RHS,
    SEEN,
    SOFTNESS,
    STEP,
    Iterate,
    Problem,
    Workspace,
)

N = 60
ADVERSARY, PREDICTOR = np.array([1, 2, 5, 11, 17, 30, 41, 44, 58]), np.array([3, 4, 12, 25, 33, 59])
problem_at, iterate_at, workspace_at = reader(Problem), reader(Iterate), reader(Workspace)
factorise_alpha, reduce_items, answer_items = coupling.factorise_alpha, items.reduce_items, items.answer_items


@nb.njit
def factorised(problem, it, w, left_aside):
    factorise_alpha(problem_at(problem), iterate_at(it), workspace_at(w), left_aside)


@nb.njit
def reduced(problem, it, w):
    reduce_items(problem_at(problem), iterate_at(it), workspace_at(w), N)


@nb.njit
def answered(w, q, f):
    answer_items(workspace_at(w), q, f, N)


def in_eights(rows):
    """Lay rows along the items out as moments are: eights of items, fours of rows."""
    fours = rows.reshape(rows.shape[0] // 4, 4, rows.shape[1] // LANES, LANES)
    return fours.transpose(2, 0, 1, 3).reshape(rows.shape[1] // LANES, rows.shape[0] // 4, 4 * LANES)


def along(moments):
    """Undo that."""
    eights, fours = moments.shape[:2]
    return moments.reshape(eights, fours, 4, LANES).transpose(1, 2, 0, 3).reshape(4 * fours, LANES * eights)


class Case:
    """A metric's tables with some sizes in play, factorised."""

    def __init__(self, metric, left_aside, adversary=ADVERSARY, predictor=PREDICTOR):
        sizes, tables = np.arange(N + 1), tables_at(metric, N, np.arange(N + 1), np.arange(N + 1))
        self.q, self.f, self.alpha = adversary.size, predictor.size, tables.tables[ALPHA]
        self.sizes = adversary, predictor
        self.problem = Held(
            Problem(
                tables.tables,
                tables.tables_t,
                sizes.astype(float),
                sizes.astype(float),
                np.ones((3, N)),
                sizes,
                np.empty((2, 0, N + 1)),
                np.empty((0, N + 1)),
                0,
            )
        )
        held = memory_for(N, 0, N + 1, N + 1)
        self.it = Held(held.room.value.iterate)
        for columns, used in zip((self.it.value.adversary, self.it.value.predictor), self.sizes, strict=True):
            columns.used[0] = used.size
            columns.size_index[: used.size] = used
        self.held, self.w = held.workspace, held.workspace.value
        self.w.chain_alpha[: N + 1, : self.q] = self.alpha[:, adversary]
        self.w.cross[: self.f, : self.q] = self.alpha[np.ix_(predictor, adversary)]
        factorised(self.problem.address, self.it.address, self.held.address, left_aside)
        self.rank = int(self.w.rank[0])
        self.basis = self.w.basis[: self.q, : self.rank]
        self.cross_on = self.w.cross_on[: self.f, : self.rank]

    def left(self):
        """Return the share of alpha that is not in the factors."""
        rows = np.concatenate((np.arange(N + 1), self.sizes[1]))
        on = np.concatenate((self.w.chain_on[: N + 1, : self.rank], self.cross_on))
        scale = np.sqrt(rows[:, None] * self.sizes[0])
        alpha = self.alpha[np.ix_(rows, self.sizes[0])]
        return np.linalg.norm((alpha - on @ self.basis.T) * scale) / np.linalg.norm(alpha * scale)


METRICS = [mf.f1, mf.fbeta(2), mf.kappa, mf.gm_precision_recall, mf.mcc, mf.accuracy]


@pytest.mark.parametrize("left_aside", [1e-1, 5e-3, 1e-6])
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_no_more_of_alpha_is_left_aside_than_allowed(metric, left_aside):
    case = Case(metric, left_aside)
    assert case.left() <= left_aside


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_few_factors_are_enough_for_a_step(metric):
    assert Case(metric, coupling.COARSE).rank <= 8
    assert Case(mf.mcc, coupling.COARSE).rank == 1


def test_all_of_alpha_is_in_as_many_factors_as_columns():
    case = Case(mf.kappa, 0.0)
    assert case.rank == case.q
    assert case.left() < 1e-12


def test_without_columns_of_the_predictor_every_column_is_a_factor():
    case = Case(mf.f1, 0.1, predictor=np.array([], int))
    assert case.rank == case.q
    assert (case.w.chain_on[: N + 1, : case.q] == case.alpha[:, ADVERSARY]).all()


@pytest.mark.parametrize("spread", [0.0, 2.0, 4.0])
@pytest.mark.parametrize("left_aside", [5e-3, 0.0])
@pytest.mark.parametrize("metric", [mf.f1, mf.kappa, mf.mcc], ids=str)
def test_answers_solve_the_items_equations(metric, left_aside, spread):
    case, random = Case(metric, left_aside), np.random.default_rng(3)
    w, q, f = case.w, case.q, case.f
    soft = 10.0 ** random.uniform(-spread, spread, (q, N))
    soft_p = 10.0 ** random.uniform(-spread, spread, (f, N))
    g, h, c = random.normal(size=(q, N)), random.normal(size=(f, N)), random.normal(size=(case.rank, N))
    w.adversary[SOFTNESS, :q, :N], w.predictor[SOFTNESS, :f, :N] = soft, soft_p
    reduced(case.problem.address, case.it.address, case.held.address)
    w.adversary[RHS, :q, :N], w.predictor[RHS, :f, :N] = g, h
    w.moments[PULL] = 0.0
    pull = np.zeros((w.moments.shape[2] * 4, w.moments.shape[1] * LANES))
    pull[: case.rank, :N] = -c
    w.moments[PULL] = in_eights(pull)
    answered(case.held.address, q, f)
    cross, seen = case.cross_on @ case.basis.T, along(w.moments[SEEN])
    for i in range(N):
        matrix = np.block([[np.diag(1 / soft[:, i]), cross.T], [cross, -np.diag(1 / soft_p[:, i])]])
        truth = np.linalg.solve(matrix, np.concatenate((g[:, i] - case.basis @ c[:, i], -h[:, i])))
        found = np.concatenate((w.adversary[STEP, :q, i], w.predictor[STEP, :f, i]))
        size = np.abs(truth).max()
        assert found == pytest.approx(truth, rel=1e-5, abs=1e-5 * size)
        assert -seen[: case.rank, i] == pytest.approx(case.basis.T @ truth[:q], abs=1e-5 * size)


@pytest.mark.parametrize("metric", [mf.accuracy, mf.mcc, mf.f1, mf.kappa], ids=str)
def test_there_need_not_be_room_for_as_many_factors_as_columns(monkeypatch, metric):
    monkeypatch.setattr(memory, "MOST_FACTORS", 1)
    monkeypatch.setattr(memory.KEPT, "latest", None)
    scores = 0.3 * np.random.default_rng(1).normal(size=61)
    assert mf.solve(metric, scores, solver="fast").converged
    assert memory_for(61, 0, 62, 62).workspace.value.basis.shape[1] == 4
