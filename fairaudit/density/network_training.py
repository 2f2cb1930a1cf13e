"""Fitting a conditional flow by maximum likelihood: seeded, on one thread, stopped early.

torch and nflows are imported here and nowhere else among the densities, and only when a flow is
fitted. The global random state and the number of threads of torch are left as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.errors import InputError, MissingDependencyError

__all__ = ["Standard", "Training", "fit_flow", "on_one_thread", "require_flows"]

_FEWEST_ROWS = 10
_STEPS_PER_EPOCH = 50
_SMALLEST_BATCH = 64
_LARGEST_GRADIENT = 5.0


def require_flows() -> tuple[Any, Any]:
    """The modules `torch` and `nflows.transforms`."""
    try:
        import torch
        from nflows import transforms
    except ImportError as error:
        raise MissingDependencyError(
            f"Flow densities need torch and nflows ({error}). "
            "Install them: pip install torch nflows"
        ) from None
    return torch, transforms


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a flow is fitted: Adam on mini-batches until held-out rows stop getting likelier.

    Parameters
    ----------
    learning_rate : float
    l1 : float
        Penalty on the sum of the absolute weights, against the mean log-likelihood.
    epochs : int
        At most this many.
    patience : int
        Epochs without a better held-out likelihood before stopping; the best weights are kept.
    validation : float
        Share of the rows held out.
    batch : int or None
        None: 64 rows, more where an epoch would take more than 50 steps.
    """

    learning_rate: float = 0.001
    l1: float = 0.0
    epochs: int = 300
    patience: int = 30
    validation: float = 0.15
    batch: int | None = None

    def batch_for(self, n: int) -> int:
        return self.batch or max(_SMALLEST_BATCH, -(-n // _STEPS_PER_EPOCH))


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """Columns shifted and scaled to mean 0 and spread 1, as they were in the training rows.

    Examples
    --------
    >>> Standard.of(np.array([[1.0], [3.0]]))(np.array([[5.0]]))
    array([[3.]])
    """

    center: Array
    spread: Array

    @classmethod
    def of(cls, values: Array) -> Standard:
        spread = values.std(axis=0)
        return cls(values.mean(axis=0), np.where(spread > 0, spread, 1.0))

    def __call__(self, values: Array) -> Array:
        return np.asarray((values - self.center) / self.spread)

    def back(self, values: Array) -> Array:
        return np.asarray(values * self.spread + self.center)

    @property
    def log_unit(self) -> float:
        """log of the volume that becomes a unit volume: the Jacobian of the scaling."""
        return float(np.log(self.spread).sum())


@contextmanager
def on_one_thread(torch: Any) -> Iterator[None]:
    """One thread: small networks are faster so, and numbers do not depend on the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def fit_flow(
    build: Callable[[], Any], values: Array, context: Array, training: Training, seed: int
) -> Any:
    """Fit the transform that `build` makes, values → standard normal given the context.

    Parameters
    ----------
    build : callable
        Makes an untrained nflows transform; its random weights come from `seed`.
    values : array, n × features
    context : array, n × columns
    training : Training
    seed : int

    Returns
    -------
    nflows transform
        In double precision, for evaluation.
    """
    torch, _ = require_flows()
    if len(values) < _FEWEST_ROWS:
        raise InputError(
            f"{len(values)} rows are too few to fit a flow; at least {_FEWEST_ROWS} are needed. "
            "Pass more rows or a simpler density."
        )
    order = np.random.default_rng(seed).permutation(len(values))
    held = max(2, round(training.validation * len(values)))
    x, c = (torch.as_tensor(part[order], dtype=torch.float32) for part in (values, context))
    with on_one_thread(torch), torch.random.fork_rng(devices=[]):
        torch.random.default_generator.manual_seed(seed)
        transform = build().float()
        _train(torch, transform, (x[held:], c[held:]), (x[:held], c[:held]), training)
    return transform.double().eval().requires_grad_(False)


def _train(
    torch: Any, transform: Any, fit: tuple[Any, Any], held: tuple[Any, Any], training: Training
) -> None:
    """Train in place; ends with the weights that were best on the held-out rows."""
    optimizer = torch.optim.Adam(transform.parameters(), lr=training.learning_rate)
    batch, best, since = training.batch_for(len(fit[0])), float("inf"), 0
    weights: dict[str, Any] = {}
    for epoch in range(training.epochs + 1):
        if epoch:  # the untrained weights count too
            order = torch.randperm(len(fit[0]))
            for rows in torch.split(order, batch):
                optimizer.zero_grad()
                loss = _loss(transform, fit[0][rows], fit[1][rows])
                if training.l1:
                    loss = loss + training.l1 * _absolute_weights(transform)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(transform.parameters(), _LARGEST_GRADIENT)
                optimizer.step()
        with torch.no_grad():
            now = float(_loss(transform, *held))
        if now < best:
            best, since = now, 0
            weights = {name: value.clone() for name, value in transform.state_dict().items()}
        else:  # also when the weights have become infinite
            since += 1
            if since > training.patience:
                break
    transform.load_state_dict(weights)


def _loss(transform: Any, x: Any, context: Any) -> Any:
    z, log_determinant = transform(x, context)
    return (0.5 * (z * z).sum(dim=1) - log_determinant).mean()


def _absolute_weights(transform: Any) -> Any:
    return sum(weight.abs().sum() for weight in transform.parameters() if weight.dim() > 1)
