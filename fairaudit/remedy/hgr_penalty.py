"""Learning with a penalty on the maximal (HGR) correlation of prediction and attributes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fairaudit._types import Array
from fairaudit.data.columns import Column
from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.remedy.inputs import Network, seed_of
from fairaudit.remedy.outcomes import Classes, Numbers

__all__ = ["HGRClassifier", "HGRRegressor"]

_REACH = 2.5  # standard deviations that a grid covers to either side
_MOST_POINTS = 50
_GRADIENT = 5.0
_SELU, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


class _Penalized(Network, BaseEstimator):
    """A predictor trained on its loss plus λ times the conditional χ² of prediction and attributes.

    Parameters
    ----------
    lam : float
        Weight λ of the penalty; 0 is plain training.
    predictor : {"mlp", "linear"}
        ``"mlp"`` has one hidden layer of `hidden` SELU units.
    hidden : int
    epochs : int
    batch_size : int
        The penalty is estimated within a batch, so small ones make it noisy.
    learning_rate, weight_decay : float
        The rate falls to 0 along a cosine.
    random_state : int, numpy generator or None
        None draws a fresh seed; `seed_` says which.
    class_weight : dict, "balanced" or None
        Of a classifier: how much an error in a class counts in the loss.
    warm_start : bool
        Start from the weights, the scaling and the encoder of the last `fit`.

    Attributes
    ----------
    layers_ : list of (weights, bias)
        Prediction needs numpy alone.
    history_ : list of dict
        Mean loss and penalty of every epoch.
    encoder_ : transformer or None
        Of features with text, categories or gaps.
    seed_ : int
        That was used.
    n_features_in_, feature_names_in_, classes_ : as usual

    Notes
    -----
    χ²(Ŷ, A | Y = y) = ∬ p(ŷ, a | y)² / (p(ŷ | y) p(a | y)) − 1 bounds the square of the HGR
    coefficient from above and is 0 under independence. Densities are Gaussian kernel estimates on
    a grid, with Silverman's bandwidth for a batch; categorical attributes and outcomes enter with
    their exact frequencies instead. The penalty is the mean over the law of Y, where the
    authors' code takes the mean over the grid of Y. A continuous attribute or outcome enters by
    its normal scores, which leave χ² as it is and tame outliers. Several attributes: the sum over
    them, one at a time. The paper defines nothing joint, so dependence on a combination of
    attributes is not seen. Several outputs (classes): the mean over them. `sample_weight` in `fit`
    weighs loss and penalty.
    """

    _path_of = "lam"
    # of files that earlier versions have saved
    class_weight: Any = None
    warm_start: bool = False

    def __init__(
        self,
        lam: float = 1.0,
        *,
        predictor: str = "mlp",
        hidden: int = 64,
        epochs: int = 60,
        batch_size: int = 256,
        learning_rate: float = 1e-2,
        weight_decay: float = 0.0,
        random_state: Any = 0,
        class_weight: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.lam = lam
        self.predictor = predictor
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start

    def fit_path(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        lams: Sequence[float],
        *,
        sample_weight: Any = None,
    ) -> list[_Penalized]:
        """Fitted copies of this estimator for every λ, trained in one pass; the first is `self`."""
        self._check(lams)
        again = self._starts_again
        rows = self._learn_rows(X, y, sensitive_features, sample_weight)
        task = _Task(
            x=rows.x,
            y=rows.numbers,
            classes=rows.classes,
            densities=[
                _densities(column, rows.outcome, self.batch_size) for column in rows.attributes
            ],
            in_loss=rows.in_loss,
            weights=rows.weights,
            start=self.layers_ if again else None,
        )
        self.seed_ = seed_of(self.random_state)
        layers, history = _train(self, task, lams)
        fitted: list[Any] = [self, *(copy.copy(self) for _ in lams[1:])]
        for place, (estimator, lam) in enumerate(zip(fitted, lams, strict=True)):
            estimator.lam = lam
            estimator.layers_ = layers[place]
            estimator.history_ = [{k: v[place] for k, v in epoch.items()} for epoch in history]
        return fitted

    def _check(self, lams: Sequence[float]) -> None:
        if self.predictor not in ("mlp", "linear"):
            raise InputError(
                f"'predictor' must be 'mlp' or 'linear'. Got {self.predictor!r}.",
                argument="predictor",
            )
        if self.batch_size < 16 or self.epochs < 1:
            raise InputError(
                "The 'batch_size' must be at least 16 and 'epochs' at least 1. "
                f"Got {self.batch_size!r} and {self.epochs!r}."
            )
        for lam in lams:
            if not 0 <= lam < np.inf:
                raise InputError(f"The 'lam' parameter must be at least 0. Got {lam!r}.")

    def _raw(self, X: Any) -> Array:
        hidden = self._standardized(X)
        for number, (weight, bias) in enumerate(self.layers_):
            if number:
                negative = _SELU * np.expm1(np.minimum(hidden, 0.0))
                hidden = _SELU_SCALE * np.where(hidden > 0, hidden, negative)
            hidden = hidden @ weight + bias
        return np.asarray(hidden, dtype=np.float64)


class HGRClassifier(Classes, _Penalized):
    """A classifier with a penalty on the dependence of score and attributes within classes.

    References
    ----------
    Mary, Calauzènes & El Karoui (2019). Fairness-aware learning for continuous attributes and
    treatments. ICML.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 400))
    >>> X = np.column_stack([y + rng.normal(size=400), sex + 0.3 * rng.normal(size=400)])
    >>> model = HGRClassifier(lam=0.5, epochs=5).fit(X, y, sensitive_features={"sex": sex})
    >>> model.predict_proba(X).shape
    (400, 2)
    """


class HGRRegressor(Numbers, _Penalized):
    """A regressor with a penalty on the dependence of prediction and attributes given the outcome.

    References
    ----------
    Mary, Calauzènes & El Karoui (2019). Fairness-aware learning for continuous attributes and
    treatments. ICML.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> age, y = rng.normal(size=(2, 400))
    >>> X = np.column_stack([y + rng.normal(size=400), age + y / 2])
    >>> model = HGRRegressor(lam=2, epochs=5).fit(X, y, sensitive_features={"age": age})
    >>> model.predict(X).shape
    (400,)
    """


def _documented() -> None:
    """The parameters are shared: say so where people look."""
    shared = (_Penalized.__doc__ or "").partition("\n\n")[2]
    for cls in (HGRClassifier, HGRRegressor):
        head, _, tail = (cls.__doc__ or "").partition("\n\n")
        cls.__doc__ = "\n\n".join([head.rstrip(), shared.rstrip(), tail])


_documented()


@dataclass(frozen=True, slots=True, eq=False)
class _Densities:
    """How every row enters the joint density of (Ŷ, A, Y).

    Attributes
    ----------
    attribute, outcome : rows × points of the grid (or levels)
    points, width : grid and bandwidth of Ŷ
    """

    attribute: Array
    outcome: Array
    points: Array
    width: float


def _densities(attribute: Column, outcome: Column, batch: int) -> _Densities:
    smooth = [not column.kind.is_categorical for column in (attribute, outcome)]
    rows = min(batch, len(outcome)) / (1 if smooth[1] else len(outcome.levels))
    dimension = 1 + sum(smooth)
    width = float((max(rows, 2.0) * (dimension + 2) / 4) ** (-1 / (dimension + 4)))
    points = np.linspace(-_REACH, _REACH, min(_MOST_POINTS, max(5, int(2 * _REACH / width))))
    return _Densities(
        _weights(attribute, points, width), _weights(outcome, points, width), points, width
    )


def _weights(column: Column, points: Array, width: float) -> Array:
    """Indicators of the levels, or kernels around the normal score of a number."""
    if column.kind.is_categorical:
        return np.eye(len(column.levels))[column.codes]
    from scipy.special import ndtri

    counts = np.bincount(column.codes, minlength=len(column.levels))
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    scores = ndtri(middle)[column.codes]
    return np.asarray(np.exp(-0.5 * np.square((scores[:, None] - points) / width)))


# ---------------------------------------------------------------- training, with torch


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Task:
    """Rows to learn from, their weights in loss and penalty, and layers to start from."""

    x: Array
    y: Array
    classes: int
    densities: Sequence[_Densities]
    in_loss: Array | None
    weights: Array | None
    start: Any


def _train(
    remedy: Any, task: _Task, lams: Sequence[float]
) -> tuple[list[Any], list[dict[str, list[float]]]]:
    """Layers of every model and the history; models differ by their λ alone."""
    try:
        import torch
    except ImportError:
        raise MissingDependencyError("Training needs torch: pip install torch nflows") from None
    from fairaudit.remedy.networks import StackedMLP

    random = torch.Generator().manual_seed(remedy.seed_)
    x, classes = task.x, task.classes
    outputs = 1 if classes <= 2 else classes
    inner = [remedy.hidden] if remedy.predictor == "mlp" else []
    network = StackedMLP(len(lams), [x.shape[1], *inner, outputs], random)
    if task.start is not None:
        network.start_from(task.start)
    parameters = list(network.parameters())
    optimizer = torch.optim.Adam(
        parameters, lr=remedy.learning_rate, weight_decay=remedy.weight_decay
    )
    inputs = torch.as_tensor(x, dtype=torch.float32)
    target = torch.as_tensor(task.y).to(torch.long if classes > 2 else torch.float32)
    parts = [
        (
            *(torch.as_tensor(v, dtype=torch.float32) for v in (d.attribute, d.outcome, d.points)),
            d.width,
        )
        for d in task.densities
    ]
    in_loss, people = (
        torch.ones(len(x)) if w is None else torch.as_tensor(w, dtype=torch.float32)
        for w in (task.in_loss, task.weights)
    )
    weight = torch.tensor(lams, dtype=torch.float32)
    batches = max(1, round(len(x) / remedy.batch_size))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, remedy.epochs * batches)
    history = []
    for _ in range(remedy.epochs):
        totals = torch.zeros(2, len(lams))
        for rows in torch.randperm(len(x), generator=random).tensor_split(batches):
            output = _forward(network, inputs[rows])
            loss = (_loss(output, target[rows], classes) * in_loss[rows]).mean(dim=1)
            penalty = torch.zeros(len(lams))
            if any(lams):
                score = _score(output, classes)
                for a, given, points, width in parts:
                    penalty = penalty + _chi_squared(
                        score, a[rows] * people[rows, None], given[rows], points, width
                    )
            optimizer.zero_grad(set_to_none=True)
            (loss + weight * penalty).sum().backward()
            _clip(parameters)
            optimizer.step()
            schedule.step()
            totals += torch.stack([loss.detach(), penalty.detach()]) * len(rows) / len(x)
        if not bool(torch.isfinite(totals).all()):
            raise InputError("Training diverged. Lower 'learning_rate' or 'lam'.")
        history.append({"loss": totals[0].tolist(), "penalty": totals[1].tolist()})
    return [network.layers_of(place) for place in range(len(lams))], history


def _forward(network: Any, x: Any) -> Any:
    """The stack with SELU between its layers."""
    import torch

    hidden = x.expand(network.count, -1, -1)
    for number, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        hidden = torch.baddbmm(bias, torch.selu(hidden) if number else hidden, weight)
    return hidden


def _loss(output: Any, y: Any, classes: int) -> Any:
    """Cross-entropy or squared error of every model and row."""
    from torch.nn import functional as F

    if classes > 2:
        wide = y.expand(len(output), -1)
        return F.cross_entropy(output.transpose(1, 2), wide, reduction="none")
    flat = output[:, :, 0]
    if classes == 2:
        wide = y.expand_as(flat)
        return F.binary_cross_entropy_with_logits(flat, wide, reduction="none")
    return (flat - y).square()


def _score(output: Any, classes: int) -> Any:
    """What must not depend on the attributes: probabilities, or the prediction."""
    if classes > 2:
        return output.softmax(dim=2)
    return output.sigmoid() if classes == 2 else output


def _chi_squared(score: Any, attribute: Any, outcome: Any, points: Any, width: float) -> Any:
    """χ² of score (models × rows × outputs) and attribute, averaged over the outcome."""
    centered = score - score.mean(dim=1, keepdim=True)
    spread = (centered.square().mean(dim=1, keepdim=True) + 1e-8).sqrt()
    kernel = (-0.5 * (((centered / spread).unsqueeze(-1) - points) / width).square()).exp()
    cells = attribute.unsqueeze(2) * outcome.unsqueeze(1)
    joint = kernel.permute(0, 2, 3, 1) @ cells.flatten(start_dim=1)
    joint = joint.unflatten(3, cells.shape[1:])  # models × outputs × points × attribute × outcome
    joint = joint / joint.sum(dim=(2, 3, 4), keepdim=True).clamp_min(1e-12)
    expected = joint.sum(dim=3, keepdim=True) * joint.sum(dim=2, keepdim=True)
    share = joint.sum(dim=(2, 3))
    ratio = (joint.square() / expected.clamp_min(1e-12)).sum(dim=(2, 3))
    return (share * (ratio - 1)).sum(dim=2).mean(dim=1)


def _clip(parameters: Sequence[Any]) -> None:
    """Bound the length of every model's gradient."""
    size = sum(p.grad.square().flatten(start_dim=1).sum(dim=1) for p in parameters)
    shrink = (_GRADIENT / (size + 1e-12).sqrt()).clamp_max(1.0)  # type: ignore[union-attr]
    for p in parameters:
        p.grad.mul_(shrink[:, None, None])
