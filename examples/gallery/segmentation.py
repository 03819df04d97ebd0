"""
Masks: training for Dice
========================

A small network finds discs among squares in noisy pictures. It is trained with a hand-written soft Dice loss,
with ``SoftMetricLoss`` and with ``MetricLoss``, all for F1, which is Dice.
"""

import importlib.util
import os

import matplotlib.pyplot as plt
import torch
from torch import nn

import metricfit as mf

SHORT = "METRICFIT_SHORT" in os.environ
SIDE, STEPS = 32, 6 if SHORT else 150


def pictures(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return noisy pictures of a disc and two squares, and the masks of the discs."""
    draw = torch.Generator().manual_seed(seed)
    rows, columns = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    images, masks = torch.zeros(count, 1, SIDE, SIDE), torch.zeros(count, 1, SIDE, SIDE)
    for image, mask in zip(images, masks, strict=True):
        places = torch.rand(3, 2, generator=draw) * (SIDE - 8) + 4
        for row, column in places[:2]:
            image[0, (rows - row).abs().maximum((columns - column).abs()) < 3] = 1.0
        mask[0, (rows - places[2, 0]) ** 2 + (columns - places[2, 1]) ** 2 < 3.4**2] = 1.0
    images = torch.maximum(images, masks)
    return images + 0.5 * torch.randn(images.shape, generator=draw), masks


class SmallUNet(nn.Module):
    """One level down and up again, with a connection across."""

    def __init__(self) -> None:
        super().__init__()
        self.fine = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU()
        )
        self.coarse = nn.Sequential(
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(24, 12, 3, padding=1),
            nn.ReLU(),
            nn.Upsample(scale_factor=2),
        )
        self.last = nn.Conv2d(24, 1, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        fine = self.fine(images)
        return self.last(torch.cat((fine, self.coarse(fine)), dim=1))


# %%
# The losses. The first one is common in many projects. ``MetricLoss`` plays one game per image, with 256
# of its pixels, which are drawn anew at each step. If segmentation-models-pytorch is installed, its Dice loss
# is shown as well.


def dice_by_hand(logits: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    probabilities = torch.sigmoid(logits)
    overlap = (probabilities * masks).sum()
    return 1 - 2 * overlap / (probabilities + masks).sum().clamp(min=1e-6)


LOSSES = {
    "Dice by hand": dice_by_hand,
    "SoftMetricLoss": mf.SoftMetricLoss(mf.f1),
    "MetricLoss": mf.MetricLoss(mf.f1, tol=1e-2, group_size=64 if SHORT else "auto"),
}
if importlib.util.find_spec("segmentation_models_pytorch"):
    from segmentation_models_pytorch.losses import DiceLoss

    LOSSES["smp's Dice"] = DiceLoss(mode="binary")
images, masks = pictures(16 if SHORT else 128, seed=0)
unseen, truth = pictures(16 if SHORT else 64, seed=1)


def fit(criterion) -> torch.Tensor:
    torch.manual_seed(0)
    model = SmallUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(STEPS):
        rows = torch.arange(16) + 16 * step
        optimizer.zero_grad()
        criterion(model(images[rows % len(images)]), masks[rows % len(images)]).backward()
        optimizer.step()
    with torch.no_grad():
        return model(unseen) > 0


found = {name: fit(criterion) for name, criterion in LOSSES.items()}
scores = {name: mf.f1.score(truth.flatten().numpy(), mask.flatten().numpy()) for name, mask in found.items()}
for name, score in scores.items():
    print(f"{name}: Dice {score:.3f} on unseen pictures")

# %%
# The pictures, the true masks and the predictions.

columns = {"picture": unseen, "truth": truth, **found}
figure, axes = plt.subplots(3, len(columns), figsize=(8, 5), layout="constrained")
for row, line in enumerate(axes):
    for axis, (name, shown) in zip(line, columns.items(), strict=True):
        axis.imshow(shown[row, 0].float(), cmap="gray")
        axis.set_axis_off()
        if row == 0:
            axis.set_title(f"{name}\n{scores[name]:.2f}" if name in scores else name, fontsize=9)
plt.show()
