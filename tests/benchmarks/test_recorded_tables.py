"""Tables of recorded results compare like with like, and take new metrics, seeds and methods."""

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def program():
    """A function that imports a script of the benchmarks, as they import each other."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(BENCHMARKS))


def of_ensemble(method, value, name="a", metric="f1", seed=0):
    return {"set": name, "metric": metric, "method": method, "seed": seed, "value": value}


def test_the_ensemble_is_compared_over_the_seeds_that_both_have(program):
    recorded = program("results_ensemble").Recorded(
        [of_ensemble("ensemble", 0.5), of_ensemble("ensemble", 0.9, seed=1), of_ensemble("trees", 0.4)]
    )
    assert recorded.less("ensemble", "trees").mean == pytest.approx(0.1)


def test_new_methods_and_metrics_of_the_ensemble_get_a_row_and_a_column(program):
    rows = [
        of_ensemble(method, value, metric=metric)
        for metric in ("f1", "balanced_accuracy")
        for method, value in (("ensemble", 0.5), ("trees", 0.4), ("stacking", 0.6))
    ]
    ensemble = program("results_ensemble")
    facts = ensemble.facts(ensemble.Recorded(rows))
    assert "| stacking | 2 | 0 / 0 / 2 | -0.100 | -0.100 (F1, a) |" in facts["ensemble_table"]
    assert facts["ensemble_by_metric"].startswith("| `MetricEnsemble` against | F1 | balanced accuracy |")
    assert facts["ensemble_stacking_difference"] == "-0.100"


def test_cases_in_which_the_ensemble_is_behind_are_named_the_worst_first(program):
    others = {("a", "f1"): 0.45, ("b", "f1"): 0.509, ("c", "mcc"): 0.52, ("d", "mcc"): 0.53}
    rows = [
        of_ensemble(method, value, name, metric)
        for (name, metric), theirs in others.items()
        for method, value in (("ensemble", 0.5), ("trees", theirs))
    ]
    ensemble = program("results_ensemble")
    facts = ensemble.facts(ensemble.Recorded(rows))
    assert facts["ensemble_trees_behind"] == "2"
    assert facts["ensemble_trees_behind_cases"] == "MCC on d (-0.030), MCC on c (-0.020)"
    assert facts["ensemble_trees_losses"] == "3"


def of_floor(method, met, name="a", model="linear"):
    parts = {part: [0.5, 0.0 if met else 0.1] for part in ("train", "test")}
    case = {"set": name, "model": model, "target": "recall>=0.9", "seed": 0}
    return {**case, "method": method, **parts, "moved": parts, "held": parts}


def test_floors_are_counted_over_the_cases_that_all_methods_have(program):
    rows = [of_floor("game", True), of_floor("game", False, "b"), of_floor("another way", True)]
    facts = program("results_floors").facts(rows)
    assert "linear (1 cases): training, test" in facts["floors"]
    assert "| `MetricLoss`, constraint in the game | 100 %, 100 % | 0.50, 0.50 | 100 % |" in facts["floors"]
    assert "| another way | 100 %, 100 % | 0.50, 0.50 | 100 % |" in facts["floors_moved"]
    assert "| another way | 100 % | 0.50 |" in facts["floors_held"]
    assert facts["floors_runs"] == "3"


def test_generations_of_the_ensemble_are_not_compared_with_each_other(program):
    current = program("ensemble").CODE
    rows = [of_ensemble("ensemble", 0.5), of_ensemble("network", 0.4), of_ensemble("trees", 0.6)]
    later = [{**of_ensemble("ensemble", 0.7), "code": current}]
    recorded = program("results_ensemble").Recorded([*rows, *later])
    assert recorded.less("ensemble", "network").mean == pytest.approx(0.1)
    assert recorded.less("ensemble", "trees").mean == pytest.approx(0.1)
    assert recorded.generations == "1 of the 2 fits are of an earlier version of the estimators."
    later.append({**of_ensemble("network", 0.5), "code": current})
    recorded = program("results_ensemble").Recorded([*rows, *later])
    assert recorded.less("ensemble", "network").mean == pytest.approx(0.2)
    assert recorded.generations == "All fits are of the current version of the estimators."


def test_a_method_that_misses_the_floor_is_not_the_best(program):
    rows = [of_floor("game", True), of_floor("another way", False)]
    facts = program("results_floors").facts(rows)
    assert "| another way | 0 %, 0 % | 0.50, 0.50 | 0 % |" in facts["floors"]


def test_potentials_show_the_mean_and_the_worst_distribution(program):
    rows = [{"truth": "dependent", "kind": "full", "lost": {"game": lost}} for lost in (0.0, 0.5)]
    assert "| dependent, full, game | 0.2500 | 0.5000 | 2 |" in program("results_potentials").losses(rows)


def test_boosted_trees_are_compared_with_logistic_loss_and_a_tuned_cut(program):
    row = {"seed": 0, "metric": "f1", "logistic tuned": 0.5, "logistic at 0": 0.4, "metric tuned": 0.5}
    rows = [{**row, "set": "a", "metric at 0": 0.7}, {**row, "set": "b", "metric at 0": 0.4}]
    facts = program("results_boosting").facts(rows)
    assert "| all | 2 | 0.500 | -0.100 | +0.050 | +0.000 | 50 % | 0 % |" in facts["boosting"]
    assert (facts["boosting_best"], facts["boosting_others"]) == ("a", "-0.100")


def test_the_evidence_goes_round_the_data_sets(program):
    evidence = program("evidence")
    for stage, runs in evidence.stages().items():
        sets = len({run.dataset for run in runs})
        assert len(set(runs)) == len(runs), stage
        first = 1 if stage == "longer" else sets  # which finishes a set before the next one
        assert len({run.dataset for run in runs[:sets]}) == first, stage


def test_methods_without_a_value_for_every_case_have_no_mean(program):
    values = {
        ("ensemble", "f1"): [0.5, 0.7],
        ("lightgbm, tuned", "f1"): [0.6, 0.6],
        ("ensemble", "mcc"): [0.4, 0.4],
    }
    rows = [
        {"set": "a", "seed": seed, "metric": metric, "method": method, "value": value}
        for (method, metric), found in values.items()
        for seed, value in enumerate(found)
    ]
    facts = program("results_rare").facts(rows)
    assert "| LightGBM, tuned | 0.600 | – | 1 of 2 |" in facts["rare_large"]
    assert "| a | 0.500, 0.700 | 0.600, 0.600 |" in facts["rare_large_by_set"]
