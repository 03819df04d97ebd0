"""The ready-made metrics.

Where a formula is undefined, every one of them is 1 if the prediction can only equal the truth (no positives
on either side, or no negatives) and 0 otherwise. scikit-learn has ``zero_division`` for these cases, or
another value; each docstring says where the two differ. The formulas are those of R. Fathony and J. Z.
Kolter, "AP-Perf: Incorporating generic performance metrics in differentiable learning", AISTATS 2020.
"""

from __future__ import annotations

from metricfit.metrics.confusion import ConfusionMatrix, sqrt
from metricfit.metrics.errors import UnsupportedMetricError
from metricfit.metrics.family import MetricFamily, metric, ready_made
from metricfit.metrics.metric_class import Metric

__all__ = [
    "BUILT_IN",
    "accuracy",
    "balanced_accuracy",
    "f1",
    "f2",
    "fbeta",
    "g_mean",
    "gm_precision_recall",
    "informedness",
    "jaccard",
    "kappa",
    "markedness",
    "mcc",
    "npv",
    "precision",
    "precision_at_k",
    "precision_at_recall",
    "precision_at_recall_specificity",
    "recall",
    "recall_at_precision",
    "specificity",
]


@ready_made
def accuracy(C: ConfusionMatrix) -> object:
    """Share of samples that are predicted correctly.

    Equal to :func:`sklearn.metrics.accuracy_score` everywhere.

    Examples
    --------
    >>> accuracy.score([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    return (C.tp + C.tn) / C.all


@ready_made
def precision(C: ConfusionMatrix) -> object:
    """Share of predicted positives that are positive; the positive predictive value.

    Equal to :func:`sklearn.metrics.precision_score`, but 1 if there are no predicted and no actual positives
    (scikit-learn: ``zero_division``).

    Examples
    --------
    >>> precision.score([0, 1, 1, 0], [1, 1, 0, 0])
    0.5
    """
    return C.tp / C.pp


@ready_made
def recall(C: ConfusionMatrix) -> object:
    """Share of positives that are predicted positive; sensitivity, the true positive rate.

    Equal to :func:`sklearn.metrics.recall_score`, but 1 if there are no actual and no predicted positives
    (scikit-learn: ``zero_division``).

    Examples
    --------
    >>> recall.score([0, 1, 1, 1], [1, 1, 0, 1])
    0.6666666666666666
    """
    return C.tp / C.ap


@ready_made
def specificity(C: ConfusionMatrix) -> object:
    """Share of negatives that are predicted negative; the true negative rate.

    Equal to :func:`sklearn.metrics.recall_score` with ``pos_label=0``, but 1 if all samples are positive and
    predicted positive (scikit-learn: ``zero_division``).

    Examples
    --------
    >>> specificity.score([0, 0, 1, 1], [1, 0, 1, 1])
    0.5
    """
    return C.tn / C.an


@ready_made
def npv(C: ConfusionMatrix) -> object:
    """Share of predicted negatives that are negative; the negative predictive value.

    Equal to :func:`sklearn.metrics.precision_score` with ``pos_label=0``, but 1 if all samples are predicted
    positive and are positive (scikit-learn: ``zero_division``).

    Examples
    --------
    >>> npv.score([0, 0, 1, 1], [0, 0, 0, 1])
    0.6666666666666666
    """
    return C.tn / C.pn


@metric
def fbeta(C: ConfusionMatrix, beta: float) -> object:
    """Weighted harmonic mean of precision and recall; recall counts ``beta`` times as much.

    C. J. van Rijsbergen, "Information Retrieval", 1979. Equal to :func:`sklearn.metrics.fbeta_score`, but 1
    if there are no actual and no predicted positives (scikit-learn: ``zero_division``).

    Examples
    --------
    >>> fbeta(2)
    Metric(fbeta(2) = 5*tp/(4*ap + pp))
    >>> fbeta(2).score([0, 1, 1, 0], [1, 1, 0, 0])
    0.5
    """
    if not beta > 0:
        raise UnsupportedMetricError(f"fbeta needs beta > 0, got {beta}")
    return (1 + beta**2) * C.tp / (beta**2 * C.ap + C.pp)


@ready_made
def f1(C: ConfusionMatrix) -> object:
    """Harmonic mean of precision and recall.

    C. J. van Rijsbergen, "Information Retrieval", 1979; also known as the Dice coefficient. Equal to
    :func:`sklearn.metrics.f1_score`, but 1 if there are no actual and no predicted positives (scikit-learn:
    ``zero_division``).

    Examples
    --------
    >>> f1.score([0, 1, 1, 1], [1, 1, 0, 0])
    0.4
    """
    return 2 * C.tp / (C.ap + C.pp)


@ready_made
def f2(C: ConfusionMatrix) -> object:
    """F-beta with beta = 2: recall counts twice as much as precision.

    Equal to :func:`sklearn.metrics.fbeta_score` with ``beta=2``, but 1 if there are no actual and no
    predicted positives (scikit-learn: ``zero_division``).

    Examples
    --------
    >>> f2.score([0, 1, 1, 0], [1, 1, 0, 0])
    0.5
    >>> f2 == fbeta(2)
    True
    """
    return 5 * C.tp / (4 * C.ap + C.pp)


@ready_made
def gm_precision_recall(C: ConfusionMatrix) -> object:
    """Geometric mean of precision and recall; the Fowlkes-Mallows index of two classes.

    E. B. Fowlkes and C. L. Mallows, "A method for comparing two hierarchical clusterings", JASA 1983. Not in
    scikit-learn, but equal to the square root of ``precision_score * recall_score``; 1 if there are no actual
    and no predicted positives.

    Examples
    --------
    >>> gm_precision_recall.score([1, 1, 0, 0], [1, 0, 0, 0])
    0.7071067811865476
    """
    return C.tp / sqrt(C.pp * C.ap)


@ready_made
def balanced_accuracy(C: ConfusionMatrix) -> object:
    """Mean of recall and specificity.

    K. H. Brodersen et al., "The balanced accuracy and its posterior distribution", ICPR 2010. Equal to
    :func:`sklearn.metrics.balanced_accuracy_score` where both classes occur. Where one class is missing,
    scikit-learn warns and returns the share of the other; here the value is 1 if all predictions are right
    and 0 otherwise.

    Examples
    --------
    >>> balanced_accuracy.score([0, 0, 1, 1], [0, 1, 1, 1])
    0.75
    """
    return (C.tp / C.ap + C.tn / C.an) / 2


@ready_made
def informedness(C: ConfusionMatrix) -> object:
    """Recall plus specificity minus 1; Youden's J.

    D. M. W. Powers, "Evaluation: from precision, recall and F-measure to ROC, informedness, markedness and
    correlation", 2011. Equal to :func:`sklearn.metrics.balanced_accuracy_score` with ``adjusted=True`` where
    both classes occur. Where one is missing, it is 1 if all predictions are right and 0 otherwise.

    Examples
    --------
    >>> informedness.score([0, 0, 1, 1], [0, 0, 0, 1])
    0.5
    """
    return C.tp / C.ap + C.tn / C.an - 1


@ready_made
def markedness(C: ConfusionMatrix) -> object:
    """Precision plus negative predictive value minus 1.

    D. M. W. Powers, "Evaluation: from precision, recall and F-measure to ROC, informedness, markedness and
    correlation", 2011. Not in scikit-learn, but equal to the sum of ``precision_score`` for both labels minus
    1 where both are predicted. Where one is not, it is 1 if all predictions are right and 0 otherwise.

    Examples
    --------
    >>> markedness.score([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    return C.tp / C.pp + C.tn / C.pn - 1


@ready_made
def kappa(C: ConfusionMatrix) -> object:
    """Agreement beyond chance; Cohen's kappa.

    J. Cohen, "A coefficient of agreement for nominal scales", 1960. Equal to
    :func:`sklearn.metrics.cohen_kappa_score`, but 1 where truth and prediction are both all positive or both
    all negative (scikit-learn: NaN, or ``replace_undefined_by``).

    Examples
    --------
    >>> kappa.score([0, 0, 1, 1], [0, 1, 1, 1])
    0.5
    """
    observed = (C.tp + C.tn) / C.all
    by_chance = (C.ap * C.pp + C.an * C.pn) / C.all**2
    return (observed - by_chance) / (1 - by_chance)


@ready_made
def mcc(C: ConfusionMatrix) -> object:
    """Matthews correlation coefficient of truth and prediction.

    B. W. Matthews, "Comparison of the predicted and observed secondary structure of T4 phage lysozyme", 1975.
    Equal to :func:`sklearn.metrics.matthews_corrcoef`, but 1 where truth and prediction are both all positive
    or both all negative (scikit-learn: 0).

    Examples
    --------
    >>> mcc.score([0, 0, 1, 1], [0, 0, 1, 1])
    1.0
    """
    return (C.tp * C.tn - C.fp * C.fn) / sqrt(C.ap * C.an * C.pp * C.pn)


@ready_made
def jaccard(C: ConfusionMatrix) -> object:
    """Intersection over union of the true and the predicted positives; the threat score.

    P. Jaccard, "Étude comparative de la distribution florale dans une portion des Alpes et du Jura", 1901.
    Equal to :func:`sklearn.metrics.jaccard_score`, but 1 if there are no actual and no predicted positives
    (scikit-learn: ``zero_division``). It is an increasing function of F1, ``f1 / (2 - f1)``, so both rank
    predictions in the same order. Not playable: use :class:`metricfit.SoftMetricLoss`.

    Examples
    --------
    >>> jaccard.score([0, 1, 1, 1], [1, 1, 0, 0])
    0.25
    """
    return C.tp / (C.tp + C.fp + C.fn)


@ready_made
def g_mean(C: ConfusionMatrix) -> object:
    """Geometric mean of recall and specificity.

    M. Kubat and S. Matwin, "Addressing the curse of imbalanced training sets", ICML 1997. Not in
    scikit-learn, but equal to the square root of ``recall_score`` for both labels multiplied. Where one class
    is missing, it is 1 if all predictions are right and 0 otherwise. Not playable: use
    :class:`metricfit.SoftMetricLoss`.

    Examples
    --------
    >>> g_mean.score([0, 0, 1, 1], [0, 1, 1, 1])
    0.7071067811865476
    """
    return sqrt((C.tp / C.ap) * (C.tn / C.an))


@metric
def precision_at_recall(C: ConfusionMatrix, t: float) -> object:
    """Precision, subject to a recall of at least ``t``.

    Examples
    --------
    >>> precision_at_recall(0.8)
    Metric(precision_at_recall(0.8) = tp/pp subject to recall >= 0.8)
    """
    return precision.subject_to(recall >= t)


@metric
def recall_at_precision(C: ConfusionMatrix, t: float) -> object:
    """Recall, subject to a precision of at least ``t``.

    Examples
    --------
    >>> recall_at_precision(0.6)
    Metric(recall_at_precision(0.6) = tp/ap subject to precision >= 0.6)
    """
    return recall.subject_to(precision >= t)


@metric
def precision_at_k(C: ConfusionMatrix, k: float) -> object:
    """Precision of the ``k`` highest scores; ``k`` between 0 and 1 is a share of the items.

    Examples
    --------
    >>> precision_at_k(10)
    Metric(precision_at_k(10) = tp/pp at size 10)
    """
    return precision.at_size(k)


@metric
def precision_at_recall_specificity(C: ConfusionMatrix, t1: float, t2: float) -> object:
    """Precision, subject to a recall of at least ``t1`` and a specificity of at least ``t2``.

    Examples
    --------
    >>> precision_at_recall_specificity(0.8, 0.9).constraints
    (Constraint(recall >= 0.8), Constraint(specificity >= 0.9))
    """
    return precision.subject_to(recall >= t1, specificity >= t2)


BUILT_IN: dict[str, Metric | MetricFamily] = {
    made.name: made
    for made in (
        accuracy,
        precision,
        recall,
        specificity,
        npv,
        f1,
        f2,
        fbeta,
        gm_precision_recall,
        balanced_accuracy,
        informedness,
        markedness,
        kappa,
        mcc,
        jaccard,
        g_mean,
        precision_at_recall,
        precision_at_k,
        recall_at_precision,
        precision_at_recall_specificity,
    )
}

# doctest looks into functions and classes only, and these names have become metrics.
__test__ = {name: made.__doc__ for name, made in BUILT_IN.items()}
