"""Other ways to train under a constraint, for the comparison of operating points.

Both are modules that take logits and labels, as the losses do, and move multipliers in the forward pass.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

import metricfit as mf
from metricfit.metrics import Constraint

__all__ = ["PEERS", "CooperLagrangian", "ProxyLagrangian"]

SMALLEST_WEIGHT = 1e-3
"""As in TensorFlow Constrained Optimization, where the sum of the weights is 1."""


class ProxyLagrangian(nn.Module):
    """The proxy-Lagrangian of TensorFlow Constrained Optimization, after the papers.

    Cotter, Jiang and Sridharan, "Two-player games for efficient non-convex constrained optimization", ALT
    2019 (algorithm 2); Cotter et al., "Optimization with non-differentiable constraints", JMLR 2019. The
    weights of the objective and of the constraint are the stationary distribution of a stochastic matrix,
    which takes multiplicative steps of swap regret with the constraint as it is. The model descends on a
    surrogate, here cross-entropy, with these weights.

    Rates are linear in the counts. A floor tau of the precision is ``tau * fp - (1 - tau) * tp <= 0``, for
    which the most recall is asked for; a floor of the recall is ``fn - (1 - tau) * (tp + fn) <= 0``, for
    which the fewest false positives are.
    """

    def __init__(self, metric: mf.Metric, rate: float = 1.0) -> None:
        super().__init__()
        (bound,) = metric.constraints
        if bound.metric not in (mf.precision, mf.recall) or bound.sense != ">=":
            raise ValueError(f"floors of precision and recall are compared, not {bound}")
        self.bound, self.rate = bound, rate
        small = SMALLEST_WEIGHT / 2
        columns = torch.tensor([1 - small, small], dtype=torch.float64).log()
        self.register_buffer("logarithms", columns.unsqueeze(1).repeat(1, 2))
        self.logarithms: Tensor

    def weights(self) -> Tensor:
        """Return the stationary distribution of the two by two matrix, whose columns add up to 1."""
        matrix = self.logarithms.exp()
        both = torch.stack((matrix[0, 1], matrix[1, 0]))
        return both / both.sum()

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        positives, weights = labels.sum().clamp(min=1), self.weights()
        wrong = ((logits <= 0) * labels).sum(), ((logits > 0) * (1 - labels)).sum()
        proxies = (softplus(-logits) * labels).sum(), (softplus(logits) * (1 - labels)).sum()
        objective = proxies[0] / positives
        if self.bound.metric == mf.recall:
            objective = proxies[1] / (1 - labels).sum().clamp(min=1)
        with torch.no_grad():
            missed = rate_of(self.bound, *wrong, positives)
            self.logarithms[1] += self.rate * missed.double() * weights
            self.logarithms -= self.logarithms.logsumexp(0)
            self.logarithms.clamp_(min=torch.tensor(SMALLEST_WEIGHT / 2).log().item())
        proxy = rate_of(self.bound, *proxies, positives)
        return weights[0].float() * objective + weights[1].float() * proxy


def rate_of(bound: Constraint, fn: Tensor, fp: Tensor, positives: Tensor) -> Tensor:
    """Return the constraint as a rate per positive, linear in the counts; met where it is not above 0."""
    rest = (1 - bound.threshold) * (fn / positives - 1)
    if bound.metric == mf.recall:
        return fn / positives - (1 - bound.threshold)
    return rest + bound.threshold * fp / positives


class CooperLagrangian(nn.Module):
    """The Lagrangian of Cooper, with soft counts as surrogate and nuPI for the multiplier.

    Gallego-Posada et al., "Cooper: a library for constrained optimization in deep learning", 2025; Sohrabi et
    al., "On PI controllers for updating Lagrange multipliers in constrained optimization", ICML 2024. The
    surrogate and the temperature are those of ``SoftMetricLoss``; the multiplier follows the decisions of the
    batch.
    """

    def __init__(self, metric: mf.Metric, rate: float = 0.1, proportional: float = 10.0) -> None:
        super().__init__()
        import cooper

        self.cooper = cooper
        (self.bound,) = metric.constraints
        self.objective = mf.SoftMetricLoss(metric.formula, temperature=0.5)
        self.surrogate = mf.SoftMetricLoss(self.bound.metric, temperature=0.5)
        self.multiplier = cooper.multipliers.DenseMultiplier(init=torch.ones(1))
        self.constraint = cooper.Constraint(
            constraint_type=cooper.ConstraintType.INEQUALITY, multiplier=self.multiplier
        )
        self.dual = cooper.optim.nuPI(
            self.multiplier.parameters(), lr=rate, Kp=proportional, ema_nu=0.9, maximize=True
        )

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        loss = self.objective(logits, labels)
        soft = self.bound.threshold - (1 - self.surrogate(logits, labels))
        with torch.no_grad():
            decided = torch.where(logits > 0, 40.0, -40.0)
            hard = self.bound.threshold - (1 - self.surrogate(decided, labels))
        state = self.cooper.CMPState(
            loss=loss,
            observed_constraints={
                self.constraint: self.cooper.ConstraintState(
                    violation=soft.unsqueeze(0), strict_violation=hard.unsqueeze(0)
                )
            },
        )
        primal = state.compute_primal_lagrangian().lagrangian
        self.dual.zero_grad()
        state.compute_dual_lagrangian().backward()
        self.dual.step()
        self.multiplier.post_step_()
        return primal


PEERS: dict[str, Callable[[mf.Metric], nn.Module]] = {"TFCO's proxy-Lagrangian": ProxyLagrangian}
if importlib.util.find_spec("cooper") is not None:
    PEERS["Cooper"] = CooperLagrangian
