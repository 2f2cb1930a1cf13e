"""Training one model per value of a method's trade-off parameter, with checkpoints between."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairaudit._registry import found_at
from fairaudit._types import Array
from fairaudit.remedy.methods import Method, Training

if TYPE_CHECKING:
    from fairaudit.auditing.checkpoint import Checkpoint

__all__ = ["Path", "train_path"]


@dataclass(frozen=True, slots=True)
class Path:
    """Trained models with their values of the parameter, and the warnings of their training."""

    values: list[float]
    models: list[Any]
    warnings: list[str | None]
    interrupted: bool


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
    stored = None if checkpoint is None else checkpoint.get("path")
    if stored is not None:
        return Path(list(values), _unpack_models(stored["models"], method), stored["said"], False)
    path = _train_models(
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
        checkpoint.put("path", {"models": _pack_models(path.models), "said": path.warnings})
    return path


def _pack_models(models: list[Any]) -> str:
    import base64
    import pickle

    return base64.b64encode(pickle.dumps(models)).decode()


def _unpack_models(text: str, method: Method) -> list[Any]:
    """Models of a checkpoint, which anybody may have written: by the allow-list.

    The estimators of a method that an installed package added are trusted too.
    """
    import base64

    from fairaudit.models.safe_pickle import load_pickle

    homes = (method.classifier, method.regressor)
    own = [found_at(home) if isinstance(home, str) else home for home in homes if home is not None]
    trust = {f"{kind.__module__}.{kind.__qualname__}" for kind in own}
    added = sorted(name for name in trust if not name.startswith("fairaudit."))
    models: list[Any] = load_pickle(base64.b64decode(text), name="checkpoint", trust=added)
    return models


def _train_models(
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
        return method.estimator(value, training, rows=len(X), classes=classes, old=old)

    first = make(values[0])
    if hasattr(first, "fit_path"):
        models = first.fit_path(X, y, attributes, list(values))
        networks = [getattr(model, "correction_", model) for model in models]
        for network in networks:
            if hasattr(network, "progress"):
                network.progress = False  # not in the file
        return Path(list(values), models, [None] * len(models), _was_stopped(networks[0]))
    path = Path([], [], [], False)
    for value in values:
        stored = None if checkpoint is None else checkpoint.get(f"model {value!r}")
        if stored is not None:
            path.values.append(value)
            path.models.extend(_unpack_models(stored["models"], method))
            path.warnings.append(stored["said"])
            continue
        model = make(value)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model.fit(X, y, sensitive_features=attributes)
            except KeyboardInterrupt:
                if not path.models:
                    raise
                return replace(path, interrupted=True)
        warned = [str(w.message) for w in caught if w.category.__name__ == "ConvergenceWarning"]
        path.values.append(value)
        path.models.append(model)
        path.warnings.append(warned[0] if warned else None)
        if checkpoint is not None:
            checkpoint.put(
                f"model {value!r}", {"models": _pack_models([model]), "said": path.warnings[-1]}
            )
    return path


def _was_stopped(model: Any) -> bool:
    """Whether Ctrl-C ended the training of this network early."""
    history = getattr(model, "history_", None)
    if not history or "step" not in history[-1]:
        return False
    total = model.steps if model.objective == "kernel" else model.epochs
    return bool(history[-1]["step"] < total)
