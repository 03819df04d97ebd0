"""Classes, one of which is right in each row, and masks."""

import re

import numpy as np
import pytest
import torch

import metricfit as mf
from batches import gradient
from metricfit.loss.classes import margins, one_against_rest

LOSSES = {"game": mf.MetricLoss, "soft": mf.SoftMetricLoss}


def some_classes(n: int, classes: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = 0.3 * torch.randn(n, classes, generator=generator, dtype=torch.float64)
    targets = torch.randint(0, classes, (n,), generator=generator)
    return logits.requires_grad_(), targets


def one_hot(targets: torch.Tensor, classes: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(targets, classes)


def test_a_column_of_the_soft_loss_is_the_logit_of_the_softmax():
    logits, targets = some_classes(6, 4)
    columns = one_against_rest(5 * logits, targets, None).logits
    torch.testing.assert_close(columns.sigmoid(), torch.softmax(5 * logits, 1))


def test_a_column_of_the_game_is_the_margin_and_the_decision_at_0_is_argmax():
    logits, _ = some_classes(50, 4)
    columns = margins(logits)
    assert torch.equal((columns > 0).sum(1), torch.ones(50, dtype=torch.long))
    assert torch.equal(columns.argmax(1), logits.argmax(1))
    for row, column in zip(logits.detach().numpy(), columns.detach().numpy(), strict=True):
        expected = [row[c] - np.delete(row, c).max() for c in range(4)]
        np.testing.assert_allclose(column, expected)


@pytest.mark.parametrize("size", [1000.0, 1e30])
def test_columns_of_huge_logits_are_finite_and_have_finite_gradients(size):
    logits = torch.tensor([[size, 0.0, -size], [0.0, 0.0, 0.0]], requires_grad=True)
    columns = one_against_rest(logits, torch.tensor([0, 1]), None).logits
    assert columns.isfinite().all()
    assert gradient(columns.sum(), logits).isfinite().all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_macro_loss_is_that_of_one_column_per_class(loss, reduction):
    logits, targets = some_classes(12, 3)
    criterion = LOSSES[loss]("f1", reduction=reduction)
    columns = margins(logits) if loss == "game" else one_against_rest(logits, targets, None).logits
    expected = criterion(columns, one_hot(targets, 3))
    torch.testing.assert_close(criterion(logits, targets), expected)
    torch.testing.assert_close(criterion(logits, targets[:, None]), expected)
    weights = torch.randn(expected.shape, dtype=expected.dtype)
    torch.testing.assert_close(
        gradient((criterion(logits, targets) * weights).sum(), logits),
        gradient((expected * weights).sum(), logits),
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_the_weighted_loss_weighs_classes_by_their_rows(loss):
    logits, targets = some_classes(12, 3)
    each = LOSSES[loss]("f1", reduction="none")(logits, targets).flatten()
    share = one_hot(targets, 3).double().mean(0)
    for criterion in (LOSSES[loss]("f1", average="weighted"), LOSSES[loss]("weighted f1")):
        torch.testing.assert_close(criterion(logits, targets), each @ share)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_class_can_be_chosen(loss):
    logits, targets = some_classes(12, 3)
    each = LOSSES[loss]("f1", reduction="none")(logits, targets).flatten()
    for number in range(3):
        criterion = LOSSES[loss]("f1", average=number)
        torch.testing.assert_close(criterion(logits, targets), each[number])


def test_groups_are_weighted_by_their_positives():
    logits, targets = some_classes(20, 3)
    each = mf.MetricLoss("f1", group_size=8, reduction="none")(logits, targets)
    counts = torch.stack([part.sum(0) for part in one_hot(targets, 3).split([7, 7, 6])]).double()
    weighted = mf.MetricLoss("f1", group_size=8, average="weighted")
    torch.testing.assert_close(weighted(logits, targets), (each * counts).sum() / 20)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("average", ["macro", "weighted", 1])
def test_ignored_rows_take_no_part_even_if_they_are_no_numbers(loss, average):
    logits, targets = some_classes(12, 3)
    marked, broken = targets.clone(), logits.detach().clone()
    marked[[2, 7]] = -100
    broken[2] = float("nan")
    broken.requires_grad_()
    kept = marked != -100
    criterion = LOSSES[loss]("f1", ignore_index=-100, average=average)
    plain = LOSSES[loss]("f1", average=average)(logits[kept], targets[kept])
    value = criterion(broken, marked)
    torch.testing.assert_close(value, plain)
    slope = gradient(value, broken)
    assert not slope[~kept].any()
    assert slope.isfinite().all()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gradient_is_that_of_finite_differences(loss):
    logits, targets = some_classes(7, 3, seed=3)
    criterion = LOSSES[loss]("f1", **({"solver": "exact-lp"} if loss == "game" else {}))
    torch.autograd.gradcheck(lambda x: criterion(x, targets).double(), logits, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("average", ["macro", "weighted", 2])
def test_the_tools_of_pytorch_work(loss, average):
    logits, targets = some_classes(12, 3)
    criterion = LOSSES[loss]("f1", average=average)
    value, slope = criterion(logits, targets), gradient(criterion(logits, targets), logits)
    compiled = torch.compile(criterion, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(logits, targets), value)
    torch.testing.assert_close(gradient(compiled(logits, targets), logits), slope)
    plain = logits.detach()
    torch.testing.assert_close(torch.func.grad(criterion)(plain, targets), slope)
    both = torch.func.vmap(torch.func.grad(criterion), in_dims=(0, None))(
        torch.stack([plain, plain]), targets
    )
    torch.testing.assert_close(both, torch.stack([slope, slope]))
    exported = torch.export.export(criterion, (plain, targets)).module()
    torch.testing.assert_close(exported(plain, targets), value)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_function_is_the_module(loss):
    function = {"game": mf.functional.metric_loss, "soft": mf.functional.soft_metric_loss}[loss]
    logits, targets = some_classes(12, 3)
    for average in ("macro", "weighted", 0):
        expected = LOSSES[loss]("f1", average=average)(logits, targets)
        torch.testing.assert_close(function(logits, targets, "f1", average=average), expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_training_lowers_the_loss(loss):
    logits, targets = some_classes(60, 4)
    logits = logits.detach().requires_grad_()
    criterion, optimizer = LOSSES[loss]("f1"), torch.optim.Adam([logits], lr=0.1)
    for _ in range(40):
        optimizer.zero_grad()
        criterion(logits, targets).backward()
        optimizer.step()
    assert torch.equal(logits.argmax(1), targets)


@pytest.mark.parametrize("loss", LOSSES)
def test_bad_classes_are_refused_with_a_message(loss):
    logits, targets = some_classes(4, 3)
    cases = [
        (logits, torch.tensor([0, 1, 2, 3]), ValueError, "must be classes from 0 to 2, but one is 3"),
        (
            logits,
            torch.tensor([0, 1, 2, -1]),
            ValueError,
            "but one is -1; leave such entries out by ignore_index=-1",
        ),
        (logits, targets.double(), TypeError, "must be integers, not torch.float64"),
        (logits[:, :2], targets % 2, ValueError, "pass the difference logits[:, 1] - logits[:, 0]"),
    ]
    for given, wanted, error, message in cases:
        with pytest.raises(error, match=re.escape(message)):
            LOSSES[loss]("f1")(given, wanted)
    with pytest.raises(ValueError, match="average=3 is the index of a class"):
        LOSSES[loss]("f1", average=3)(logits, targets)
    with pytest.raises(ValueError, match="function of accuracy"):
        LOSSES[loss](mf.f1.averaged("micro"))(logits, targets)


@pytest.mark.parametrize("loss", LOSSES)
def test_two_columns_are_two_classes_if_the_average_is_named(loss):
    logits, targets = some_classes(8, 2)
    difference = logits[:, 1] - logits[:, 0]
    expected = LOSSES[loss]("f1")(difference, targets)
    torch.testing.assert_close(LOSSES[loss]("f1", average=1)(logits, targets), expected)
    macro = (expected + LOSSES[loss]("f1")(-difference, 1 - targets)) / 2
    torch.testing.assert_close(LOSSES[loss](mf.f1.macro())(logits, targets), macro)


def test_constraints_of_classes_follow_argmax():
    logits, targets = some_classes(30, 3)
    loss = mf.SoftMetricLoss(mf.recall_at_precision(0.5), constraints=mf.Running(labels=3))
    loss(logits, targets)
    chosen = one_hot(logits.argmax(1), 3)
    torch.testing.assert_close(loss.running.counts[0], (chosen * one_hot(targets, 3)).sum(0).float())


def some_masks(size: int, classes: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, classes, size, size, generator=generator, dtype=torch.float64)
    return logits.requires_grad_(), torch.randint(0, classes, (2, size, size), generator=generator)


def test_every_image_and_class_is_a_game():
    logits, targets = some_masks(5)
    masks = one_hot(targets, 3).movedim(-1, 1)
    losses = mf.MetricLoss("f1", reduction="none")(logits, masks)
    assert losses.shape == (2, 3)
    for image in range(2):
        for label in range(3):
            flat = logits[image, label].flatten(), masks[image, label].flatten()
            alone = mf.MetricLoss("f1", group_size=None)(*flat)
            torch.testing.assert_close(losses[image, label], alone)
    torch.testing.assert_close(mf.MetricLoss("f1")(logits, masks), losses.mean())


def test_masks_of_class_indices_are_centred():
    logits, targets = some_masks(5)
    rows = logits.movedim(1, -1).reshape(-1, 3)
    expected = mf.MetricLoss("f1", group_size=25)(rows, targets.flatten())
    torch.testing.assert_close(mf.MetricLoss("f1")(logits, targets), expected)


def test_pixels_are_drawn_in_training_and_fixed_in_evaluation():
    logits, targets = some_masks(32)
    loss = mf.MetricLoss("f1", group_size=16)
    assert loss(logits, targets) != loss(logits, targets)
    loss.eval()
    value = loss(logits, targets)
    assert value == loss(logits, targets)
    moved = (gradient(value, logits) != 0).any(1).sum((1, 2))
    assert (moved <= 16).all()
    assert (moved > 0).all()


def test_the_gradient_does_not_shrink_with_the_number_of_pixels():
    sizes = []
    for size in (8, 64):
        logits, targets = some_masks(size)
        slope = gradient(mf.MetricLoss("f1", group_size=64)(logits, targets), logits)
        sizes.append(slope.abs().sum().item())
    assert sizes[1] == pytest.approx(sizes[0], rel=0.5)


def test_ignored_pixels_leave_their_game():
    logits, targets = some_masks(5)
    targets[0] = 255
    loss = mf.MetricLoss("f1", ignore_index=255)
    value = loss(logits, targets)
    torch.testing.assert_close(value, mf.MetricLoss("f1")(logits[1:], targets[1:]))
    assert not gradient(value, logits)[0].any()


def test_masks_compile():
    logits, targets = some_masks(6)
    loss = mf.MetricLoss("f1", average="weighted").eval()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(logits, targets), loss(logits, targets))


@pytest.mark.parametrize(
    ("options", "targets", "message"),
    [
        ({"gather": True}, torch.zeros(2, 3, 4, 4), "gather=True plays over the rows"),
        ({}, torch.zeros(2, 1, 4, 4), "class indices of shape (images, height, width)"),
    ],
)
def test_bad_masks_are_refused_with_a_message(options, targets, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        mf.MetricLoss("f1", **options)(torch.zeros(2, 3, 4, 4), targets)


@pytest.mark.parametrize("loss", LOSSES)
def test_further_dimensions_are_those_of_cross_entropy(loss):
    """Sequences and volumes: (n, classes, ...) with indices of classes of shape (n, ...)."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, 12, generator=generator, dtype=torch.float64)
    targets = torch.randint(0, 3, (2, 12), generator=generator)
    criterion = LOSSES[loss]("f1")
    torch.nn.functional.cross_entropy(logits, targets)
    expected = criterion(logits.reshape(2, 3, 3, 4), targets.reshape(2, 3, 4))
    torch.testing.assert_close(criterion(logits, targets), expected)
    volume = logits.reshape(2, 3, 3, 2, 2), targets.reshape(2, 3, 2, 2)
    torch.testing.assert_close(criterion(*volume), expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_masks_of_one_class_may_lack_its_dimension(loss):
    logits = torch.randn(2, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    masks = torch.randint(0, 2, (2, 6, 6), generator=torch.Generator().manual_seed(0))
    criterion = LOSSES[loss]("f1")
    assert criterion(logits, masks) == criterion(logits, masks.unsqueeze(1))


@pytest.mark.parametrize("loss", LOSSES)
def test_anything_but_tensors_is_refused_with_a_message(loss):
    with pytest.raises(TypeError, match="logits must be a tensor of PyTorch, not list"):
        LOSSES[loss]("f1")([0.5, -0.5], torch.tensor([1, 0]))
    with pytest.raises(TypeError, match="targets must be a tensor of PyTorch, not ndarray"):
        LOSSES[loss]("f1")(torch.zeros(2), np.zeros(2))
