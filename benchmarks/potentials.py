"""What scores of single items cannot decide: the best scores of each kind, on known distributions.

    python benchmarks/potentials.py --out potentials.jsonl --jobs 2

The truth is drawn from a known distribution over the label vectors of four items: "independent", with a
chance for each item, or "dependent", any distribution over the 16 vectors. For scores of three kinds the
expected loss is minimised, by cutting planes:

    additive        one score per item
    with sizes      also one per number of positives
    full            one per item and number of positives, and one per number of positives

Recorded is by how much the metric, in expectation, is below the best that any prediction reaches:

    game        the predictor of the game draws
    zero        items with a score above 0 (additive only)
    best cut    the best number of items with the highest scores (additive only)

Every line of the file is one distribution, metric and kind. What is there is not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
from results_potentials import losses
from scipy.optimize import linprog

import metricfit as mf

N = 4
METRICS = {"f1": mf.f1, "mcc": mf.mcc, "kappa": mf.kappa}
KINDS = ("additive", "with sizes", "full")
TRUTHS = ("independent", "dependent")
SETS = np.array(list(itertools.product((0, 1), repeat=N)))
SIZES = SETS.sum(axis=1)
# Scores are in the units of the metric; the best ones are well inside.
BOX, ROUNDS, ENOUGH = 4.0, 600, 1e-6

Cell = tuple[str, str, str, int]


def distribution(truth: str, seed: int) -> Any:
    """Return the chance of every label vector."""
    random = np.random.default_rng(seed)
    if truth == "dependent":
        return random.dirichlet(np.full(len(SETS), 0.4))
    chances = random.beta(0.7, 1.5, N)
    return np.prod(np.where(SETS == 1, chances, 1.0 - chances), axis=1)


def features(kind: str) -> Any:
    """Return what the scores of a kind are multiplied with, one line per label vector."""
    of_size = (SIZES[:, None] == np.arange(N + 1)).astype(float)
    if kind == "additive":
        return SETS.astype(float)
    if kind == "with sizes":
        return np.hstack([SETS, of_size])
    return np.hstack([*(SETS[:, [i]] * of_size for i in range(N)), of_size])


def game(table: Any, worth: Any) -> tuple[float, Any, Any]:
    """Return the value of a game, and the mixtures of the adversary and of the predictor."""
    count = len(worth)
    found = linprog(
        np.append(-worth, 1.0),
        A_ub=np.hstack((table, -np.ones((count, 1)))),
        b_ub=np.zeros(count),
        A_eq=np.append(np.ones(count), 0.0)[None, :],
        b_eq=np.ones(1),
        bounds=[(0, None)] * count + [(None, None)],
        method="highs",
    )
    return found.fun, found.x[:-1], -found.ineqlin.marginals


def best_scores(table: Any, shape: Any, chances: Any) -> tuple[Any, Any]:
    """Return the scores of the least expected loss, and the predictor's mixture there."""
    unknowns = shape.shape[1]
    best, kept, point = np.inf, None, np.zeros(unknowns)
    rows: list[Any] = []
    right: list[float] = []
    for _ in range(ROUNDS):
        value, adversary, predictor = game(table, shape @ point)
        loss = -value - float(chances @ shape @ point)
        if loss < best:
            best, kept = loss, (point, predictor)
        slope = shape.T @ (adversary - chances)
        rows.append(np.append(slope, -1.0))
        right.append(float(slope @ point) - loss)
        program = linprog(
            np.append(np.zeros(unknowns), 1.0),
            A_ub=np.array(rows),
            b_ub=np.array(right),
            bounds=[(-BOX, BOX)] * unknowns + [(None, None)],
        )
        if best - program.fun < ENOUGH:
            return kept
        point = program.x[:-1]
    raise RuntimeError("the minimum was not found; allow more rounds")


def measured(cell: Cell) -> dict[str, Any]:
    truth, name, kind, seed = cell
    table = np.array([[METRICS[name].score(actual, chosen) for actual in SETS] for chosen in SETS])
    chances = distribution(truth, seed)
    gains = table @ chances
    scores, predictor = best_scores(table, features(kind), chances)
    lost = {"game": gains.max() - predictor @ gains}
    if kind == "additive":
        order = np.argsort(-scores, kind="stable")
        cuts = [np.isin(np.arange(N), order[:size]).astype(int) for size in range(N + 1)]
        lost["zero"] = gains.max() - gains[((scores > 0) == SETS).all(axis=1)][0]
        lost["best cut"] = gains.max() - max(gains[(cut == SETS).all(axis=1)][0] for cut in cuts)
    plain = {decision: round(float(value), 9) for decision, value in lost.items()}
    return {"truth": truth, "metric": name, "kind": kind, "seed": seed, "lost": plain}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("potentials.jsonl"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    settings = parser.parse_args()
    rows = [json.loads(line) for line in settings.out.open()] if settings.out.exists() else []
    there = {(row["truth"], row["metric"], row["kind"], row["seed"]) for row in rows}
    wanted = itertools.product(TRUTHS, METRICS, KINDS, range(settings.seeds))
    cells = [cell for cell in wanted if cell not in there]
    # One process writes; the workers only compute.
    with settings.out.open("a") as file, multiprocessing.get_context("fork").Pool(settings.jobs) as pool:
        for row in pool.imap_unordered(measured, cells):
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
    print("\n".join(losses(rows)))


if __name__ == "__main__":
    main()
