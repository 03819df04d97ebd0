"""The recipes that are compared: how each is trained, for which metrics, and which package it needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module

from metricfit.experiments.metrics import METRICS

__all__ = ["DEFAULT", "RECIPES", "Package", "Recipe", "lacking", "metrics_of"]


@dataclass(frozen=True)
class Package:
    """A package that is not among the dependencies.

    Attributes
    ----------
    module : str
        The name to import.
    install : str
        What to give to ``pip install``.
    """

    module: str
    install: str


@dataclass(frozen=True)
class Recipe:
    """A way to train a classifier.

    Attributes
    ----------
    name : str
        What is written in the cells.
    about : str
        What it is, in a few words.
    aims : tuple of str
        The metrics it is trained for, one at a time; a recipe without any is trained once and judged by all.
    package : Package or None
        What it needs beside the dependencies.
    network : bool
        Whether it trains the paper's network in the common loop. Other recipes are estimators of
        scikit-learn's kind, and the protocol's settings do not apply to them.
    game : bool
        Whether the loss plays a game; its gradient is that of a sum over the batch in the paper's protocol.
    balanced : bool
        Whether half of each batch is positive.
    rows : bool
        Whether the loss is also given the row numbers of the batch.
    """

    name: str
    about: str
    aims: tuple[str, ...] = ()
    package: Package | None = None
    network: bool = True
    game: bool = False
    balanced: bool = False
    rows: bool = False


AP_PERF = Package("ap_perf", "ap-perf")
LIBAUC = Package("libauc.losses", "libauc")
LIGHTGBM = Package("lightgbm", "lightgbm")
SMP = Package("segmentation_models_pytorch.losses", "segmentation-models-pytorch")

PLAIN = tuple(name for name, metric in METRICS.items() if not metric.constraints)

RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("cross-entropy", "binary cross-entropy"),
        Recipe("weighted", "cross-entropy in which both classes weigh the same"),
        Recipe("balanced", "cross-entropy, half of each batch positive", balanced=True),
        Recipe("focal", "FocalLoss of segmentation-models-pytorch", package=SMP),
        Recipe(
            "smp",
            "DiceLoss, TverskyLoss or MCCLoss of segmentation-models-pytorch",
            aims=("f1", "f2", "mcc"),
            package=SMP,
        ),
        Recipe("aucm", "AUCMLoss and PESG of LibAUC", package=LIBAUC, balanced=True),
        Recipe("ap-loss", "APLoss and SOAP of LibAUC", package=LIBAUC, balanced=True, rows=True),
        Recipe("ap-perf", "the paper's own implementation", aims=("f1", "f2"), package=AP_PERF, game=True),
        Recipe("soft", "metricfit.SoftMetricLoss", aims=tuple(METRICS)),
        Recipe("metricfit", "metricfit.MetricLoss", aims=tuple(METRICS), game=True),
        Recipe("trees", "HistGradientBoostingClassifier", network=False),
        Recipe("lightgbm", "LGBMClassifier", package=LIGHTGBM, network=False),
        Recipe("ensemble", "metricfit.sklearn.MetricEnsemble", aims=PLAIN, network=False),
    )
}
"""By name."""

DEFAULT = tuple(name for name, recipe in RECIPES.items() if recipe.network and recipe.package is None)
"""The recipes that train the network and need no further package."""


def metrics_of(name: str, metric: str | None) -> tuple[str, ...]:
    """Return the metrics that a training of a recipe is judged by.

    Examples
    --------
    >>> metrics_of("metricfit", "f2"), len(metrics_of("cross-entropy", None))
    (('f2',), 8)
    """
    return tuple(METRICS) if metric is None else (metric,)


def lacking(names: Iterable[str]) -> dict[str, str]:
    """Return the recipes whose package cannot be imported, with a message that says what to do.

    Examples
    --------
    >>> lacking(["cross-entropy", "metricfit"])
    {}
    """
    found = {}
    for name in names:
        package = RECIPES[name].package
        if package is None:
            continue
        try:
            import_module(package.module)
        # The latter is what a build of torchvision for another PyTorch raises.
        except (ImportError, RuntimeError) as error:
            found[name] = (
                f"the method {name} needs {package.module} ({error}); run pip install {package.install}"
            )
    return found
