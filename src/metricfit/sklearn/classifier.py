"""The estimator: a network trained for a metric, behind scikit-learn's interface."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from metricfit import Constraint, Metric
from metricfit.sklearn.averaging import AveragedWeights
from metricfit.sklearn.calibration import BetaCalibration
from metricfit.sklearn.callbacks import completed_epochs
from metricfit.sklearn.classifier_predict import TrainedNetwork
from metricfit.sklearn.cut_curve import CutRule
from metricfit.sklearn.decisions import ClassDecision, LabelDecision
from metricfit.sklearn.inputs import check_settings, constrained_metric
from metricfit.sklearn.network import LogitNet, ModuleLike, build_module
from metricfit.sklearn.rows import HeldOut, class_index, row_weights, split, two_classes
from metricfit.sklearn.targets import averaged_metric, has_many, target_of
from metricfit.sklearn.threads import threads_for
from metricfit.sklearn.training import Training, make_net, next_rows, release

__all__ = ["MetricClassifier"]

FloatArray = npt.NDArray[np.float64]


class MetricClassifier(TrainedNetwork, ClassifierMixin, BaseEstimator):
    """A classifier that is trained for the metric it will be judged by.

    The target has two classes, more classes, or several labels per row (0 and 1 in one column per label).

    A part of the data is held out. After every epoch the metric is measured on it, at a threshold chosen
    there. Training stops when the metric has not improved for `patience` epochs, and the best epoch is kept.
    Among epochs that violate a constraint on the held-out part, the best is the one with the smallest
    violation. The weights that are measured and kept are averages over about an epoch.

    Parameters
    ----------
    metric : Metric or str
        The metric to train for, its name (``"f2"``) or its formula (``"2*tp / (2*tp + fp + fn)"``).
    subject_to : Constraint, str or sequence of them, optional
        Constraints on the prediction, such as ``"recall >= 0.8"``, beside those of the metric.
    module : torch.nn.Module or callable, optional
        The network: a module (a copy of it is trained), or a function or class that makes one from the number
        of features. It returns one logit per row, or one per class or label if there are several. By default
        it has two hidden layers of 100 units.
    loss : {"metric", "soft", "cross-entropy"}
        "soft" trains with :class:`metricfit.SoftMetricLoss`, for any formula; constraints then follow the
        decisions on the training rows. It trains for a fifth of the epochs, at most ten, with cross-entropy
        first. Cross-entropy then stays as a part of the loss that does not move the decision. `scale`,
        `solver`, `tol` and `group_size` are ignored. "cross-entropy" trains the same network in the same way
        with cross-entropy, for comparison; the metric is then only used to choose the epoch and the
        threshold.
    cut : {"expected", "empirical", "zero"}
        How the threshold of the logit is chosen. "expected" calibrates the logits on the held-out rows and
        takes the threshold at which the metric of the expected confusion matrix is largest. "empirical" takes
        the one at which the metric is largest on the held-out rows, which is noisier. "zero" is the threshold
        of the loss itself. Constraints have to hold on the held-out rows, and for "expected" also in
        expectation.
    pos_label : object, optional
        The class that the metric counts as positive; by default the last in sorted order.
    class_weight : dict or "balanced", optional
        Weights of the classes, which are multiplied by `sample_weight`.
    max_epochs, batch_size, lr, weight_decay
        The training: passes over the data, rows per step, and settings of the optimizer.
    min_share : float
        The smallest share of positives in a batch. If positives are rarer, each is repeated within an epoch,
        so that every game has some. The threshold is chosen on held-out rows, which have the share of the
        data. 0 repeats none. With several labels it is the smallest share in the game of each, if the batch
        has enough positives.
    optimizer : type
        A class of ``torch.optim``.
    validation_fraction : float or None
        The part of the data that is held out, with the same share of positives. With None nothing is held
        out: all epochs are run, the last one is kept, and `cut` has to be "zero".
    patience : int
        Training ends after this many epochs without improvement.
    scale, solver, tol, group_size
        Passed to :class:`metricfit.MetricLoss`. With "auto", several labels have one game of 64 rows each
        per batch.
    warm_start : bool
        Whether :meth:`fit` begins with the weights of the last call.
    device : str
        Where to train, such as ``"cuda"``.
    callbacks : sequence of skorch callbacks, optional
        Called after the metric of an epoch was measured, as ``net.history[-1, "valid_metric"]``.
    checkpoint : path, optional
        A file that is rewritten after every epoch. If it exists, training continues from there, with the same
        result as if it had never stopped.
    verbose : int
        1 prints a line per epoch.
    random_state : int, RandomState or None
        Determines the split, the first weights and the order of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        The classes, or the numbers of the labels.
    metric_ : Metric
        What was trained for, with all constraints.
    threshold_ : float
        The logit above which a row is positive, for two classes.
    decision_ : ClassDecision, LabelDecision or None
        The offsets of classes or the thresholds of labels; None for two classes.
    calibration_ : BetaCalibration or None
        From logits to probabilities; None if nothing was held out.
    history_ : list of dict
        Per epoch: ``train_loss``, ``valid_loss``, ``valid_metric``, ``expected_metric``, ``violation``,
        ``threshold`` and more.
    best_epoch_ : int
        The epoch that was kept, counted from 1.
    n_iter_ : int
        The number of epochs run.
    interrupted_ : bool
        Whether Ctrl-C ended the training.
    net_ : skorch.NeuralNet
        The trained net.

    Notes
    -----
    Missing values raise an error; fill them first, as with ``make_pipeline(SimpleImputer(), StandardScaler(),
    MetricClassifier())``. Features should be of about the same size, as for any network.

    A metric without an average is taken as the mean over classes or labels, ``metric.macro()``;
    ``metric.averaged("weighted")`` weights them by their rows. ``"accuracy"`` of classes is the share of
    correct rows, as scikit-learn's ``accuracy_score``; ``"macro accuracy"`` is the mean over the classes.
    For classes, an offset is added to each logit and the largest sum decides. Labels have a threshold each,
    which is near the common one if positives are few. `cut` says how they are chosen. A label that no row has
    is never predicted, and one that all rows have always. Constraints and `pos_label` are for two classes.

    With a metric of one size, such as ``"precision@100"`` or ``"precision@5%"``, that many of the rows of one
    call are predicted positive. A whole number refers to the rows of :meth:`fit`: batches and held-out rows
    use the same share.

    Row weights have two effects. In training, rows are drawn in proportion to their weight, the same number
    per epoch. On held-out rows, the confusion matrix adds up weights instead of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MetricClassifier("f2", max_epochs=3, pos_label=0, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    >>> pipeline.score(X, y) > 0.9
    True
    """

    calibration_: BetaCalibration | None
    decision_: ClassDecision | LabelDecision | None
    n_iter_: int
    net_: LogitNet
    _averaged: AveragedWeights | None

    def __init__(
        self,
        metric: Metric | str = "f1",
        *,
        subject_to: Constraint | str | Sequence[Constraint | str] | None = None,
        module: ModuleLike = None,
        loss: Literal["metric", "soft", "cross-entropy"] = "metric",
        cut: CutRule = "expected",
        pos_label: object = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        max_epochs: int = 100,
        batch_size: int = 64,
        min_share: float = 0.1,
        lr: float = 1e-3,
        weight_decay: float = 1e-3,
        optimizer: type[torch.optim.Optimizer] = torch.optim.AdamW,
        validation_fraction: float | None = 0.2,
        patience: int = 15,
        scale: float | Literal["batch"] = 8.0,
        solver: str = "auto",
        tol: float = 1e-4,
        group_size: int | Literal["auto"] | None = "auto",
        warm_start: bool = False,
        device: str = "cpu",
        callbacks: Sequence[Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.metric = metric
        self.subject_to = subject_to
        self.module = module
        self.loss = loss
        self.cut = cut
        self.pos_label = pos_label
        self.class_weight = class_weight
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.min_share = min_share
        self.lr = lr
        self.weight_decay = weight_decay
        self.optimizer = optimizer
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.scale = scale
        self.solver = solver
        self.tol = tol
        self.group_size = group_size
        self.warm_start = warm_start
        self.device = device
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        groups: npt.ArrayLike | None = None,
        validation_set: tuple[Any, Any] | tuple[Any, Any, Any] | None = None,
    ) -> MetricClassifier:
        """Train.

        Parameters
        ----------
        X : array_like or data frame of shape (n, features)
            Numbers, none of them missing.
        y : array_like of shape (n,)
            Labels of two classes or more, or 0 and 1 of shape (n, labels).
        sample_weight : array_like of shape (n,), optional
            How much each row counts.
        groups : array_like of shape (n,), optional
            Rows of one group, such as those of one patient, are held out together or not at all.
        validation_set : (X, y) or (X, y, sample_weight), optional
            The rows to hold out; all of `X` is then trained on.
        """
        check_settings(self, held_out=validation_set is not None, groups=groups is not None)
        again = self.warm_start and hasattr(self, "net_")
        X, y = self._checked(X, y, reset=not again)
        many = target_of(y) if has_many(y) else None
        classes = two_classes(y) if many is None else many.classes
        if again and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start needs the classes of the last call, {self.classes_.tolist()}; "
                f"the target has {classes.tolist()}"
            )
        self._begin(classes, None if many is None else many.kind)
        labels, weights = self._encoded(y), row_weights(sample_weight, self.class_weight, y)
        rows, held_out = np.arange(len(labels)), None
        if validation_set is not None:
            held_out = self._given(*validation_set)
        elif self.validation_fraction is not None:
            rows, out = split(labels, self.validation_fraction, groups, self._seed)
            held_out = HeldOut(X[out], labels[out], None if weights is None else weights[out])
        if held_out is not None and held_out.weights is not None and not held_out.weights.any():
            raise ValueError("all held-out rows have the weight 0; give rows of positive weight")
        training = Training(
            X[rows],
            labels[rows],
            None if weights is None else weights[rows],
            held_out,
            self._seed,
            self._outputs,
        )
        with torch.random.fork_rng():
            torch.manual_seed(self._seed)
            module = build_module(self.module, X.shape[1], self._outputs)
            if again:
                module.load_state_dict(self.net_.module_.state_dict())
            net, stopping = make_net(self, training, module)
            with self._threads(X):
                net.fit(training.table(), None)
        self._keep(net, stopping)
        if self._kind is not None and held_out is not None:
            self._decide(held_out, training.labels)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None
    ) -> MetricClassifier:
        """Train one epoch on some rows, without holding any out.

        The threshold and the calibration stay those of :meth:`fit`. Without an earlier :meth:`fit` the
        threshold is 0 and probabilities are not calibrated.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes : array_like, optional
            All classes, needed in the first call if `y` lacks one.
        """
        check_settings(self, held_out=True, groups=False)
        first = not hasattr(self, "net_")
        X, y = self._checked(X, y, reset=first)
        if first:
            self._begin_partly(y, classes)
        strange = np.setdiff1d(y, self.classes_)
        if len(strange) and self._kind != "labels":
            raise ValueError(
                f"y holds {strange[0]}, which is none of the classes {self.classes_.tolist()}; "
                "name all classes in the first call"
            )
        weights = row_weights(sample_weight, self.class_weight, y)
        training = Training(X, self._encoded(y), weights, None, self._seed, self._outputs)
        epochs = 0 if first else self.n_iter_
        averaged = self._averaged or AveragedWeights(1)
        with torch.random.fork_rng():
            torch.manual_seed(self._seed + epochs)
            if first:
                self.net_ = make_net(self, training, build_module(self.module, X.shape[1], self._outputs))[0]
            next_rows(self, self.net_, training, averaged)
            with self._threads(X):
                self.net_.partial_fit(training.table(), None)
        release(self.net_)
        self._averaged, self.history_ = averaged, completed_epochs(self.net_.history)
        self.n_iter_ = self.best_epoch_ = len(self.history_)
        self.interrupted_ = self.n_iter_ == epochs
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _threads(self, X: npt.NDArray[np.float32]) -> AbstractContextManager[Any]:
        # A module of the user's may need all threads for a few rows.
        return threads_for(X, self.batch_size) if self.module is None else nullcontext()

    def _begin_partly(self, y: Any, classes: npt.ArrayLike | None) -> None:
        whole = np.asarray(y if classes is None or np.ndim(y) == 2 else classes)
        many = target_of(whole) if has_many(whole) else None
        self._begin(two_classes(whole) if many is None else many.classes, None if many is None else many.kind)
        self.threshold_, self.calibration_ = 0.0, None
        self.decision_ = self._undecided()

    def _begin(self, classes: npt.NDArray[Any], kind: str | None) -> None:
        self.metric_ = constrained_metric(self.metric, self.subject_to)
        if kind is None:
            class_index(classes, self.pos_label)
        else:
            self.metric_ = averaged_metric(self.metric_, self.pos_label, kind)
        self.classes_, self._kind = classes, kind
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._averaged = None
