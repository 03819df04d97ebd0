"""What a batch may look like, how it is split into games, and what is said about one that will not do."""

import re

import numpy as np
import pytest
import torch

import metricfit as mf
from batches import a_batch, gradient
from metricfit.loss.arithmetic import losses_and_gradients, prepare

NAN = float("nan")


def f1_loss(**options):
    return mf.MetricLoss(mf.f1, **{"solver": "exact-lp", **options})


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.precision_at_recall(0.6)], ids=lambda m: m.name)
def test_gradient_has_the_dtype_of_the_logits(metric, dtype):
    logits, targets = a_batch(8, dtype=dtype, seed=1)
    loss = mf.MetricLoss(metric, solver="exact-lp")
    value = loss(logits, targets)
    slope = gradient(value, logits)
    exact = logits.detach().double().requires_grad_()
    assert slope.dtype == dtype
    assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert value.shape == ()
    torch.testing.assert_close(slope, gradient(loss(exact, targets), exact).to(dtype))


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int64, torch.float32, torch.bfloat16], ids=str
)
def test_targets_may_be_of_any_real_dtype(dtype):
    logits, targets = a_batch(6, seed=2)
    assert f1_loss()(logits, targets.to(dtype)) == f1_loss()(logits, targets)


def test_a_column_is_a_vector():
    logits, targets = a_batch(6, seed=3)
    expected = f1_loss()(logits, targets)
    for shapes in [((6, 1), (6, 1)), ((6, 1), (6,)), ((6,), (6, 1))]:
        assert f1_loss()(logits.reshape(shapes[0]), targets.reshape(shapes[1])) == expected


def test_strided_tensors_are_what_they_show():
    logits, targets = a_batch(12, 3, seed=4)
    loss = f1_loss()
    assert loss(logits.t()[1, ::2], targets.t()[1, ::2]) == loss(
        logits[::2, 1].clone(), targets[::2, 1].clone()
    )


def test_types_and_strides_make_no_difference():
    logits, targets = a_batch(8, 4, seed=4)
    for x, y in [(logits, targets), (logits.t(), targets.t()), (logits[:, 1], targets[:, 2].bool())]:
        x = x.detach().to(torch.float16)
        expected = f1_loss()(x.contiguous().double(), y.contiguous())
        for dtype in (torch.float16, torch.float32, torch.float64):
            torch.testing.assert_close(f1_loss()(x.to(dtype), y).double(), expected, atol=1e-6, rtol=0)
            torch.testing.assert_close(
                f1_loss(ignore_index=-1)(x.to(dtype), y).double(), expected, atol=1e-6, rtol=0
            )


def test_each_label_is_a_game():
    logits, targets = a_batch(6, 3, seed=5)
    apart = torch.stack([f1_loss()(logits[:, label], targets[:, label]) for label in range(3)])
    together = f1_loss(reduction="none")(logits, targets)
    assert together.shape == (1, 3)
    torch.testing.assert_close(together[0], apart)
    torch.testing.assert_close(f1_loss()(logits, targets), apart.mean())
    torch.testing.assert_close(f1_loss(reduction="sum")(logits, targets), apart.sum())
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    torch.testing.assert_close(gradient(together @ weights, logits), gradient(apart @ weights, logits))


@pytest.mark.parametrize(("n", "sizes"), [(12, [4, 4, 4]), (11, [4, 4, 3]), (10, [4, 3, 3]), (9, [3, 3, 3])])
def test_groups_are_consecutive_and_of_nearly_equal_size(n, sizes):
    logits, targets = a_batch(n, 2, seed=6)
    parts = zip(logits.split(sizes), targets.split(sizes), strict=True)
    apart = torch.cat([f1_loss(reduction="none")(*part) for part in parts])
    grouped = f1_loss(group_size=4, reduction="none")(logits, targets)
    torch.testing.assert_close(grouped, apart)
    torch.testing.assert_close(f1_loss(group_size=4)(logits, targets), apart.mean())
    weights = torch.arange(6, dtype=torch.float64).reshape(3, 2)
    torch.testing.assert_close(
        gradient((grouped * weights).sum(), logits), gradient((apart * weights).sum(), logits)
    )


def test_groups_of_32_are_the_default():
    logits, targets = a_batch(66, seed=6)
    assert f1_loss(reduction="none")(logits, targets).shape == (3,)
    assert f1_loss(reduction="none", group_size=None).settings.group_count(66) == 1
    assert f1_loss(reduction="none", gather=True).settings.group_count(66) == 1


def test_ignored_entries_leave_their_game():
    logits, targets = a_batch(8, 2, seed=7)
    targets[2, 0] = targets[5, 1] = -100
    loss = f1_loss(ignore_index=-100, reduction="none")(logits, targets)
    apart = [
        f1_loss()(logits[kept, label], targets[kept, label])
        for label in range(2)
        if (kept := targets[:, label] != -100).any()
    ]
    torch.testing.assert_close(loss[0], torch.stack(apart))
    slope = gradient(loss.sum(), logits)
    torch.testing.assert_close(slope, gradient(sum(apart), logits))
    assert slope[2, 0] == slope[5, 1] == 0


def test_logits_of_ignored_entries_do_not_matter():
    logits, targets = a_batch(6, seed=8)
    targets[3] = 9
    broken = logits.detach().clone()
    broken[3] = NAN
    assert f1_loss(ignore_index=9)(broken, targets) == f1_loss(ignore_index=9)(logits, targets)


def test_a_label_without_valid_entries_contributes_nothing():
    logits, targets = a_batch(6, 2, seed=9)
    targets[:, 1] = -1
    loss = f1_loss(ignore_index=-1)
    value = loss(logits, targets)
    torch.testing.assert_close(value, f1_loss()(logits[:, 0], targets[:, 0]))
    assert not gradient(value, logits)[:, 1].any()
    assert loss.last_solution.solutions[1] is None


def test_a_batch_without_valid_entries_is_worth_nothing():
    logits, _ = a_batch(4, seed=10)
    value = f1_loss(ignore_index=-1)(logits, torch.full((4,), -1))
    assert value == 0
    assert not gradient(value, logits).any()


def test_a_batch_of_one_item_or_one_class_works():
    for targets in ([1], [0], [1, 1, 1], [0, 0, 0]):
        logits, _ = a_batch(len(targets) + 1, seed=11)
        assert f1_loss()(logits[1:], torch.tensor(targets)).isfinite()


# Without positives, recall is 1 unless something is predicted positive, and that costs specificity.
TOO_MUCH = mf.precision.subject_to(mf.recall <= 0.5, mf.specificity >= 0.95)


def test_an_infeasible_batch_is_an_error():
    logits, _ = a_batch(3, seed=12)
    with pytest.raises(mf.InfeasibleConstraintsError, match=r"specificity >= 0\.95"):
        mf.MetricLoss(TOO_MUCH, solver="exact-lp")(logits, torch.tensor([0, 0, 0]))


def test_an_infeasible_game_is_skipped_on_request():
    logits, targets = a_batch(6, 2, seed=13)
    targets[:, 1] = 0
    loss = mf.MetricLoss(TOO_MUCH, solver="exact-lp", infeasible="skip")
    with pytest.warns(mf.SkippedGameWarning, match="left out"):
        value = loss(logits, targets)
    # A second warning would be an error.
    assert loss(logits, targets) == value
    torch.testing.assert_close(value, loss(logits[:, 0], targets[:, 0]))
    assert not gradient(value, logits)[:, 1].any()


def test_a_wide_gap_is_warned_about_once():
    logits, targets = a_batch(12, seed=14)
    loss = mf.MetricLoss(mf.mcc, solver="admm", tol=1e-15)
    with pytest.warns(mf.ConvergenceWarning, match="gap"):
        value = loss(logits, targets)
    # A second warning would be an error.
    assert loss(logits, targets) == value


BAD_BATCHES = {
    "nan": ([0.1, NAN], [0, 1], ValueError, "logits must be finite, but that of item 1"),
    "infinite": ([float("inf"), 0.0], [0, 1], ValueError, "logits must be finite, but that of item 0"),
    "both infinite": ([float("inf"), -float("inf")], [0, 1], ValueError, "logits must be finite"),
    "minus one": ([0.1, 0.2], [-1, 1], ValueError, "or leave such entries out by ignore_index=-1"),
    "soft": ([0.1, 0.2], [0.3, 1.0], ValueError, "targets must be 0 or 1, but one is 0.3"),
    "nan target": ([0.1, 0.2], [NAN, 1.0], ValueError, "but one is nan; where a label is missing, give -1"),
    "empty": ([], [], ValueError, "leave empty batches out"),
    "no labels": ([[], []], [[], []], ValueError, "2 items and 0 labels"),
    "lengths": ([0.1, 0.2], [1], ValueError, "shape (2,) and targets of shape (1,) do not match"),
    "scalar": (0.1, 1, ValueError, "height, width), not (); add the dimension"),
    "image": ([[[0.1]]], [[[1]]], ValueError, "by logits.flatten() and targets.flatten()"),
    "classes": ([[0.1, 0.2, 0.3]] * 2, [3, 0], ValueError, "classes from 0 to 2, but one is 3"),
    "two classes": ([[0.1, 0.2]] * 3, [1, 0, 1], ValueError, "logits[:, 1] - logits[:, 0]"),
    "transposed": ([[0.1, 0.2, 0.3]], [[1], [0], [1]], ValueError, "do not match"),
    "integers": ([1, 2], [0, 1], TypeError, "logits must be floating point numbers"),
    "complex": ([1.0, 2.0], [0j, 1j], TypeError, "targets must be bool, int or float"),
}


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_a_bad_batch_raises_a_clear_error(name):
    logits, targets, error, message = BAD_BATCHES[name]
    with pytest.raises(error, match=re.escape(message)):
        f1_loss()(torch.tensor(logits), torch.tensor(targets))


def test_arrays_raise_a_clear_error():
    for logits, targets, name in (
        (np.zeros(3), torch.zeros(3), "logits"),
        (torch.zeros(3), np.zeros(3), "targets"),
        (torch.zeros(3), [0, 1, 0], "targets"),
    ):
        with pytest.raises(TypeError, match=f"{name} must be a tensor of PyTorch, not .*torch.as_tensor"):
            f1_loss()(logits, targets)


def test_a_gap_within_a_thousandth_of_the_tolerance_is_not_warned_about(monkeypatch):
    logits, targets = a_batch(12, seed=14)
    gap = mf.MetricLoss(mf.mcc, solver="admm", tol=1.0)
    gap(logits, targets)
    reached = gap.last_solution.gap
    # Warnings are errors.
    mf.MetricLoss(mf.mcc, solver="admm", tol=reached * 0.9995)(logits, targets)
    with pytest.warns(mf.ConvergenceWarning, match="stopped with a gap of"):
        mf.MetricLoss(mf.mcc, solver="admm", tol=1e-15)(logits, targets)


def test_a_loss_below_what_the_gap_allows_is_not_accepted():
    games = prepare(np.zeros(2), np.array([1.0, 0.0]), np.array([[0, 1]]), 1.0, 10.0)
    for value, contradicts in ((1.0 + 5e-5, False), (1.1, True)):
        found = losses_and_gradients(games, np.ones(1), np.array([value]), np.array([1e-4]), np.zeros((1, 2)))
        assert np.isinf(found[2]) == contradicts


def test_the_ignored_index_is_named_when_targets_are_refused():
    with pytest.raises(ValueError, match="0 or 1, or ignore_index=-1, but one is 7"):
        f1_loss(ignore_index=-1)(torch.zeros(3), torch.tensor([-1, 7, 1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0}, "scale must be a positive number"),
        ({"scale": "n"}, "scale must be a positive number"),
        ({"scale": NAN}, "scale must be a positive number"),
        ({"solver": "magic"}, "unknown solver 'magic'"),
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"reduction": "max"}, 'reduction must be "mean", "sum" or "none"'),
        ({"group_size": 0}, "group_size must be a positive integer"),
        ({"group_size": 2.5}, "group_size must be a positive integer"),
        ({"ignore_index": 0.5}, "ignore_index must be an integer"),
        ({"ignore_index": 1}, "would drop a whole class"),
        ({"infeasible": "ignore"}, 'infeasible must be "error" or "skip"'),
        ({"gather": True, "group_size": 4, "reduction": "none"}, "gathered batch"),
    ],
)
def test_a_bad_setting_raises_a_clear_error(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        f1_loss(**options)


def test_an_unsupported_metric_is_refused():
    with pytest.raises(mf.UnsupportedMetricError, match="denominator"):
        mf.MetricLoss("tp/(tp + fp + fn)")
