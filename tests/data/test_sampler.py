"""The batches of a sampler: every row, positives everywhere, the same again, shared by processes."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, TensorDataset

from metricfit.data import PositiveSampler


def labels_of(n, positives, seed=0):
    return (np.random.default_rng(seed).permutation(n) < positives).astype(int)


SIZES = st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, 64)))


@given(SIZES, st.integers(0, 3))
def test_every_row_comes_once_and_positives_are_spread_evenly(sizes, epoch):
    n, positives, batch_size = sizes
    labels = labels_of(n, positives)
    sampler = PositiveSampler(labels, batch_size)
    sampler.set_epoch(epoch)
    batches = list(sampler)
    assert len(batches) == len(sampler)
    order = np.concatenate(batches)
    assert sorted(order) == list(range(n))
    assert max(map(len, batches)) - min(map(len, batches)) <= 1
    for width in {1, batch_size, max(1, n // 3)}:
        held = np.convolve(labels[order], np.ones(width), "valid")
        assert held.max() - held.min() <= 1


@given(st.integers(40, 300), st.integers(1, 20), st.integers(1, 8), st.integers(0, 2))
def test_every_batch_holds_the_positives_that_were_asked_for(n, positives, least, epoch):
    labels = labels_of(n, positives)
    sampler = PositiveSampler(labels, 16, positives=least)
    sampler.set_epoch(epoch)
    batches = list(sampler)
    assert all(labels[batch].sum() >= least for batch in batches)
    times = np.bincount(np.concatenate(batches), minlength=n)
    assert set(times[labels == 0]) <= {1}
    assert np.ptp(times[labels == 1]) <= 1
    assert times.min() == 1


def test_a_share_is_met_and_a_larger_one_is_left_alone():
    rare = PositiveSampler(labels_of(1000, 10), 32, share=0.1)
    assert rare.share == pytest.approx(0.1, abs=0.001)
    assert PositiveSampler(labels_of(1000, 300), 32, share=0.1).share == 0.3


def test_epochs_differ_and_come_again():
    sampler = PositiveSampler(labels_of(100, 20), 10, seed=3)
    first, second = list(sampler), list(sampler)
    assert first != second
    again = PositiveSampler(labels_of(100, 20), 10, seed=3)
    again.set_epoch(1)
    assert list(again) == second
    assert list(PositiveSampler(labels_of(100, 20), 10, seed=4)) != first


@pytest.mark.parametrize("n", [97, 100, 23])
def test_processes_share_the_rows_in_equally_many_batches(n):
    parts = [PositiveSampler(labels_of(n, 10), 8, rank=rank, world_size=3) for rank in range(3)]
    batches = [list(part) for part in parts]
    assert len({len(part) for part in batches}) == 1
    assert sorted(np.concatenate([row for part in batches for row in part])) == list(range(n))


def test_the_process_is_that_of_torch_distributed(monkeypatch):
    labels = labels_of(40, 8)
    for name, value in (("is_initialized", True), ("get_rank", 1), ("get_world_size", 2)):
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value)
    assert list(PositiveSampler(labels, 8)) == list(PositiveSampler(labels, 8, rank=1, world_size=2))


def test_weights_are_met_in_the_mean_and_zero_is_never_visited():
    labels, weights = labels_of(60, 20), np.tile([0.0, 1.0, 2.0], 20)
    sampler = PositiveSampler(labels, 10, weights=weights)
    visits = np.bincount(np.concatenate([row for _ in range(200) for row in sampler]), minlength=60)
    assert visits[weights == 0].sum() == 0
    assert visits.sum() == 200 * 60
    share = weights[labels == 1].sum() / weights.sum()
    assert sampler.share == pytest.approx(share, abs=0.01)
    np.testing.assert_allclose(visits[weights == 2] / 200, 2.0, atol=0.15)
    np.testing.assert_allclose(visits[weights == 1] / 200, 1.0, atol=0.15)


@pytest.mark.parametrize("scale", [1e308, 1e-308, 5e-324])
def test_only_the_ratios_of_weights_matter(scale):
    labels = labels_of(100, 20)
    plain = PositiveSampler(labels, 10)
    scaled = PositiveSampler(labels, 10, weights=np.full(100, scale))
    assert list(scaled) == list(plain)
    of_one_class = PositiveSampler(labels, 10, weights=np.where(labels, scale, 1.0))
    assert all(batch for batch in of_one_class)


def test_copies_of_a_row_are_far_apart():
    sampler = PositiveSampler(labels_of(1000, 10), 50, positives=10)
    labels = labels_of(1000, 10)
    for batch in sampler:
        rows = [row for row in batch if labels[row]]
        assert len(set(rows)) >= len(rows) - 3


def test_a_loader_takes_it():
    labels = torch.tensor(labels_of(64, 8))
    loader = DataLoader(
        TensorDataset(torch.arange(64), labels), batch_sampler=PositiveSampler(labels, 16), num_workers=0
    )
    assert [int(y.sum()) for _, y in loader] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"labels": [0, 2]}, "labels must be a vector of 0 and 1"),
        ({"labels": [[0], [1]]}, "labels must be a vector of 0 and 1"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1 on, got 0"),
        ({"batch_size": 2.5}, "batch_size must be a whole number from 1 on, got 2.5"),
        ({"seed": None}, "seed must be a whole number from 0 on, got None"),
        ({"positives": 1.5}, "positives must be a whole number between 0 and batch_size - 1 = 3, got 1.5"),
        ({"positives": 1, "share": 0.1}, "not both"),
        ({"positives": 4}, "positives must be a whole number between 0 and batch_size - 1 = 3, got 4"),
        ({"share": 1.0}, "share must be"),
        ({"labels": [0, 0], "positives": 1}, "hold no positive"),
        ({"weights": [1.0]}, "weights must be 4 numbers"),
        ({"weights": [1.0, -1.0, 1.0, 1.0]}, "weights must be 4 numbers"),
        ({"rank": 2, "world_size": 2}, "rank must be between 0 and world_size - 1 = 1, got 2"),
        ({"batch_size": 1, "rank": 0, "world_size": 3}, "4 rows are too few for 6 batches"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_bad_arguments_raise_a_clear_error(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        PositiveSampler(**{"labels": [0, 1, 0, 1], "batch_size": 4, **settings})
