"""The methods by name: their estimators, their trade-off parameter, and a grid of its values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairaudit._types import Array
from fairaudit.errors import InputError
from fairaudit.remedy.tradeoff import MUS

if TYPE_CHECKING:
    from fairaudit.auditing.checkpoint import Checkpoint

__all__ = ["METHODS", "Method", "Training", "method_named", "train_path"]

VALIDATION = 0.1  # share of the training rows
_FEWEST_VALID = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to train.

    Attributes
    ----------
    name : str
    classifier, regressor : str or None
        Names in `fairaudit`.
    parameter : str
        Of the trade-off.
    grid : tuple of float
        Values to try; the first is training that ignores the attributes.
    length : str
        Name of the parameter that says how long training takes.
    networks : bool
        It takes a predictor; those with ``mu`` take an objective too.
    """

    name: str
    classifier: str
    regressor: str | None
    parameter: str
    grid: tuple[float, ...]
    length: str
    networks: bool = True

    @property
    def symbol(self) -> str:
        """The parameter for people."""
        return {"mu": "μ", "lam": "λ", "gamma": "γ"}.get(self.parameter, "bound")

    def check(self, value: float) -> None:
        if self.parameter == "mu" and not 0 <= value <= 1:
            raise InputError(f"The 'mu' must lie in [0, 1]. Got {value:g}.")
        if not 0 <= value < float("inf"):
            raise InputError(
                f"The '{self.parameter}' of {self.name} must be 0 or more. Got {value:g}."
            )


METHODS = {
    one.name: one
    for one in (
        Method(
            name="fairicp",
            classifier="FairICPClassifier",
            regressor="FairICPRegressor",
            parameter="mu",
            grid=MUS,
            length="steps",
        ),
        Method(
            name="faircp",
            classifier="FairCPClassifier",
            regressor="FairCPRegressor",
            parameter="mu",
            grid=MUS,
            length="steps",
        ),
        Method(
            name="fdl",
            classifier="FDLClassifier",
            regressor="FDLRegressor",
            parameter="mu",
            grid=MUS,
            length="steps",
        ),
        Method(
            name="hgr",
            classifier="HGRClassifier",
            regressor="HGRRegressor",
            parameter="lam",
            grid=(0.0, 0.3, 1.0, 3.0, 10.0, 30.0),
            length="epochs",
        ),
        Method(
            name="gerryfair",
            classifier="GerryFairClassifier",
            regressor=None,
            parameter="gamma",
            grid=(1.0, 0.03, 0.02, 0.01, 0.005, 0.002),
            length="rounds",
            networks=False,
        ),
        Method(
            name="reduction",
            classifier="ReductionClassifier",
            regressor=None,
            parameter="difference_bound",
            grid=(1.0, 0.2, 0.1, 0.05, 0.02, 0.01),
            length="max_iter",
            networks=False,
        ),
        Method(
            name="postprocess",
            classifier="ICPPostProcessor",
            regressor="ICPPostProcessor",
            parameter="mu",
            grid=MUS,
            length="steps",
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How to train; None leaves a choice to the estimator."""

    objective: str | None = None
    loss: str | None = None
    predictor: str | None = None
    steps: int | None = None
    seed: int = 0
    progress: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """Trained models with their values of the parameter, and what was said meanwhile."""

    values: list[float]
    models: list[Any]
    said: list[str | None]
    interrupted: bool


def method_named(name: str) -> Method:
    if name not in METHODS:
        raise InputError(f"There is no method {name!r}. Use one of: {', '.join(METHODS)}.")
    return METHODS[name]


def train_path(
    method: Method,
    values: Sequence[float],
    X: Any,
    y: Array,
    attributes: Any,
    training: Training,
    *,
    classes: bool,
    old: Any = None,
    checkpoint: Checkpoint | None = None,
) -> Path:
    """One fitted model per value, in one pass where the estimator can.

    After Ctrl-C the models so far are returned, if there are any. Models that a checkpoint holds
    are not trained again.
    """
    kept = None if checkpoint is None else checkpoint.get("path")
    if kept is not None:
        return Path(list(values), _unpacked(kept["models"]), kept["said"], False)
    path = _trained(
        method,
        values,
        X=X,
        y=y,
        attributes=attributes,
        training=training,
        classes=classes,
        old=old,
        checkpoint=checkpoint,
    )
    if checkpoint is not None and not path.interrupted:
        checkpoint.put("path", {"models": _packed(path.models), "said": path.said})
    return path


def _packed(models: list[Any]) -> str:
    import base64
    import pickle

    return base64.b64encode(pickle.dumps(models)).decode()


def _unpacked(text: str) -> list[Any]:
    """Models of a checkpoint, which anybody may have written: by the allow-list."""
    import base64

    from fairaudit.models.safe_pickle import load_pickle

    found: list[Any] = load_pickle(base64.b64decode(text), name="checkpoint")
    return found


def _trained(
    method: Method,
    values: Sequence[float],
    X: Any,
    y: Array,
    attributes: Any,
    training: Training,
    classes: bool,
    old: Any,
    checkpoint: Checkpoint | None,
) -> Path:
    """All models, those without a common pass one after the other."""

    def make(value: float) -> Any:
        return _estimator(method, training, value=value, rows=len(X), classes=classes, old=old)

    first = make(values[0])
    if hasattr(first, "fit_path"):
        models = first.fit_path(X, y, attributes, list(values))
        networks = [getattr(one, "correction_", one) for one in models]
        for one in networks:
            if hasattr(one, "progress"):
                one.progress = False  # not in the file
        return Path(list(values), models, [None] * len(models), _stopped(networks[0]))
    path = Path([], [], [], False)
    for value in values:
        kept = None if checkpoint is None else checkpoint.get(f"model {value!r}")
        if kept is not None:
            path.values.append(value)
            path.models.extend(_unpacked(kept["models"]))
            path.said.append(kept["said"])
            continue
        one = make(value)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                one.fit(X, y, sensitive_features=attributes)
            except KeyboardInterrupt:
                if not path.models:
                    raise
                return replace(path, interrupted=True)
        told = [str(w.message) for w in caught if w.category.__name__ == "ConvergenceWarning"]
        path.values.append(value)
        path.models.append(one)
        path.said.append(told[0] if told else None)
        if checkpoint is not None:
            checkpoint.put(f"model {value!r}", {"models": _packed([one]), "said": path.said[-1]})
    return path


def _estimator(
    method: Method, training: Training, value: float, rows: int, classes: bool, old: Any
) -> Any:
    import fairaudit as fa

    name = method.classifier if classes else method.regressor
    if name is None:
        raise InputError(
            f"The method {method.name} is for classes; this outcome is continuous. "
            "Use fairicp, faircp, fdl or hgr."
        )
    options = _options(method, training, rows)
    if method.name == "postprocess":
        seed = options.pop("random_state")
        return fa.ICPPostProcessor(old, value, options=options, random_state=seed)
    return getattr(fa, name)(**{method.parameter: value}, **options)


def _options(method: Method, training: Training, rows: int) -> dict[str, Any]:
    options: dict[str, Any] = {"random_state": training.seed}
    by_mu = method.parameter == "mu"
    for option, value, fits in (
        ("objective", training.objective, by_mu),
        ("loss", training.loss, by_mu),
        ("predictor", training.predictor, method.networks),
    ):
        if value is not None and not fits:
            raise InputError(
                f"The method {method.name} has no {option} to choose. Leave that option out."
            )
        if value is not None:
            options[option] = value
    if training.steps is not None:
        adversarial = training.objective == "adversarial"
        options["epochs" if adversarial else method.length] = training.steps
    if by_mu:
        options["progress"] = training.progress
        if round(VALIDATION * rows) < _FEWEST_VALID:
            options["validation_fraction"] = 0.0
    return options


def _stopped(model: Any) -> bool:
    """Whether Ctrl-C ended the training of this network early."""
    history = getattr(model, "history_", None)
    if not history or "step" not in history[-1]:
        return False
    total = model.steps if model.objective == "kernel" else model.epochs
    return bool(history[-1]["step"] < total)
