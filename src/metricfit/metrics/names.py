"""Other names of the metrics, and hints for names that are not a metric."""

from __future__ import annotations

import difflib
import re

from metricfit.metrics.builtin import BUILT_IN
from metricfit.metrics.confusion import CELLS, SUMS

__all__ = ["canonical", "hint", "known_metric", "other_names"]

ALIASES = {
    "acc": "accuracy",
    "accuracy_score": "accuracy",
    "ppv": "precision",
    "positive_predictive_value": "precision",
    "precision_score": "precision",
    "sensitivity": "recall",
    "tpr": "recall",
    "true_positive_rate": "recall",
    "hit_rate": "recall",
    "recall_score": "recall",
    "tnr": "specificity",
    "true_negative_rate": "specificity",
    "selectivity": "specificity",
    "negative_predictive_value": "npv",
    "f1_score": "f1",
    "f_score": "f1",
    "f_measure": "f1",
    "dice": "f1",
    "dice_score": "f1",
    "dice_coefficient": "f1",
    "f2_score": "f2",
    "fbeta_score": "fbeta",
    "f_beta": "fbeta",
    "fowlkes_mallows": "gm_precision_recall",
    "fowlkes_mallows_index": "gm_precision_recall",
    "bacc": "balanced_accuracy",
    "balanced_accuracy_score": "balanced_accuracy",
    "youden": "informedness",
    "youden_j": "informedness",
    "youdens_j": "informedness",
    "bookmaker_informedness": "informedness",
    "cohen_kappa": "kappa",
    "cohens_kappa": "kappa",
    "cohen_kappa_score": "kappa",
    "matthews": "mcc",
    "matthews_corrcoef": "mcc",
    "phi_coefficient": "mcc",
    "iou": "jaccard",
    "jaccard_score": "jaccard",
    "jaccard_index": "jaccard",
    "intersection_over_union": "jaccard",
    "threat_score": "jaccard",
    "critical_success_index": "jaccard",
    "gmean": "g_mean",
    "geometric_mean_score": "g_mean",
}

# Metrics are maximised. These are error rates, which training would make worse.
_MISTAKES = {
    "fpr": "specificity",
    "false_positive_rate": "specificity",
    "fall_out": "specificity",
    "false_alarm_rate": "specificity",
    "fnr": "recall",
    "false_negative_rate": "recall",
    "miss_rate": "recall",
    "fdr": "precision",
    "false_discovery_rate": "precision",
    "false_omission_rate": "npv",
    "error_rate": "accuracy",
    "zero_one_loss": "accuracy",
    "hamming_loss": "accuracy",
}
_OF_SCORES = (
    "auc",
    "roc_auc",
    "roc_auc_score",
    "auroc",
    "auprc",
    "average_precision",
    "log_loss",
    "brier_score",
)

_CLOSE = 0.75


def canonical(name: str) -> str:
    """Return the name of a ready-made metric for any of its names; other names as they are, in lower case.

    Examples
    --------
    >>> canonical("Sensitivity"), canonical("balanced accuracy"), canonical("F1-score"), canonical("lift")
    ('recall', 'balanced_accuracy', 'f1', 'lift')
    """
    plain = re.sub(r"(?<=\w)[\s-](?=\w)", "_", name.strip().lower()).replace("'", "")
    return ALIASES.get(plain, plain)


def other_names(name: str) -> list[str]:
    """Return the other names by which a ready-made metric or family is known.

    Examples
    --------
    >>> other_names("recall")[:2]
    ['sensitivity', 'tpr']
    """
    return [other for other, meant in ALIASES.items() if meant == name]


def known_metric(name: str) -> bool:
    """Return whether `canonical` finds a ready-made metric.

    Examples
    --------
    >>> known_metric("tpr"), known_metric("tpx")
    (True, False)
    """
    return canonical(name) in BUILT_IN


def hint(name: str) -> str:
    """Return a hint for a name that is no metric, no count and no function.

    Examples
    --------
    >>> hint("sensitivty")
    'did you mean sensitivity, which is recall? '
    >>> hint("fpr")
    'fpr counts mistakes: it is 1 - specificity; take specificity, or bound it, as in specificity >= 0.9; '
    """
    known = [*CELLS, *SUMS, *BUILT_IN, *ALIASES, *_MISTAKES, *_OF_SCORES, "sqrt", "log", "exp"]
    plain = canonical(name)
    close = [plain] if plain in known else difflib.get_close_matches(plain, known, n=1, cutoff=_CLOSE)
    if not close:
        return ""
    (guess,) = close
    if guess in _MISTAKES:
        right = _MISTAKES[guess]
        return (
            f"{guess} counts mistakes: it is 1 - {right}; take {right}, or bound it, as in {right} >= 0.9; "
        )
    if guess in _OF_SCORES:
        return f"{guess} judges scores and not one confusion matrix, so it cannot be a formula; "
    meant = f"{guess}, which is {ALIASES[guess]}" if guess in ALIASES else guess
    return f"did you mean {meant}? "
