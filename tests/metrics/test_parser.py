"""Text becomes a metric by a grammar, never by evaluation, and never takes long."""

import contextlib
import re
import time

import pytest

import metricfit as mf
from metricfit.metrics import names
from metricfit.metrics.builtin import BUILT_IN
from metricfit.metrics.confusion import CELLS, SUMS


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("f1", mf.f1),
        ("f2", mf.fbeta(2)),
        ("f0.5", mf.fbeta(0.5)),
        ("F1", mf.f1),
        (" mcc ", mf.mcc),
        ("fbeta(0.5)", mf.fbeta(0.5)),
        ("fbeta(+2)", mf.f2),
        ("precision_at_recall(0.8)", mf.precision_at_recall(0.8)),
        ("precision_at_recall_specificity(0.8, 0.9)", mf.precision_at_recall_specificity(0.8, 0.9)),
        ("2*tp/(2*tp+fp+fn)", mf.f1),
        ("TP / (TP + FN)", mf.recall),
        ("(precision**-1 + recall**-1)**-1 * 2", mf.f1),
        ("-fn/ap + 1", mf.recall),
        ("tp/(tp + 0.0*fp + fn) + 0.0", mf.recall),
        ("tp / sqrt(ap*pp)", mf.gm_precision_recall),
        ("precision subject to recall >= 0.8", mf.precision_at_recall(0.8)),
        ("tp/pp  subject to  0.8 <= tp/ap,specificity>=.9", mf.precision_at_recall_specificity(0.8, 0.9)),
        ("tp/(tp+fp+fn)", mf.jaccard),
        ("f1/(2-f1)", mf.jaccard),
        ("sqrt(recall*specificity)", mf.g_mean),
        ("recall subject to jaccard >= 0.5", mf.recall.subject_to(mf.jaccard >= 0.5)),
        ("fbeta_score(2)", mf.f2),
        ("2*ppv*tpr/(ppv+tpr)", mf.f1),
        ("tpr+tnr-1", mf.informedness),
        ("precision subject to sensitivity >= 0.8", mf.precision_at_recall(0.8)),
        ("recall subject to fbeta(0.5) <= 0.7", mf.recall.subject_to(mf.fbeta(0.5) <= 0.7)),
    ],
)
def test_names_calls_formulas_and_constraints_are_read(text, metric):
    assert mf.get_metric(text) == metric


ALIASES = {
    mf.recall: "sensitivity tpr hit_rate true_positive_rate true-positive-rate Sensitivity TPR recall_score",
    mf.specificity: "tnr selectivity true_negative_rate",
    mf.precision: "ppv positive_predictive_value precision_score",
    mf.npv: "negative_predictive_value NPV",
    mf.f1: "dice f1_score f1-score F1-Score f_measure dice_coefficient",
    mf.informedness: "youden youden_j",
    mf.gm_precision_recall: "fowlkes_mallows",
    mf.balanced_accuracy: "bacc balanced-accuracy balanced_accuracy_score",
    mf.mcc: "matthews matthews_corrcoef MCC",
    mf.kappa: "cohen_kappa cohen_kappa_score",
    mf.jaccard: "iou IoU jaccard_score threat_score",
    mf.g_mean: "gmean g-mean G-mean",
    mf.accuracy: "acc accuracy_score",
}


@pytest.mark.parametrize(
    ("name", "metric"), [(name, metric) for metric, listed in ALIASES.items() for name in listed.split()]
)
def test_common_names_are_known(name, metric):
    assert mf.get_metric(name) is metric
    assert mf.get_metric(re.sub("[_-]", " ", name)) is metric


def test_every_alias_is_of_a_metric_and_of_no_count():
    assert set(names.ALIASES.values()) <= set(BUILT_IN)
    assert not set(names.ALIASES) & (set(BUILT_IN) | set(CELLS) | set(SUMS))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sensitivty", "did you mean sensitivity, which is recall?"),
        ("specifity", "did you mean specificity?"),
        ("true_positive_rat", "did you mean true_positive_rate, which is recall?"),
        ("true_negative", "did you mean true_negative_rate, which is specificity?"),
        ("fpr", "it is 1 - specificity; take specificity"),
        ("fnr", "it is 1 - recall"),
        ("false_positive", "it is 1 - specificity"),
        ("false_negativ_rate", "it is 1 - recall"),
        ("fdr", "it is 1 - precision"),
        ("error_rate", "it is 1 - accuracy"),
        ("roc_auc", "not one confusion matrix"),
        ("f1score", "did you mean f1_score, which is f1?"),
    ],
)
def test_a_hint_names_what_was_meant(name, meant):
    with pytest.raises(mf.UnsupportedMetricError, match=re.escape(meant)):
        mf.get_metric(name)


OPPOSITES = [
    ("sensitivity", "specificity"),
    ("recall", "specificity"),
    ("true_positive_rate", "true_negative_rate"),
    ("true_positive_rate", "false_positive_rate"),
    ("true_negative_rate", "false_negative_rate"),
    ("false_positive_rate", "false_negative_rate"),
    ("positive_predictive_value", "negative_predictive_value"),
]


@pytest.mark.parametrize("pair", OPPOSITES, ids="-".join)
def test_no_misspelling_of_one_letter_is_taken_for_the_opposite(pair):
    for name, other in (pair, pair[::-1]):
        for i in range(len(name)):
            for wrong in (name[:i] + name[i + 1 :], name[:i] + "x" + name[i + 1 :]):
                if wrong != name:
                    assert f"did you mean {other}" not in names.hint(wrong)
                    assert not names.hint(wrong).startswith(f"{other} ")


def test_names_that_are_formulas_stay_formulas():
    assert mf.get_metric("tp-fp") == mf.get_metric("tp - fp")
    assert mf.get_metric("f1-recall/2") == mf.get_metric("f1 - recall / 2")


def test_a_metric_is_returned_as_it_is():
    assert mf.get_metric(mf.f1) is mf.f1


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("__import__('os')", "__import__('os') is not understood"),
        ("__import__('os').system('true')", "not understood"),
        ("tp.__class__", "tp.__class__ is not understood"),
        ("tp.__class__.__mro__[1].__subclasses__()", "not understood"),
        ("eval('tp')", "the functions of a formula are sqrt, log and exp"),
        ("sqrt.__globals__", "not understood"),
        ("tp[0]", "tp[0] is not understood"),
        ("[tp for tp in range(9)]", "not understood"),
        ("lambda: tp", "not understood"),
        ("tp if pp else fn", "not understood"),
        ("f'{tp}'", "not understood"),
        ("'tp'", "not understood"),
        ("1j*tp", "1j is not understood"),
        ("True*tp", "True is not understood"),
        ("tp < 1", "not understood"),
        ("(tp := 3)", "not understood"),
        ("tp; import os", "is not a formula"),
        ("import os", "is not a formula"),
        ("tp\x00", "is not a formula"),
        ("tp^2", "write powers as **"),
        ("tp // pp", "not understood"),
        ("recal", "did you mean recall?"),
        ("sqrt(ap, pp)", "take one argument"),
        ("sqrt()", "take one argument"),
        ("", "empty"),
        ("  ", "empty"),
        ("fbeta", "fbeta is a family of metrics; give its parameters: fbeta(beta)"),
        ("fbeta()", "missing a required argument"),
        ("fbeta(1, 2)", "too many positional arguments"),
        ("fbeta(-1)", "fbeta needs beta > 0, got -1"),
        ("fbeta(beta=2)", "by position"),
        ("fbeta(tp)", "a parameter must be a number"),
        ("fbeta(True)", "a parameter must be a number"),
        ("fbeta(*[2])", "a parameter must be a number"),
        ("f1(2)", "f1 is a metric without parameters"),
        ("precision*fbeta", "not understood"),
        ("recall subject to banana", "'banana' is not a constraint such as recall >= 0.8"),
        ("recall subject to precision >= recall", "must compare a metric with a number"),
        ("recall subject to precision > 0.5", "not a constraint"),
    ],
)
def test_anything_else_raises_a_clear_error(text, phrase):
    with pytest.raises(mf.UnsupportedMetricError) as refusal:
        mf.get_metric(text)
    assert phrase in str(refusal.value)


def test_only_text_is_read():
    with pytest.raises(TypeError, match="as a string, not int"):
        mf.get_metric(3)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "exp(((an+all)*(1e59-gm_precision_recall))**-12*12)",
        "tp*exp(((an+all)*(1e59-pp/sqrt(ap*pp)))**-12*12)",
        "tp*exp(((an+all)*(1e59-pp/ap))**-12*12)",
        "tp*((an+pp+1.234567890123456)*(0.98765432101234-ap/all))**12",
        "log(" * 30 + "tp+10" + ")" * 30,
        "exp(" * 30 + "tp/all" + ")" * 30,
        "sqrt(sqrt(informedness*markedness)*sqrt(kappa*mcc))",
        "*".join(f"sqrt(tp+{i}*fp)" for i in range(1, 30)),
        "/".join(f"(tp+{i}*fp+tn**2)" for i in range(1, 25)),
        "(tp-fp)**12/(pp+1e-50)**12",
        "tp*9**-9**9",
        "((((9**12)**12)**12)**12)*tp",
        "tp*((((((((3/2)**12)**12)**12)**12)**12)**12)**12)",
        "exp(exp(exp(9)))*tp",
        "tp*10**-12**12",
        "tp" + "+tp" * 400_000,
        "(" * 240 + "tp" + ")" * 240,
        "-" * 498 + "tp",
        "sqrt(" * 80 + "pp" + ")" * 80 + "*tp",
        "tp*" + "**".join(["2"] * 160),
        "tp*(pp+ap+all+1)**12*(pp+ap+all+2)**12",
        "tp/(" + "*".join(f"(pp+ap+{i})" for i in range(40)) + ")",
        "tp*(" + "+".join(f"1/(pp+ap+{i})" for i in range(1, 30)) + ")",
        "tp/(" + "+".join(f"sqrt(pp+{i})" for i in range(1, 30)) + ")**12",
        "tp*pp**0.3333333/ap**0.7777777+1/(1+pp**0.1234567)",
        "tp*(" + "+".join(f"pp**0.{i}1{i}" for i in range(10, 30)) + ")/(1+ap**0.123)",
    ],
    ids=lambda text: text[:24],
)
def test_any_text_is_parsed_quickly(text):
    start = time.perf_counter()
    with contextlib.suppress(mf.UnsupportedMetricError):
        mf.get_metric(text)
    assert time.perf_counter() - start < 5
