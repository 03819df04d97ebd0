"""The loss of one game with scores of the number of positives, and its gradient in them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from metricfit.game import checked_size_scores, inclusion_in_order, make_game
from metricfit.loss.ceiling import ceiling
from metricfit.loss.settings import DEVICE, Settings
from metricfit.solving import ConvergenceWarning
from metricfit.solving.certifying import certified
from metricfit.solving.registry import resolve
from metricfit.solving.solution import gap_text, has_converged

__all__ = ["SizedLoss", "sized_loss"]


class SizedLoss(torch.autograd.Function):
    """The loss of one game with scores of sizes, and its gradient in both."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, size_scores: Tensor, truth: Tensor, settings: Settings) -> Tensor:
        """Solve the game on the host."""
        values, phi = (part.detach().double().cpu().numpy() for part in (logits, size_scores))
        positive = truth.cpu().numpy()
        n, factor = values.size, settings.factor(values.size)
        metric, name = settings.metric, resolve(settings.solver)
        game = make_game(metric, values * factor, positive, size_scores=checked_size_scores(phi, n))
        found, _, _ = certified(game, name, settings.tol, {})
        if not has_converged(found.gap, settings.tol):
            warnings.warn(
                f"solver {name!r} stopped with a gap of {gap_text(found.gap, settings.tol)}, more than "
                f"tol={settings.tol:g}; the gradients of such batches are approximate",
                ConvergenceWarning,
                stacklevel=2,
            )
        included, weights = np.empty(n), np.zeros(n + 1)
        inclusion_in_order(found.adversary.marginals, found.adversary.blocks, game.order, included)
        weights[found.adversary.sizes] = found.adversary.weights
        actual = int(positive.sum())
        loss = ceiling(metric, n, actual) - found.upper - factor * float(values[positive].sum()) - phi[actual]
        weights[actual] -= 1.0
        ctx.save_for_backward(
            torch.from_numpy(factor * (included - positive)).to(logits),
            torch.from_numpy(weights).to(size_scores),
        )
        return torch.tensor(max(loss, 0.0), dtype=_wide(logits.dtype), device=logits.device)

    @staticmethod
    def backward(ctx: Any, grad_loss: Tensor) -> tuple[Tensor | None, ...]:
        """Multiply with the slopes."""
        items, sizes = ctx.saved_tensors
        return grad_loss.to(items) * items, grad_loss.to(sizes) * sizes, None, None


def sized_loss(logits: Tensor, targets: Tensor, size_scores: Tensor, settings: Settings) -> Tensor:
    r"""Return the loss of a batch that is one game, with scores :math:`\varphi` of its number of positives.

    .. math:: \mathrm{metric}(y, y) - v(\psi, \varphi) - \langle y, \psi \rangle - \varphi_{|y|},
              \qquad \frac{\partial}{\partial \varphi_l} = s_l - [l = |y|]

    Examples
    --------
    >>> import metricfit as mf
    >>> phi = torch.zeros(4, requires_grad=True)
    >>> loss = sized_loss(torch.zeros(3), torch.tensor([1, 0, 0]), phi, Settings(mf.f1))
    >>> loss.backward()
    >>> abs(float(phi.grad.sum())) < 1e-6, float(phi.grad[1]) < 0
    (True, True)
    """
    n = logits.shape[0] if logits.dim() else 0
    if logits.shape not in ((n,), (n, 1)) or targets.numel() != n or not n:
        raise ValueError(
            f"size_scores need one game, with logits of shape (n,) and targets of 0 and 1, got shapes "
            f"{tuple(logits.shape)} and {tuple(targets.shape)}"
        )
    if settings.group_count(n) > 1 or settings.gather or settings.ignore_index is not None:
        raise ValueError(
            f"size_scores are for the whole batch, but the batch is split here; set group_size=None, "
            f"or at least {n}, and leave out gather and ignore_index"
        )
    if settings.solver == DEVICE or settings.constraints != "game":
        raise ValueError('size_scores need solver="auto" and constraints="game", the defaults')
    truth = targets.reshape(-1)
    if not bool(((truth == 0) | (truth == 1)).all()):
        raise ValueError("with size_scores, targets must be 0 or 1")
    apply: Any = SizedLoss.apply
    loss: Tensor = apply(logits.reshape(-1), size_scores, truth == 1, settings)
    return loss if settings.reduction != "none" else loss.reshape(1)


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32
