"""The estimator: a network trained for a metric, behind scikit-learn's interface."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data
from skorch.callbacks import EarlyStopping
from skorch.dataset import Dataset
from skorch.helper import predefined_split

from metricfit import Constraint, Metric, MetricLoss, get_metric
from metricfit.sklearn.callbacks import Resume, ValidationMetric, completed_epochs
from metricfit.sklearn.network import CrossEntropy, LogitNet, ModuleLike, build_module
from metricfit.sklearn.threshold import SLACK

__all__ = ["MetricClassifier"]

FloatArray = npt.NDArray[np.float64]


class MetricClassifier(ClassifierMixin, BaseEstimator):
    """A binary classifier that is trained for the metric it will be judged by.

    A part of the data is held out. After every epoch the metric is measured on it; training stops when the
    metric has not improved for `patience` epochs, and the weights of the best epoch are kept. Among epochs
    that miss a constraint on the held-out part, the best is the one that misses it least.

    Parameters
    ----------
    metric : Metric or str
        What to train for: a metric, its name (``"f2"``) or its formula (``"2*tp / (2*tp + fp + fn)"``).
    subject_to : Constraint, str or sequence of them, optional
        Constraints on the prediction, such as ``"recall >= 0.8"``, beside those of the metric.
    module : torch.nn.Module or callable, optional
        The network: a module, of which a copy is trained, or a function (or class) that makes one from the
        number of features. It returns one logit per row. By default two hidden layers of 100 units.
    loss : {"metric", "cross-entropy"}
        "cross-entropy" trains the same network in the same way for cross-entropy, to compare with; the
        metric then only chooses the epoch and the threshold.
    threshold : {"zero", "tuned"}
        Decide at 0, which is what the loss trains for, or at the score that is best on the held-out part
        within the constraints.
    pos_label : object, optional
        The class that the metric counts as positive; by default the last in sorted order.
    max_epochs, batch_size, lr, weight_decay
        The training: passes over the data, rows per step, and what the optimizer takes.
    optimizer : type
        A class of ``torch.optim``.
    validation_fraction : float or None
        The part of the data that is held out, with the same share of positives. With None nothing is: every
        epoch is run, the last one is kept, and no threshold can be tuned.
    patience : int
        So many epochs without improvement end the training.
    scale, solver, tol, group_size
        Passed to :class:`metricfit.MetricLoss`.
    device : str
        Where to train, such as ``"cuda"``.
    callbacks : sequence of skorch callbacks, optional
        Called after the metric of an epoch was measured, as ``net.history[-1, "valid_metric"]``.
    checkpoint : path, optional
        A file that is rewritten after every epoch. If it exists, training goes on from there, with the same
        result as if it had never stopped.
    random_state : int, RandomState or None
        Decides on the split, the first weights and the order of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    metric_ : Metric
        What was trained for, with all constraints.
    threshold_ : float
        The logit above which a row is positive.
    history_ : list of dict
        Per epoch: ``train_loss``, ``valid_loss``, ``valid_metric``, ``violation``, ``threshold`` and more.
    best_epoch_ : int
        The epoch that was kept, counted from 1.
    n_iter_ : int
        The number of epochs run.
    interrupted_ : bool
        Whether the keyboard ended the training.
    net_ : skorch.NeuralNet
        The trained net.

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

    def __init__(
        self,
        metric: Metric | str = "f1",
        *,
        subject_to: Constraint | str | Sequence[Constraint | str] | None = None,
        module: ModuleLike = None,
        loss: Literal["metric", "cross-entropy"] = "metric",
        threshold: Literal["zero", "tuned"] = "zero",
        pos_label: object = None,
        max_epochs: int = 100,
        batch_size: int = 64,
        lr: float = 1e-3,
        weight_decay: float = 1e-3,
        optimizer: type[torch.optim.Optimizer] = torch.optim.AdamW,
        validation_fraction: float | None = 0.2,
        patience: int = 15,
        scale: float | Literal["batch"] = 8.0,
        solver: str = "auto",
        tol: float = 1e-4,
        group_size: int | Literal["auto"] | None = "auto",
        device: str = "cpu",
        callbacks: Sequence[Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.metric = metric
        self.subject_to = subject_to
        self.module = module
        self.loss = loss
        self.threshold = threshold
        self.pos_label = pos_label
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.optimizer = optimizer
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.scale = scale
        self.solver = solver
        self.tol = tol
        self.group_size = group_size
        self.device = device
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> MetricClassifier:
        """Train on the rows of `X`, an array or a data frame of numbers, with labels `y` of two classes."""
        self._check_settings()
        X, y = validate_data(self, X, y, dtype=np.float32)
        self.metric_ = self._constrained_metric()
        labels = self._encoded(y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows, held_out = self._split(labels, seed)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            net, stopping = self._make_net(X, labels, rows, held_out, seed)
            net.fit(X[rows], labels[rows])
        self._keep(net, stopping)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return how far each row is on the side of ``classes_[1]``: its logit less the threshold."""
        margin = self._logits(X) - self.threshold_
        return margin if self._positive == 1 else -margin

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the labels of rows."""
        positive = self._logits(X) > self.threshold_
        codes = np.where(positive, self._positive, 1 - self._positive)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the logistic function of the decision function, which is no calibrated probability.

        It rises with the score and is one half at the threshold, so that rows can be ranked with it and the
        larger column is the prediction. A loss that trains for decisions leaves nothing in the score that
        says how often a row is positive; for probabilities put ``CalibratedClassifierCV`` around it.
        """
        upper = expit(self.decision_function(X))
        return np.column_stack((1.0 - upper, upper))

    def score(self, X: Any, y: Any) -> float:
        """Return the score of the prediction by ``metric_``, see :meth:`metricfit.Metric.score`.

        Predictions that break a constraint score below all that meet them. The plain number is
        ``metric_.objective.score(y_true, y_pred)``.
        """
        predicted = self.predict(X)
        positive = self.classes_[self._positive]
        return float(self.metric_.score(np.asarray(y) == positive, predicted == positive))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @property
    def _positive(self) -> int:
        """The index of the positive class."""
        return 1 if self.pos_label is None or self.classes_[1] == self.pos_label else 0

    def _check_settings(self) -> None:
        if self.loss not in ("metric", "cross-entropy"):
            raise ValueError(f'loss must be "metric" or "cross-entropy", got {self.loss!r}')
        if self.threshold not in ("zero", "tuned"):
            raise ValueError(f'threshold must be "zero" or "tuned", got {self.threshold!r}')
        if self.validation_fraction is None:
            if self.threshold == "tuned":
                raise ValueError(
                    'threshold="tuned" needs held-out rows; give validation_fraction, such as 0.2'
                )
        elif not 0.0 < self.validation_fraction < 1.0:
            raise ValueError(
                f"validation_fraction must be between 0 and 1, or None, got {self.validation_fraction!r}"
            )
        for name in ("max_epochs", "batch_size", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, got {getattr(self, name)!r}")

    def _constrained_metric(self) -> Metric:
        metric = get_metric(self.metric)
        if self.subject_to is None:
            return metric
        given = self.subject_to
        constraints: list[Constraint] = []
        for constraint in (given,) if isinstance(given, str | Constraint) else tuple(given):
            if isinstance(constraint, str):
                constraints += get_metric(f"accuracy subject to {constraint}").constraints
            else:
                constraints.append(constraint)
        return metric.subject_to(*constraints) if constraints else metric

    def _encoded(self, y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return 1 for the positive class and 0 for the other."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}, "
                f"with {len(self.classes_)} classes."
            )
        if len(self.classes_) < 2:
            raise ValueError(f"two classes are needed, but the target has one class only: {self.classes_[0]}")
        if self.pos_label is not None and self.pos_label not in self.classes_:
            first, second = self.classes_
            raise ValueError(
                f"pos_label={self.pos_label!r} is not in the target; it has {first} and {second}"
            )
        return np.asarray(codes.reshape(-1) == self._positive, dtype=np.int64)

    def _split(
        self, labels: npt.NDArray[np.int64], seed: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
        everything = np.arange(len(labels))
        if self.validation_fraction is None:
            return everything, None
        counts = np.bincount(labels, minlength=2)
        held = int(np.ceil(self.validation_fraction * len(labels)))
        if counts.min() < 2 or held < 2 or len(labels) - held < 2:
            raise ValueError(
                f"holding out a part of {len(labels)} samples needs two of each class at least, "
                f"got {counts[1]} positives and {counts[0]} negatives; set validation_fraction=None"
            )
        rows, held_out = train_test_split(everything, test_size=held, stratify=labels, random_state=seed)
        return rows, held_out

    def _make_net(
        self,
        X: npt.NDArray[np.float32],
        labels: npt.NDArray[np.int64],
        rows: npt.NDArray[np.int64],
        held_out: npt.NDArray[np.int64] | None,
        seed: int,
    ) -> tuple[Any, Any]:
        module = build_module(self.module, X.shape[1])
        callbacks: list[Any] = []
        stopping = None
        if held_out is not None:
            tune = self.threshold == "tuned"
            stopping = EarlyStopping(
                monitor="rank", lower_is_better=False, patience=self.patience, threshold=0.0, load_best=True
            )
            callbacks = [ValidationMetric(self.metric_, labels[held_out], tune), *(self.callbacks or ())]
            callbacks.append(stopping)
            if self.checkpoint is not None:
                callbacks.append(
                    Resume(self.checkpoint, self._fingerprint(X, labels, module, seed), stopping)
                )
        elif self.checkpoint is not None:
            raise ValueError("a checkpoint needs held-out rows; give validation_fraction, such as 0.2")
        else:
            callbacks = list(self.callbacks or ())
        validation = None if held_out is None else Dataset(X[held_out], labels[held_out])
        net = LogitNet(
            module,
            criterion=CrossEntropy() if self.loss == "cross-entropy" else self._metric_loss(),
            optimizer=self.optimizer,
            optimizer__weight_decay=self.weight_decay,
            lr=self.lr,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            iterator_train__shuffle=True,
            train_split=None if validation is None else predefined_split(validation),
            callbacks=callbacks,
            callbacks__print_log=None,
            device=self.device,
            verbose=0,
        )
        return net, stopping

    def _metric_loss(self) -> MetricLoss:
        # A constraint that no prediction can meet on the labels of one small group is no reason to stop.
        return MetricLoss(
            self.metric_,
            scale=self.scale,
            solver=self.solver,
            tol=self.tol,
            group_size=self.group_size,
            infeasible="skip",
        )

    def _fingerprint(
        self, X: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], module: torch.nn.Module, seed: int
    ) -> str:
        """Return a digest of all that the course of the training depends on, but for when it ends."""
        digest = hashlib.sha256(np.ascontiguousarray(X).tobytes() + labels.tobytes())
        names = "loss threshold batch_size lr weight_decay validation_fraction scale solver tol group_size"
        settings = [repr(getattr(self, name)) for name in names.split()]
        settings += [repr(self.metric_), repr(module), self.optimizer.__name__, str(seed)]
        digest.update("\n".join(settings).encode())
        return digest.hexdigest()

    def _keep(self, net: Any, stopping: Any) -> None:
        """Take over what was learned, without what only the training needed."""
        self.history_ = completed_epochs(net.history)
        if not self.history_:
            raise KeyboardInterrupt
        self.n_iter_ = len(self.history_)
        stopped = stopping is not None and stopping.misses_ >= self.patience
        self.interrupted_ = self.n_iter_ < self.max_epochs and not stopped
        self.best_epoch_ = self.n_iter_ if stopping is None else int(stopping.best_epoch_)
        best = self.history_[self.best_epoch_ - 1]
        self.threshold_ = float(best.get("threshold", 0.0))
        if best.get("violation", 0.0) > SLACK:
            warnings.warn(
                f"no epoch met the constraints of {self.metric_!r} on the held-out rows; the best "
                f"misses them by {best['violation']:.3g}. Train for more epochs, or relax the constraints",
                stacklevel=3,
            )
        net.set_params(callbacks=None, train_split=None)
        self.net_ = net

    def _logits(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        logits: torch.Tensor = self.net_.forward(X, training=False)
        return logits.cpu().double().numpy()
