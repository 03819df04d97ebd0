"""How networks are trained: the paper's way, and the one we recommend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from metricfit.experiments.recipes import RECIPES

__all__ = ["PROTOCOLS", "Protocol"]


@dataclass(frozen=True)
class Protocol:
    """The settings of a training, but for the loss.

    Attributes
    ----------
    rate, game_rate : float
        The learning rate of means over a batch, such as cross-entropy, and of the losses that play a game.
    l2 : tuple of float
        The weights of the sum of squared parameters to choose from, on the validation part.
    patience : int, optional
        How many epochs without a better validation score end a training; None trains to the end.
    scale, group_size
        As for :class:`metricfit.MetricLoss`; None stands for the library's default.
    glorot : bool
        Whether weights start as Glorot and Bengio draw them, with biases of 0; otherwise as PyTorch does.
    """

    name: str
    optimizer: Literal["sgd", "adam"]
    rate: float
    game_rate: float
    batch: int
    epochs: int
    l2: tuple[float, ...]
    patience: int | None
    scale: float | Literal["batch"] | None
    group_size: int | Literal["auto"] | None
    glorot: bool

    def rate_of(self, recipe: str) -> float:
        """Return the learning rate for a recipe.

        Examples
        --------
        >>> PROTOCOLS["paper"].rate_of("cross-entropy"), PROTOCOLS["paper"].rate_of("metricfit")
        (0.01, 0.003)
        """
        return self.game_rate if RECIPES[recipe].game else self.rate


# The paper's loss is the sum over the batch, which scale="batch" is; its learning rate is meant for that. Its
# network starts with Flux's weights, which are Glorot's.
PAPER = Protocol(
    name="paper",
    optimizer="sgd",
    rate=0.01,
    game_rate=0.003,
    batch=25,
    epochs=100,
    l2=(0.0, 1e-3, 1e-2, 1e-1),
    patience=None,
    scale="batch",
    group_size=None,
    glorot=True,
)

# The batches, steps and patience of metricfit.sklearn.MetricClassifier; not its averages and its cut.
RECOMMENDED = Protocol(
    name="recommended",
    optimizer="adam",
    rate=1e-3,
    game_rate=1e-3,
    batch=64,
    epochs=100,
    l2=(0.0,),
    patience=15,
    scale=None,
    group_size="auto",
    glorot=False,
)

# A control: does it matter that games of 32 hold few positives, where these are rare?
LARGE_GAMES = replace(RECOMMENDED, name="large-games", batch=256, group_size=None, epochs=200, patience=40)

# For the sets of images, on a GPU: few steps, each of many rows.
IMAGES = replace(RECOMMENDED, name="images", batch=256, epochs=10, patience=None)

PROTOCOLS = {protocol.name: protocol for protocol in (PAPER, RECOMMENDED, LARGE_GAMES, IMAGES)}
"""By name."""
