"""One trainer for stacked predictors: plain loss, an adversary, or a kernel penalty.

All models of a stack see the same rows in the same order and differ by their weight μ alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fairaudit._types import Array
from fairaudit.errors import FairAuditError
from fairaudit.remedy.attribute_residuals import Residuals
from fairaudit.remedy.dependence import Dependence
from fairaudit.remedy.networks import StackedMLP

__all__ = ["DivergedError", "Settings", "Task", "train"]

KERNEL_WEIGHT = 1.5  # of ρ² beside a loss of order one, so that μ between 0 and 1 spans the curve
_MOST_ROWS = 8192  # of one step with the kernel objective
_CHECKS = 40  # looks at the validation rows
_GRADIENT = 5.0
_SHARPNESS = 8.0  # of the logits, so that 1 − P(y) is nearly the share misclassified
_ENTROPY = 0.3  # share of the cross-entropy in the loss "error": keeps scores and gradients alive


class DivergedError(FairAuditError, ArithmeticError):
    """Training left the range of numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to train; see `fairaudit.remedy.estimators` for the meaning."""

    objective: str
    loss: str
    epochs: int
    steps: int
    batch_size: int
    learning_rate: float
    discriminator_learning_rate: float
    weight_decay: float
    device: str
    seed: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Task:
    """Rows to learn from, as arrays.

    Attributes
    ----------
    x, y : features; outcome (class codes, or standardized numbers)
    classes : number of classes, 0 for a regression
    a : encoded attributes, for the adversary
    draw : number of a copy → encoded attributes of that copy
    residuals : for the kernel penalty and for the criterion
    train, valid : rows
    offset : added to the output
    weights : of the rows in the loss, with mean 1; None if they count alike
    """

    x: Array
    y: Array
    classes: int
    a: Array
    draw: Callable[[int], Array]
    residuals: Residuals
    train: Any
    valid: Any
    offset: Array
    weights: Array | None = None

    @property
    def outputs(self) -> int:
        return 1 if self.classes <= 2 else self.classes


@dataclass(slots=True)
class _Best:
    """Best weights of every model so far, by the criterion on validation rows."""

    value: Tensor
    state: list[Tensor]
    history: list[dict[str, Any]] = field(default_factory=list)


def train(
    network: nn.Module,
    task: Task,
    mus: Sequence[float],
    settings: Settings,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[nn.Module, list[dict[str, Any]]]:
    """Train all models of the stack, each with its μ; the weights of the best look are kept.

    The criterion is (1 − μ) loss + μ · KERNEL_WEIGHT · ρ² on the validation rows, ρ² counted from
    0. Without validation rows the last weights are kept. Ctrl-C keeps the best so far.
    """
    run = _Run(network, task, mus, settings)
    total = settings.steps if settings.objective == "kernel" else settings.epochs
    every = max(1, total // _CHECKS)
    advance = run.kernel_step if settings.objective == "kernel" else run.adversarial_epoch
    try:
        for number in range(total):
            advance(number, total)
            if (number + 1) % every == 0 or number + 1 == total:
                run.look(number + 1)
            if progress is not None:
                progress(number + 1, total)
    except KeyboardInterrupt:
        if not run.best.history:
            raise
    run.restore()
    return network, run.best.history


class _Run:
    def __init__(
        self, network: nn.Module, task: Task, mus: Sequence[float], settings: Settings
    ) -> None:
        self.network, self.task, self.settings = network, task, settings
        device = settings.device
        self.mu = torch.tensor(mus, dtype=torch.float32, device=device)
        self.x = _tensor(task.x, device)
        self.offset = _tensor(task.offset[:, None], device)
        kind = torch.long if task.classes > 2 else torch.float32
        self.y = torch.as_tensor(task.y, device=device).to(kind)
        self.weights = None if task.weights is None else _tensor(task.weights, device)
        self.train = torch.as_tensor(task.train, device=device)
        self.valid = torch.as_tensor(task.valid, device=device)
        self.penalty = Dependence(task.residuals.take(task.train), device)
        self.check = None
        if len(task.valid):
            self.check = Dependence(task.residuals.take(task.valid), device)
        self.optimizer = _adam(network, settings.learning_rate)
        self.random = torch.Generator().manual_seed(settings.seed)
        far = torch.full((len(mus),), float("inf"), device=device)
        self.best = _Best(far, [p.detach().clone() for p in network.parameters()])
        self.adversary: StackedMLP | None = None

    # -- the kernel penalty: full batches, no game

    def kernel_step(self, number: int, total: int) -> None:
        self._anneal(number, total)
        rows, places = self.train, None
        if len(rows) > _MOST_ROWS:
            places = torch.randperm(len(rows), generator=self.random)[:_MOST_ROWS]
            rows = rows[places]
        output = self._output(rows)
        loss = self._loss(output, rows)
        rho = self.penalty(self.predicted(output), places)
        loss = loss + self._decay()
        self._descend(((1 - self.mu) * loss + self.mu * KERNEL_WEIGHT * rho).sum())

    # -- the adversary: mini-batches, a fresh copy every epoch

    def adversarial_epoch(self, number: int, total: int) -> None:
        self._anneal(number, total)
        task, batch = self.task, self.settings.batch_size
        if self.adversary is None:
            self._make_adversary()
        assert self.adversary is not None  # noqa: S101  for mypy: made above
        copy = _tensor(task.draw(number), self.settings.device)
        order = self.train[torch.randperm(len(self.train), generator=self.random)]
        for rows in order.split(batch):
            if len(rows) < 2:
                continue
            output = self._output(rows)
            prediction = self.predicted(output)
            real, fake = self._triples(prediction, self.a[rows], copy[rows], rows)
            both = torch.cat([real.detach(), fake.detach()], dim=1)
            says = self.adversary(both)[:, :, 0]
            truth = torch.zeros_like(says)
            truth[:, : len(rows)] = 1.0
            self.discriminator_optimizer.zero_grad(set_to_none=True)
            F.binary_cross_entropy_with_logits(says, truth, reduction="none").mean(
                1
            ).sum().backward()
            self.discriminator_optimizer.step()
            for parameter in self.adversary.parameters():
                parameter.requires_grad_(False)
            says = self.adversary(torch.cat([real, fake], dim=1))[:, :, 0]
            fooled = F.binary_cross_entropy_with_logits(says, 1 - truth, reduction="none").mean(1)
            loss = self._loss(output, rows)
            self._descend(((1 - self.mu) * (loss + self._decay()) + self.mu * fooled).sum())
            for parameter in self.adversary.parameters():
                parameter.requires_grad_(True)

    def _make_adversary(self) -> None:
        task, settings = self.task, self.settings
        self.a = _tensor(task.a, settings.device)
        self.given = (
            F.one_hot(torch.as_tensor(task.y).long(), task.classes).float()
            if task.classes
            else _tensor(task.y[:, None], settings.device)
        )
        wide = task.outputs + self.a.shape[1] + self.given.shape[1]
        generator = torch.Generator().manual_seed(settings.seed + 1)
        self.adversary = StackedMLP(len(self.mu), (wide, 64, 64, 64, 1), generator)
        self.adversary.to(settings.device)
        self.discriminator_optimizer = _adam(self.adversary, settings.discriminator_learning_rate)

    def _triples(
        self, prediction: Tensor, real: Tensor, fake: Tensor, rows: Tensor
    ) -> tuple[Tensor, Tensor]:
        count = len(self.mu)
        given = self.given[rows].expand(count, -1, -1)
        return tuple(
            torch.cat([prediction, a.expand(count, -1, -1), given], dim=2) for a in (real, fake)
        )  # type: ignore[return-value]

    # -- what both share

    def _output(self, rows: Tensor) -> Tensor:
        return self.network(self.x[rows]) + self.offset[rows]  # type: ignore[no-any-return]

    def predicted(self, output: Tensor) -> Tensor:
        if self.task.classes == 0:
            return output
        return torch.sigmoid(output) if self.task.classes == 2 else torch.softmax(output, dim=2)

    def _loss(self, output: Tensor, rows: Tensor) -> Tensor:
        """Mean loss of every model."""
        y = self.y[rows].expand(len(self.mu), -1)
        every = self._row_loss(output, y)
        return (every if self.weights is None else every * self.weights[rows]).mean(1)

    def _row_loss(self, output: Tensor, y: Tensor) -> Tensor:
        if self.task.classes == 0:
            return (output[:, :, 0] - y).pow(2)
        entropy = self._cross_entropy(output, y)
        if self.settings.loss == "cross_entropy":
            return entropy
        missed = -torch.expm1(-self._cross_entropy(_SHARPNESS * output, y))  # 1 − P(y)
        return _ENTROPY * entropy + 2 * (1 - _ENTROPY) * missed

    def _cross_entropy(self, output: Tensor, y: Tensor) -> Tensor:
        """−log P(y) of every model and row."""
        if self.task.classes == 2:
            return F.binary_cross_entropy_with_logits(output[:, :, 0], y, reduction="none")
        return F.cross_entropy(output.transpose(1, 2), y, reduction="none")

    def _decay(self) -> Tensor:
        """Half the squared length of the weights, as part of the loss: (1 − μ) weighs it too.

        Beside a loss that counts little, a decay of its own would shrink predictions to a constant.
        """
        squares = [p.pow(2) for p in self.network.parameters()]
        if isinstance(self.network, StackedMLP):
            size = torch.stack([s.sum(dim=(1, 2)) for s in squares]).sum(dim=0)
        else:
            size = torch.stack([s.sum() for s in squares]).sum().expand(len(self.mu))
        return 0.5 * self.settings.weight_decay * size

    def _descend(self, objective: Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        objective.backward()  # type: ignore[no-untyped-call]
        self._clip()
        self.optimizer.step()

    def _clip(self) -> None:
        """Bound the gradient of every model by itself: models of a stack must not meet."""
        gradients = [p.grad for p in self.network.parameters() if p.grad is not None]
        if not isinstance(self.network, StackedMLP):
            nn.utils.clip_grad_norm_(self.network.parameters(), _GRADIENT)
            return
        norms = torch.stack([g.flatten(start_dim=1).norm(dim=1) for g in gradients]).norm(dim=0)
        factor = (_GRADIENT / norms.clamp_min(1e-12)).clamp_max(1.0).view(-1, 1, 1)
        for gradient in gradients:
            gradient.mul_(factor)

    def _anneal(self, number: int, total: int) -> None:
        """The learning rate falls to zero along a half cosine."""
        factor = 0.5 * (1 + np.cos(np.pi * number / total))
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * max(factor, 0.01)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def look(self, number: int) -> None:
        """Note loss and dependence, and keep the weights that are best so far."""
        rows = self.valid if self.check is not None else self.train
        output = self._output(rows)
        loss = self._loss(output, rows)
        rho = (self.check or self.penalty)(self.predicted(output))
        if not bool(torch.isfinite(loss).all()):
            raise DivergedError(
                "Training diverged: the loss is not a number. Lower the learning_rate, "
                "standardize the features, or look for extreme values."
            )
        value = (1 - self.mu) * loss + self.mu * KERNEL_WEIGHT * rho.clamp_min(0.0)
        better = value < self.best.value if self.check is not None else value == value
        self.best.value = torch.where(better, value, self.best.value)
        for best, now in zip(self.best.state, self.network.parameters(), strict=True):
            if best.dim() and best.shape[0] == len(self.mu):
                mask = better.view(-1, *([1] * (best.dim() - 1)))
                best.copy_(torch.where(mask, now, best))
            elif bool(better.all()):  # a network that is no stack
                best.copy_(now)
        self.best.history.append(
            {
                "step": number,
                "loss": loss.tolist(),
                "dependence": rho.tolist(),
                "criterion": value.tolist(),
            }
        )

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def restore(self) -> None:
        for best, now in zip(self.best.state, self.network.parameters(), strict=True):
            now.copy_(best)


def _adam(network: nn.Module, rate: float) -> torch.optim.Optimizer:
    return torch.optim.Adam(network.parameters(), lr=rate, fused=True)


def _tensor(values: Array, device: str) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.float32, device=device)
