"""Batches for a ``DataLoader`` with positives in every game."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Sampler

from metricfit.loss.settings import is_count, is_index

__all__ = ["PositiveSampler"]

Rows = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


class PositiveSampler(Sampler[list[int]]):
    r"""A batch sampler that spreads the positives evenly over the batches.

    Every epoch visits every row. Positives are spread at equal distances, so the numbers of positives in any
    two stretches of `b` consecutive rows differ by one at most. This holds for the batches, and also for the
    groups of consecutive rows that :class:`metricfit.MetricLoss` plays as separate games.

    By default the batches have the share of positives of the data. With `positives` or `share`, positives are
    repeated until the batches hold as many as required. The loss then sees the batches' share of positives,
    and not that of the data. Recall, specificity and balanced accuracy do not depend on the share. Precision,
    F-beta, MCC and kappa do: with repeated positives they are too high on the batches, and the trained model
    predicts too many positives at the threshold 0. So choose the threshold on rows with the true share, with
    ``best_cut`` of :mod:`metricfit.sklearn`. Without repetition nothing has to be corrected.

    Parameters
    ----------
    labels : array_like of shape (n,)
        0 and 1, or False and True.
    batch_size : int
        The largest number of rows in a batch. The sizes of batches differ by one at most.
    positives : int, optional
        The smallest number of positives in a batch.
    share : float, optional
        The smallest share of positives in an epoch; instead of `positives`.
    weights : array_like of shape (n,), optional
        How often a row is visited, relative to the others: on average over epochs, a row of weight 2 is
        visited twice as often as one of weight 1, and a row of weight 0 never. The number of rows in an epoch
        stays the same. The share of positives of the data is then the weighted one.
    seed : int
        Determines the order, together with the number of the epoch.
    rank, world_size : int, optional
        Of this process and the number of them; by default those of ``torch.distributed`` if it is
        initialised, and otherwise 0 and 1. The batches are divided equally among the processes.

    Attributes
    ----------
    epoch : int
        The next epoch, from 0. Every pass over the sampler adds one; :meth:`set_epoch` sets it.

    Examples
    --------
    >>> import torch
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> labels = torch.arange(1000) < 30
    >>> data = TensorDataset(torch.randn(1000, 4), labels)
    >>> loader = DataLoader(data, batch_sampler=PositiveSampler(labels, 100))
    >>> [int(y.sum()) for _, y in loader]
    [3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
    >>> loader = DataLoader(data, batch_sampler=PositiveSampler(labels, 32, positives=4))
    >>> min(int(y.sum()) for _, y in loader)
    4
    """

    def __init__(
        self,
        labels: npt.ArrayLike | torch.Tensor,
        batch_size: int,
        *,
        positives: int | None = None,
        share: float | None = None,
        weights: npt.ArrayLike | None = None,
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        truth, self._weights = _checked(labels, weights)
        self._of_class = tuple(np.flatnonzero((truth == label) & (self._weights > 0)) for label in (0, 1))
        if not is_count(batch_size):
            raise ValueError(f"batch_size must be a whole number from 1 on, got {batch_size!r}")
        if positives is not None and share is not None:
            raise ValueError("give positives or share, not both")
        if positives is not None and not (is_index(positives) and positives < batch_size):
            raise ValueError(
                f"positives must be a whole number between 0 and batch_size - 1 = {batch_size - 1}, "
                f"got {positives!r}"
            )
        if share is not None and not 0.0 <= share < 1.0:
            raise ValueError(f"share must be 0 or more and less than 1, got {share}")
        if not is_index(seed):
            raise ValueError(f"seed must be a whole number from 0 on, got {seed!r}")
        self.batch_size = batch_size
        self.seed = seed
        self.rank, self.world_size = _place(rank, world_size)
        self.epoch = 0
        self._counts = self._rows_per_class(len(truth), positives or 0, share or 0.0)
        rows = sum(self._counts)
        if self._batches(rows) > rows:
            raise ValueError(
                f"{rows} rows are too few for {self._batches(rows)} batches, which "
                f"{self.world_size} processes need; give more rows or a larger batch_size"
            )

    @property
    def share(self) -> float:
        """The share of positives in the batches."""
        return self._counts[1] / sum(self._counts)

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the next epoch, to continue a training."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self._batches(sum(self._counts)) // self.world_size

    def __iter__(self) -> Iterator[list[int]]:
        order = self._order(np.random.default_rng((self.seed, self.epoch)))
        self.epoch += 1
        for batch in np.array_split(order, self._batches(len(order)))[self.rank :: self.world_size]:
            yield batch.tolist()

    def _batches(self, rows: int) -> int:
        return self.world_size * -(-rows // (self.batch_size * self.world_size))

    def _rows_per_class(self, n: int, positives: int, share: float) -> tuple[int, int]:
        """Return how many negatives and positives an epoch has, repeated ones included."""
        rows = [len(part) for part in self._of_class]
        if (positives or share) and not rows[1]:
            raise ValueError("the labels hold no positive, so batches with positives are impossible")
        totals = [float(self._weights[part].sum()) for part in self._of_class]
        positive = round(n * totals[1] / sum(totals))
        # Every class that occurs is visited, however small its weight.
        positive = min(max(positive, min(rows[1], 1)), n - min(rows[0], 1))
        negative = n - positive
        share = max(share, positives / self.batch_size)
        positive = max(positive, int(np.ceil(share / (1.0 - share) * negative - 1e-9)))
        while self._fewest(negative + positive, positive) < positives:
            positive += 1
        return negative, positive

    def _fewest(self, rows: int, positive: int) -> int:
        """Return how many positives the smallest batch holds at least."""
        return rows // self._batches(rows) * positive // rows

    def _order(self, random: np.random.Generator) -> Rows:
        negatives, positives = (
            _drawn(rows, self._weights[rows], count, random)
            for rows, count in zip(self._of_class, self._counts, strict=True)
        )
        order = np.empty(sum(self._counts), dtype=np.int64)
        is_positive = np.zeros(len(order), dtype=bool)
        if len(positives):
            offset = random.random()
            spots = (np.arange(len(positives)) + offset) * (len(order) / len(positives))
            is_positive[np.minimum(spots.astype(np.int64), len(order) - 1)] = True
        order[is_positive], order[~is_positive] = positives, negatives
        return order


def _drawn(rows: Rows, weights: FloatArray, count: int, random: np.random.Generator) -> Rows:
    """Return `count` rows in a random order, each as often as its weight says, to within one."""
    if not len(rows):
        return rows
    # Systematic sampling: with equal weights and as many rows as asked for, each comes once.
    shuffled = random.permutation(len(rows))
    edges = np.cumsum(weights[shuffled] / weights.max())
    edges *= count / edges[-1]
    edges[-1] = count
    times = np.diff(np.floor(edges + random.random()), prepend=0.0).astype(np.int64)
    repeated = np.repeat(shuffled, times)
    # The copies of a row are spread over the epoch: copy j of c lies in the j-th of c equal parts.
    first = np.cumsum(times) - times
    copy = np.arange(count) - np.repeat(first, times)
    place = (copy + random.random(count)) / np.repeat(times, times)
    return np.asarray(rows[repeated[np.argsort(place, kind="stable")]], dtype=np.int64)


def _checked(labels: npt.ArrayLike | torch.Tensor, weights: npt.ArrayLike | None) -> tuple[Rows, FloatArray]:
    truth = np.asarray(labels.cpu() if isinstance(labels, torch.Tensor) else labels)
    if truth.ndim != 1 or not truth.size or not np.isin(truth, (0, 1)).all():
        raise ValueError("labels must be a vector of 0 and 1, one per row")
    given = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.shape != truth.shape or not np.isfinite(given).all() or given.min() < 0 or given.max() <= 0:
        raise ValueError(
            f"weights must be {len(truth)} numbers of 0 or more, one per label, and not all of them 0"
        )
    # Only ratios matter, and the sum of very large weights would overflow.
    return truth.astype(np.int64), given / given.max()


def _place(rank: int | None, world_size: int | None) -> tuple[int, int]:
    running = torch.distributed.is_available() and torch.distributed.is_initialized()
    if world_size is None:
        world_size = torch.distributed.get_world_size() if running else 1
    if rank is None:
        rank = torch.distributed.get_rank() if running else 0
    if not 0 <= rank < world_size:
        raise ValueError(f"rank must be between 0 and world_size - 1 = {world_size - 1}, got {rank}")
    return rank, world_size
