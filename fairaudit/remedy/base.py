"""What the adversarial and kernel remedies share: data in, stacked training, numpy out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fairaudit._types import Array
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.errors import InputError
from fairaudit.remedy.calibration import learn_slopes
from fairaudit.remedy.inputs import Network, TrainingRows, seed_of, sensitive_columns
from fairaudit.remedy.network_parts import Bar, torch_parts
from fairaudit.remedy.outcomes import Classes, Numbers

__all__ = ["Classes", "Classifier", "Numbers", "Regressor", "Remedy", "sensitive_columns"]

Draw = Callable[[int], Array]


class Remedy(Network, BaseEstimator):
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
        the cross-entropy. ``"cross_entropy"`` makes more errors at the same dependence.
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
        Rows on which the best weights are chosen, by (1 − μ) loss + 1.5 μ ρ², and probabilities
        calibrated. 0 keeps the last weights, uncalibrated.
    random_state : int, numpy generator or None
        None draws a fresh seed; `seed_` says which.
    device : str
        Of torch, such as ``"cpu"`` or ``"cuda"``.
    progress : bool
        Show a bar on stderr.
    calibrate : bool
        Of a classifier with the loss ``"error"``: stretch the logits by one map for everybody,
        learned on the validation rows. Labels, and the order of two-class scores, stay.
    class_weight : dict, "balanced" or None
        Of a classifier: how much an error in a class counts. In the loss and the calibration, not
        in the dependence.
    warm_start : bool
        Start from the weights, the scaling and the encoder of the last `fit`, for further steps or
        a neighboring μ.

    Attributes
    ----------
    history_ : list of dict
        Loss, dependence ρ² and criterion on the validation rows while training.
    layers_ : list of (weights, bias)
        Of the built-in predictors; prediction needs numpy alone.
    calibration_ : array or None
        Slopes of the logit below and above 0 (one slope for more than two classes).
    encoder_ : transformer or None
        Of features with text, categories or gaps.
    seed_ : int
        That was used.
    n_features_in_, feature_names_in_, classes_ : as usual

    Notes
    -----
    `sample_weight` in `fit` says how many people a row stands for. It weighs the loss, and with
    classes and the kernel objective the dependence too; the copies of a continuous outcome and the
    adversary follow the rows as they are.
    """

    # of files that earlier versions have saved
    calibrate: bool = True
    class_weight: Any = None
    warm_start: bool = False

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
        random_state: Any = 0,
        device: str = "cpu",
        progress: bool = False,
        calibrate: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
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
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.warm_start = warm_start

    # -- what sub-classes say

    def _draws(self, outcome: Column, attributes: Sequence[Column], encoded: Array) -> Draw:
        """The function number → encoded attributes of that conditional copy."""
        raise NotImplementedError

    # -- fitting

    def fit_path(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        mus: Sequence[float],
        *,
        offset: Array | None = None,
        sample_weight: Any = None,
    ) -> list[Remedy]:
        """Fitted copies of this estimator for every μ, trained in one pass; the first is `self`.

        `offset` is added to the network's one output while it is trained.
        """
        for mu in mus:
            if not 0 <= mu <= 1:
                raise InputError(f"'mu' must lie in [0, 1]. Got {mu!r}.", argument="mu")
        again = self._starts_again
        rows = self._learn_rows(X, y, sensitive_features, sample_weight)
        self.seed_ = seed_of(self.random_state)
        train, networks, settings = torch_parts(self, again=again)
        task = self._task(rows)
        task = replace(task, weights=rows.in_loss, offset=task.offset if offset is None else offset)
        fitted: list[Remedy] = [self, *(copy.copy(self) for _ in mus[1:])]
        bar = Bar(self.progress)
        every = range(len(mus))
        for places in [[k] for k in every] if networks.custom else [list(every)]:
            network = networks.make(len(places), task.x.shape[1], task.outputs)
            chosen = [float(mus[k]) for k in places]
            network, history = train(network, task, chosen, settings, bar)
            for at, k in enumerate(places):
                estimator = fitted[k]
                estimator.mu = mus[k]
                estimator.layers_, estimator.network_ = networks.trained(network, at)
                estimator.history_ = [
                    {key: value if key == "step" else value[at] for key, value in look.items()}
                    for look in history
                ]
        for estimator in fitted:
            estimator._calibrate(task)
        return fitted

    def _calibrate(self, task: Any) -> None:
        """Learn what the logits are worth, on rows that the weights were not fitted to."""
        self.calibration_: Array | None = None
        if not (self.calibrate and self.loss == "error" and task.classes and len(task.valid)):
            return  # cross-entropy asks for calibrated probabilities by itself
        rows = task.valid
        raw = self._outputs(task.x[rows])
        if task.classes == 2:
            raw = raw + task.offset[rows, None]
        weights = None if task.weights is None else task.weights[rows]
        self.calibration_ = learn_slopes(raw, task.y[rows], weights)

    def _task(self, rows: TrainingRows) -> Any:
        from fairaudit.remedy.attribute_residuals import attribute_residuals
        from fairaudit.remedy.training import Task

        x, attributes = rows.x, rows.attributes
        encoded = encode(attributes)
        spread = encoded.std(axis=0)
        draw = self._draws(rows.outcome, attributes, encoded)
        residuals = attribute_residuals(rows.outcome, attributes, draw, self.seed_, rows.weights)
        order = np.random.default_rng(self.seed_).permutation(len(x))
        held = round(self.validation_fraction * len(x))
        if held and min(held, len(x) - held) < 20:
            raise InputError(
                f"{len(x)} rows are too few for a validation part of {self.validation_fraction:g}. "
                "Pass more rows, or validation_fraction=0."
            )
        unit = np.where(spread > 1e-12, spread, 1.0)
        return Task(
            x=x,
            y=rows.numbers,
            classes=rows.classes,
            a=encoded / unit,
            draw=lambda number: draw(number) / unit,
            residuals=residuals,
            train=np.sort(order[held:]),
            valid=np.sort(order[:held]),
            offset=np.zeros(len(x)),
        )

    # -- prediction, without torch for the built-in predictors

    def _raw(self, X: Any) -> Array:
        """Outputs of the network, rows × outputs."""
        return self._outputs(self._standardized(X))

    def _outputs(self, x: Array) -> Array:
        """Outputs for standardized features."""
        hidden = x
        if self.network_ is not None:
            import torch

            with torch.no_grad():
                inputs = torch.as_tensor(hidden, dtype=torch.float32)
                return self.network_(inputs).numpy().astype(np.float64).reshape(len(x), -1)
        last = len(self.layers_) - 1
        for layer, (weight, bias) in enumerate(self.layers_):
            hidden = hidden @ weight + bias
            if layer < last:
                hidden = np.maximum(hidden, 0.0)
        return np.asarray(hidden, dtype=np.float64)


class Classifier(Classes, Remedy):
    """A remedy for classes."""


class Regressor(Numbers, Remedy):
    """A remedy for a continuous outcome."""
