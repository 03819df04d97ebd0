"""Metrics are values: immutable, equal by meaning, and the same in every process."""

import copy
import dataclasses
import pickle
import subprocess
import sys

import pytest

import metricfit as mf

METRICS = [
    mf.f1,
    mf.mcc,
    mf.fbeta(0.5),
    mf.precision_at_recall(0.8),
    mf.accuracy.with_special_cases(positive=True),
    mf.get_metric("tp*exp(-pp/all)/sqrt(ap+1)"),
    mf.jaccard,
    mf.g_mean.with_special_cases(positive=True).subject_to(mf.jaccard >= 0.1),
]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_pickle_and_copies_are_equal(metric):
    metric.score([0, 1], [0, 1])
    for twin in (pickle.loads(pickle.dumps(metric)), copy.copy(metric), copy.deepcopy(metric)):
        assert twin == metric
        assert hash(twin) == hash(metric)
        assert repr(twin) == repr(metric)
        assert twin.name == metric.name
        assert twin.score([0, 1, 1], [0, 1, 0]) == metric.score([0, 1, 1], [0, 1, 0])


def test_a_family_pickles_by_its_name():
    assert pickle.loads(pickle.dumps(mf.fbeta)) is mf.fbeta
    assert copy.deepcopy(mf.fbeta) is mf.fbeta


NOTEBOOK = """
import multiprocessing
import metricfit as mf

@mf.metric
def lift(C):
    return (C.tp / C.pp) / (C.ap / C.all)

metric = lift.subject_to(mf.recall >= 0.5)
with multiprocessing.get_context("spawn").Pool(1) as pool:
    back = pool.apply(mf.get_metric, (metric,))
    score = pool.apply(metric.score, ([1, 0, 0, 0], [1, 0, 0, 0]))
assert back == metric and back.name == "lift", back
assert score == 4.0, score
print("same")
"""


def test_a_metric_written_in_a_notebook_reaches_a_spawned_process():
    # The source of a command line cannot be imported by the other process, as a notebook cell cannot.
    done = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, timeout=120)
    assert done.stdout == "same\n", done.stderr


def test_hash_and_equality_do_not_depend_on_the_process():
    program = "import pickle, sys, metricfit as mf; sys.stdout.buffer.write(pickle.dumps(mf.fbeta(0.3)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=120)
    foreign = pickle.loads(done.stdout)
    assert {foreign, mf.fbeta(0.3)} == {foreign}


def test_equality_is_by_meaning_and_not_by_name():
    assert mf.recall.named("sensitivity") == mf.recall
    assert mf.recall != mf.precision
    assert mf.precision_at_recall(0.8) != mf.precision_at_recall(0.7)
    assert mf.accuracy.with_special_cases(negative=True) != mf.accuracy
    assert mf.recall != 0.8
    assert mf.recall != "recall"


def test_a_metric_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        mf.f1.name = "f7"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del mf.f1.name


def test_the_confusion_matrix_cannot_be_changed():
    with pytest.raises(AttributeError):
        mf.ConfusionMatrix().tp = 3


def test_a_metric_prints_its_name_formula_and_constraints():
    assert repr(mf.f1) == "Metric(f1 = 2*tp/(ap + pp))"
    assert repr(mf.get_metric("tp/ap")) == "Metric(tp/ap)"
    assert (
        repr(mf.precision_at_recall(0.8))
        == "Metric(precision_at_recall(0.8) = tp/pp subject to recall >= 0.8)"
    )
    assert repr(mf.npv.with_special_cases(positive=True, negative=True)).endswith(
        "special cases: positive, negative)"
    )
    assert repr(mf.fbeta) == "MetricFamily(fbeta(beta))"


def test_the_formula_stays_as_it_was_written():
    assert mf.fbeta(0.5).formula == "1.25*tp/(0.25*ap + pp)"
    assert mf.get_metric("2*tp/(2*tp+fp+fn)").formula == "2*tp/(fn + fp + 2*tp)"
    assert mf.gm_precision_recall.formula == "tp/sqrt(ap*pp)"


@pytest.mark.parametrize("metric", [metric for metric in METRICS if not metric.constraints], ids=repr)
def test_the_formula_can_be_read_back(metric):
    forced = metric.evaluate
    again = mf.get_metric(metric.formula).with_special_cases(
        positive=forced.positive, negative=forced.negative
    )
    assert again == metric


def test_latex_shows_the_counts_upright_and_the_constraints():
    assert mf.f1.latex() == r"\frac{2 \mathrm{TP}}{\mathrm{AP} + \mathrm{PP}}"
    assert (
        mf.precision_at_recall(0.8)
        .latex()
        .endswith(r"\text{subject to}\quad \frac{\mathrm{TP}}{\mathrm{AP}} \ge 0.8")
    )
    assert mf.balanced_accuracy._repr_latex_().startswith(r"$\displaystyle \text{balanced\_accuracy} = ")


def test_help_shows_what_the_author_wrote():
    @mf.metric
    def lift(C):
        """How much better than chance."""
        return (C.tp / C.pp) / (C.ap / C.all)

    assert lift.__doc__ == "How much better than chance."
    assert mf.Metric.__doc__.startswith("A performance metric")


def test_a_family_with_defaults_and_keywords():
    @mf.metric
    def weighted(C, weight=0.5, *, shift=0):
        return C.tp / (weight * C.ap + (1 - weight) * C.pp + shift)

    assert weighted().name == "weighted(0.5, 0)"
    assert weighted(shift=1).score([1], [1]) == 0.5
    assert weighted(weight=0.5) == mf.f1
