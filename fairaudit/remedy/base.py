"""What the adversarial and kernel remedies share: data in, stacked training, numpy out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fairaudit._types import Array
from fairaudit.data.columns import Column, columns_from
from fairaudit.data.encode import encode
from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.remedy.validation import validate_data

__all__ = ["Classes", "Classifier", "Numbers", "Regressor", "Remedy", "sensitive_columns"]

Draw = Callable[[int], Array]


def sensitive_columns(sensitive_features: Any, n: int, estimator: Any) -> tuple[Column, ...]:
    """The sensitive attributes, checked."""
    if sensitive_features is None:
        raise InputError(
            f"{type(estimator).__name__}.fit needs the sensitive attributes: "
            "fit(X, y, sensitive_features=A)."
        )
    columns = columns_from(sensitive_features, argument="sensitive_features")
    for column in columns:
        if len(column) != n:
            raise InputError(
                f"sensitive_features has {len(column)} rows, X has {n}. Pass one per row of X."
            )
        if len(column.levels) == 1:
            raise InputError(f"Sensitive column {column.name!r} has a single value.")
    return columns


class Remedy(BaseEstimator):
    """A predictor trained for a small loss and for equalized odds.

    Parameters
    ----------
    mu : float in [0, 1]
        Weight of equalized odds; 0 is plain training.
    predictor : {"mlp", "linear"} or torch.nn.Module
        ``"mlp"`` has one hidden layer of `hidden` units. A module maps features to one output
        (a logit, or the standardized outcome) or to one logit per class.
    objective : {"kernel", "adversarial"}
        ``"adversarial"`` is Algorithm 1 of the paper, non-saturating. ``"kernel"`` lowers a kernel
        measure of dependence instead: no game, deterministic, faster.
    loss : {"error", "cross_entropy"}
        Of a classifier. ``"error"`` aims at few misclassified rows: a smooth step plus a part of
        the cross-entropy. ``"cross_entropy"`` gives better probabilities, and more errors at the
        same dependence.
    density : str or density
        Law behind the conditional copies; for a categorical outcome ``"auto"`` permutes within
        classes.
    hidden : int
    epochs : int
        Of the adversarial objective; every one has a fresh copy.
    steps : int
        Of the kernel objective, each on all rows (at most 8,192).
    batch_size : int
        Of the adversarial objective.
    learning_rate, discriminator_learning_rate : float
    weight_decay : float
        Times half the squared length of the weights, added to the loss.
    validation_fraction : float
        Rows on which the best weights are chosen, by (1 − μ) loss + 1.5 μ ρ². 0 keeps the last.
    random_state : int
    device : str
    progress : bool
        Show a bar on stderr.

    Attributes
    ----------
    history_ : list of dict
        Loss, dependence ρ² and criterion on the validation rows while training.
    layers_ : list of (weights, bias)
        Of the built-in predictors; prediction needs numpy alone.
    n_features_in_, feature_names_in_, classes_ : as usual
    """

    def __init__(
        self,
        mu: float = 0.7,
        *,
        predictor: Any = "mlp",
        objective: str = "kernel",
        loss: str = "error",
        density: Any = "auto",
        hidden: int = 64,
        epochs: int = 100,
        steps: int = 400,
        batch_size: int = 128,
        learning_rate: float = 1e-2,
        discriminator_learning_rate: float = 1e-3,
        weight_decay: float = 1e-2,
        validation_fraction: float = 0.1,
        random_state: int = 0,
        device: str = "cpu",
        progress: bool = False,
    ) -> None:
        self.mu = mu
        self.predictor = predictor
        self.objective = objective
        self.loss = loss
        self.density = density
        self.hidden = hidden
        self.epochs = epochs
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.discriminator_learning_rate = discriminator_learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.device = device
        self.progress = progress

    # -- what sub-classes say

    def _draws(self, outcome: Column, attributes: Sequence[Column], encoded: Array) -> Draw:
        """The function number → encoded attributes of that conditional copy."""
        raise NotImplementedError

    def _outcome(self, y: Array) -> tuple[Column, Array, int]:
        """The outcome as a column, as numbers to learn, and its number of classes."""
        raise NotImplementedError

    # -- fitting

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> Remedy:
        """Train on features `X`, outcome `y` and any number of sensitive attributes."""
        self.fit_path(X, y, sensitive_features, [self.mu])
        return self

    def fit_path(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        mus: Sequence[float],
        *,
        offset: Array | None = None,
    ) -> list[Remedy]:
        """Fitted copies of this estimator for every μ, trained in one pass; the first is `self`.

        `offset` is added to the network's one output while it is trained.
        """
        train, networks, numpy_layers, settings = _torch_parts(self)
        for mu in mus:
            if not 0 <= mu <= 1:
                raise InputError(f"'mu' must lie in [0, 1]. Got {mu!r}.", argument="mu")
        values, target = validate_data(self, X, y, dtype=np.float64, y_numeric=False)
        attributes = sensitive_columns(sensitive_features, len(values), self)
        outcome, numbers, classes = self._outcome(target)
        self.mean_, scale = values.mean(axis=0), values.std(axis=0)
        self.scale_ = np.where(scale > 1e-12, scale, 1.0)
        x = (values - self.mean_) / self.scale_
        task = self._task(
            x, outcome, y=numbers, classes=classes, attributes=attributes, offset=offset
        )
        fitted: list[Remedy] = [self, *(copy.copy(self) for _ in mus[1:])]
        bar = _Bar(self.progress)
        every = range(len(mus))
        for places in [[k] for k in every] if networks.custom else [list(every)]:
            network = networks.make(len(places), task.x.shape[1], task.outputs)
            chosen = [float(mus[k]) for k in places]
            network, history = train(network, task, chosen, settings, bar)
            for at, k in enumerate(places):
                estimator = fitted[k]
                estimator.mu = mus[k]
                estimator.layers_, estimator.network_ = numpy_layers(network, at)
                estimator.history_ = [
                    {key: value if key == "step" else value[at] for key, value in look.items()}
                    for look in history
                ]
        return fitted

    def _task(
        self,
        x: Array,
        outcome: Column,
        *,
        y: Array,
        classes: int,
        attributes: Sequence[Column],
        offset: Array | None,
    ) -> Any:
        from fairaudit.remedy.attribute_residuals import attribute_residuals
        from fairaudit.remedy.training import Task

        encoded = encode(attributes)
        spread = encoded.std(axis=0)
        draw = self._draws(outcome, attributes, encoded)
        residuals = attribute_residuals(outcome, attributes, draw, self.random_state)
        order = np.random.default_rng(self.random_state).permutation(len(x))
        held = round(self.validation_fraction * len(x))
        if held and min(held, len(x) - held) < 20:
            raise InputError(
                f"{len(x)} rows are too few for a validation part of {self.validation_fraction:g}. "
                "Pass more rows, or validation_fraction=0."
            )
        unit = np.where(spread > 1e-12, spread, 1.0)
        return Task(
            x=x,
            y=y,
            classes=classes,
            a=encoded / unit,
            draw=lambda number: draw(number) / unit,
            residuals=residuals,
            train=np.sort(order[held:]),
            valid=np.sort(order[:held]),
            offset=np.zeros(len(x)) if offset is None else offset,
        )

    # -- prediction, without torch for the built-in predictors

    def _raw(self, X: Any) -> Array:
        """Outputs of the network, rows × outputs."""
        check_is_fitted(self, "mean_")
        values = validate_data(self, X, dtype=np.float64, reset=False)
        hidden = (values - self.mean_) / self.scale_
        if self.network_ is not None:
            import torch

            with torch.no_grad():
                inputs = torch.as_tensor(hidden, dtype=torch.float32)
                return self.network_(inputs).numpy().astype(np.float64).reshape(len(values), -1)
        last = len(self.layers_) - 1
        for layer, (weight, bias) in enumerate(self.layers_):
            hidden = hidden @ weight + bias
            if layer < last:
                hidden = np.maximum(hidden, 0.0)
        return np.asarray(hidden, dtype=np.float64)


class Classes(ClassifierMixin):
    """Classes as outcome, for estimators whose `_raw` gives logits."""

    _raw: Callable[[Any], Array]

    def _outcome(self, y: Array) -> tuple[Column, Array, int]:
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError("The outcome has one class. Pass rows of at least two.")
        (outcome,) = columns_from(
            {"y": codes}, argument="y", outcome=True, kinds={"y": "categorical"}
        )
        return outcome, codes.astype(np.float64), len(self.classes_)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes in `classes_`."""
        from scipy.special import expit, softmax

        raw = self._raw(X)
        if len(self.classes_) == 2:
            positive = expit(raw[:, 0])
            return np.column_stack([1 - positive, positive])
        return np.asarray(softmax(raw, axis=1))

    def predict(self, X: Any) -> Array:
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[chances.argmax(axis=1)])


class Numbers(RegressorMixin):
    """A continuous outcome, for estimators whose `_raw` gives it standardized."""

    _raw: Callable[[Any], Array]

    def _outcome(self, y: Array) -> tuple[Column, Array, int]:
        numbers = np.asarray(y, dtype=np.float64)
        self.y_mean_, spread = float(numbers.mean()), float(numbers.std())
        if spread == 0:
            raise InputError("The outcome is constant. There is nothing to learn.")
        self.y_scale_ = spread
        (outcome,) = columns_from(
            {"y": numbers}, argument="y", outcome=True, kinds={"y": "continuous"}
        )
        return outcome, (numbers - self.y_mean_) / self.y_scale_, 0

    def predict(self, X: Any) -> Array:
        return self._raw(X)[:, 0] * self.y_scale_ + self.y_mean_


class Classifier(Classes, Remedy):
    """A remedy for classes."""


class Regressor(Numbers, Remedy):
    """A remedy for a continuous outcome."""


class _Networks:
    """Makes the predictor that was asked for."""

    def __init__(self, remedy: Remedy) -> None:
        self.remedy = remedy
        self.custom = not isinstance(remedy.predictor, str)

    def make(self, count: int, inputs: int, outputs: int) -> Any:
        import torch

        from fairaudit.remedy.networks import SingleModule, StackedMLP

        if self.custom:
            return SingleModule(copy.deepcopy(self.remedy.predictor)).to(self.remedy.device)
        known = {"mlp": (inputs, self.remedy.hidden, outputs), "linear": (inputs, outputs)}
        if self.remedy.predictor not in known:
            raise InputError(
                "'predictor' must be 'mlp', 'linear' or a torch module. "
                f"Got {self.remedy.predictor!r}.",
                argument="predictor",
            )
        generator = torch.Generator().manual_seed(self.remedy.random_state)
        network = StackedMLP(count, known[self.remedy.predictor], generator)
        return network.to(self.remedy.device)


def _torch_parts(remedy: Remedy) -> Any:
    """The trainer, if torch is installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingDependencyError("Training needs torch: pip install torch nflows") from None
    from fairaudit.remedy.training import Settings, train

    if remedy.objective not in ("kernel", "adversarial"):
        raise InputError(
            f"'objective' must be 'kernel' or 'adversarial'. Got {remedy.objective!r}.",
            argument="objective",
        )
    if remedy.loss not in ("cross_entropy", "error"):
        raise InputError(f"'loss' must be 'error' or 'cross_entropy'. Got {remedy.loss!r}.")
    settings = Settings(
        objective=remedy.objective,
        loss=remedy.loss,
        epochs=remedy.epochs,
        steps=remedy.steps,
        batch_size=remedy.batch_size,
        learning_rate=remedy.learning_rate,
        discriminator_learning_rate=remedy.discriminator_learning_rate,
        weight_decay=remedy.weight_decay,
        device=remedy.device,
        seed=remedy.random_state,
    )

    def numpy_layers(network: Any, place: int) -> tuple[Any, Any]:
        if hasattr(network, "layers_of"):
            return network.layers_of(place), None
        return None, network.module.cpu().eval()

    return train, _Networks(remedy), numpy_layers, settings


class _Bar:
    """A bar on stderr, if wanted."""

    def __init__(self, on: bool) -> None:
        self.bar: Any = None
        self.on = on

    def __call__(self, done: int, total: int) -> None:
        if not self.on:
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task("training", total=total)
        self.bar.update(self.task, completed=done)
        if done == total:
            self.bar.stop()
            self.bar = None
