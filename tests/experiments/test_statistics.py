"""Selection on validation data, wins and losses, ranks."""

import pytest
from scipy.stats import wilcoxon

from metricfit.experiments.selection import equal_budgets, points_of
from metricfit.experiments.statistics import compare, mean_ranks, paired, scores
from metricfit.experiments.writing import markdown

BOTH = ("cross-entropy", "metricfit")


def a_cell(
    loss="metricfit", metric="f1", l2=0.0, dataset="redwine", steps=None, scale=None, seed=0, **results
):
    found = {
        decision: {"epoch": 1, "threshold": 0.0, "missed": 0.0, "predicted": 10, "hits": 8, **told}
        for decision, told in results.items()
    }
    return {
        "protocol": "paper",
        "dataset": dataset,
        "loss": loss,
        "metric": metric if loss == "metricfit" else None,
        "l2": l2,
        "seed": seed,
        "epochs": 100,
        "steps": steps,
        "scale": scale,
        "epochs_run": 100,
        "steps_run": 1000,
        "seconds": 3.0,
        "whole": True,
        "rows": {"train": 80, "validation": 20, "test": 40},
        "positives": {"train": 8, "validation": 2, "test": 10},
        "results": {metric: found},
    }


def told(validation, test, **more):
    return {"validation": validation, "test": test, **more}


def test_an_unfinished_sweep_with_more_epochs_does_not_replace_a_finished_one():
    short = [a_cell(loss, metric, steps=50) for loss in BOTH for metric in ("f1", "mcc")]
    long = [a_cell("cross-entropy"), a_cell("metricfit", "f1")]
    assert equal_budgets([*short, *long], BOTH) == short
    long.append(a_cell("metricfit", "mcc"))
    assert equal_budgets([*short, *long], BOTH) == long


def test_the_penalty_is_chosen_on_validation_data_and_never_by_the_test():
    cells = [
        a_cell(l2=0.0, zero=told(0.5, 0.9)),
        a_cell(l2=0.1, zero=told(0.6, 0.4)),
        a_cell(l2=0.01, zero=told(0.6, 0.5)),
    ]
    (point,) = points_of(cells)
    assert (point.test, point.l2) == (0.5, 0.01), "the smaller penalty of equals"
    assert points_of(cells[::-1]) == [point]


def test_methods_at_zero_and_tuned_choose_for_themselves():
    cells = [
        a_cell(l2=0.0, zero=told(0.5, 0.1), tuned=told(0.7, 0.2)),
        a_cell(l2=0.1, zero=told(0.6, 0.3), tuned=told(0.6, 0.4)),
    ]
    assert {point.method: point.test for point in points_of(cells)} == {
        "metricfit": 0.3,
        "metricfit, tuned": 0.2,
    }


def test_a_run_that_misses_the_constraint_on_validation_data_loses_to_one_that_meets_it():
    cells = [
        a_cell(metric="pr80", l2=0.0, zero=told(0.9, 0.9, missed=0.2), curve=told(0.5, 0.5)),
        a_cell(metric="pr80", l2=0.1, zero=told(0.3, 0.3), curve=told(0.4, 0.4)),
    ]
    (measured,) = points_of(cells)
    assert (measured.decision, measured.test) == ("curve", 0.5)
    (held,) = points_of(cells, deployed=True)
    assert (held.decision, held.test, held.recall) == ("zero", 0.3, 0.8)


def test_incomplete_grids_are_not_reported():
    cells = [
        a_cell(l2=0.0, zero=told(0.5, 0.1)),
        a_cell(l2=0.1, zero=told(0.6, 0.3)),
        a_cell(l2=0.0, dataset="abalone", zero=told(0.5, 0.1)),
    ]
    assert {point.dataset for point in points_of(cells)} == {"redwine"}


def test_the_largest_budget_counts():
    cells = [a_cell(steps=100, zero=told(0.9, 0.9)), a_cell(steps=800, zero=told(0.5, 0.5))]
    assert [point.test for point in points_of(cells)] == [0.5]
    few = {**a_cell(zero=told(0.7, 0.7)), "epochs": 5}
    assert [point.test for point in points_of([few, *cells])] == [0.5], (
        "five epochs, if without a cap on steps"
    )


def test_baselines_appear_with_every_scale():
    cells = [a_cell("cross-entropy", zero=told(0.5, 0.4)), a_cell(scale=32.0, zero=told(0.5, 0.6))]
    found = {(point.label, point.method) for point in points_of(cells)}
    assert ("paper, scale 32", "cross-entropy") in found
    assert ("paper, scale 32", "metricfit") in found


def test_wins_ties_losses_and_p():
    differences = [0.1, 0.0005, -0.02, 0.03, 0.04, 0.05, -0.0002]
    table = {(str(i), "f1"): {"a": 0.5 + d, "b": 0.5} for i, d in enumerate(differences)}
    found = compare(table, "a", "b", ["f1"])
    assert (found.wins, found.ties, found.losses, found.cases) == (4, 2, 1, 7)
    assert found.p == pytest.approx(wilcoxon([v["a"] - v["b"] for v in table.values()]).pvalue)
    assert compare(table, "a", "b", ["mcc"]).cases == 0
    same = {(str(i), "f1"): {"a": 0.5, "b": 0.5} for i in range(9)}
    assert compare(same, "a", "b", ["f1"]).p is None


def test_scores_are_means_over_seeds():
    cells = [a_cell(seed=seed, zero=told(0.5, test)) for seed, test in enumerate((0.2, 0.4))]
    assert scores(points_of(cells))["redwine", "f1"]["metricfit"] == pytest.approx(0.3)


def test_seeds_that_a_method_lacks_do_not_count():
    cells = [a_cell(seed=seed, zero=told(0.5, test)) for seed, test in enumerate((0.2, 0.4))]
    cells.append(a_cell("cross-entropy", seed=1, zero=told(0.5, 0.3)))
    assert scores(points_of(cells))["redwine", "f1"] == {"metricfit": 0.4, "cross-entropy": 0.3}


def test_two_methods_are_compared_over_the_seeds_that_both_have():
    cells = [a_cell(seed=seed, zero=told(0.5, test)) for seed, test in enumerate((0.2, 0.4, 0.9))]
    cells += [a_cell("cross-entropy", seed=seed, zero=told(0.5, 0.3)) for seed in (0, 1)]
    cells.append(a_cell("trees", seed=0, zero=told(0.5, 0.3)))
    found = paired(points_of(cells), "metricfit", "cross-entropy")
    assert found["redwine", "f1"] == {"metricfit": pytest.approx(0.3), "cross-entropy": pytest.approx(0.3)}


def test_ranks_skip_cases_that_a_method_lacks():
    table = {("x", "f1"): {"a": 0.5, "b": 0.4}, ("y", "f1"): {"a": 0.9}}
    assert mean_ranks(table, ["a", "b"], ["f1"]) == {"a": 1.0, "b": 2.0}
    assert mean_ranks(table, ["a", "c"], ["f1"]) == {}


def test_the_constraint_table_says_how_often_it_was_met():
    cells = [
        a_cell(metric="pr80", dataset="redwine", zero=told(0.5, 0.5), curve=told(0.5, 0.5)),
        a_cell(metric="pr80", dataset="abalone", zero=told(0.7, 0.7, hits=7), curve=told(0.5, 0.5)),
    ]
    text = markdown(cells, ["metricfit reproduce"], {})
    assert "| recall ≥ 0.8, metricfit | 1 of 2 | 1 of 2 | 0.750 | 0.100 | 0.600 |" in text
