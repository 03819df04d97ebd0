"""Text becomes a metric by a grammar, never by evaluation, and never takes long."""

import contextlib
import time

import pytest

import metricfit as mf


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
        ("tp / sqrt(ap*pp)", mf.gm_precision_recall),
        ("precision subject to recall >= 0.8", mf.precision_at_recall(0.8)),
        ("tp/pp  subject to  0.8 <= tp/ap,specificity>=.9", mf.precision_at_recall_specificity(0.8, 0.9)),
        ("tp/(tp+fp+fn)", mf.jaccard),
        ("f1/(2-f1)", mf.jaccard),
        ("sqrt(recall*specificity)", mf.g_mean),
        ("recall subject to jaccard >= 0.5", mf.recall.subject_to(mf.jaccard >= 0.5)),
        ("recall subject to fbeta(0.5) <= 0.7", mf.recall.subject_to(mf.fbeta(0.5) <= 0.7)),
    ],
)
def test_names_calls_formulas_and_constraints_are_read(text, metric):
    assert mf.get_metric(text) == metric


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
def test_anything_else_is_refused_by_a_sentence(text, phrase):
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
def test_no_text_keeps_the_parser_busy(text):
    start = time.perf_counter()
    with contextlib.suppress(mf.UnsupportedMetricError):
        mf.get_metric(text)
    assert time.perf_counter() - start < 5
