"""Model files and models in memory, turned into predictions."""

from __future__ import annotations

import hashlib
import io
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairaudit.errors import FairAuditError, InputError, MissingDependencyError
from fairaudit.safe_pickle import (
    add_working_directory,
    check_trust,
    first_line,
    is_allowed,
    largest_unpacked,
    load_pickle,
    refusal,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Predictor", "load_model", "predictor_of"]

_PACKED = (".gz", ".z", ".bz2", ".xz", ".lzma")
_FUNCTION = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)", re.ASCII)
_SAVED_BY = "Saved by scikit-learn"
_UNDERSTOOD = (
    ".pkl, .pickle and .joblib (scikit-learn, xgboost, lightgbm), .skops, .onnx, .json and .ubj "
    "(xgboost), .txt (lightgbm), or package.module:function"
)


@dataclass(frozen=True, slots=True, eq=False)
class Predictor:
    """A model that is ready to predict.

    Attributes
    ----------
    model : object
    source : str or None
        The file or function it came from; None for an object in memory.
    kind : str
        Its class, ``"onnx"`` or ``"function"``.
    sha256 : str or None
        Of the file.
    features : tuple of str or None
        The columns that it was fitted on, in order; None when it does not know.
    n_features : int or None
    classes : array or None
    notes : tuple of str
        What was noticed when the file was opened.
    """

    model: Any = field(repr=False)
    source: str | None
    kind: str
    sha256: str | None
    features: tuple[str, ...] | None
    n_features: int | None
    classes: NDArray[Any] | None
    notes: tuple[str, ...] = ()

    def columns(
        self,
        frame_columns: Sequence[str],
        *,
        outcome: str | None,
        sensitive: Sequence[str],
        other: Sequence[str] = (),
    ) -> list[str]:
        """Which columns of a table are the features of this model.

        Parameters
        ----------
        frame_columns : sequence of str
        outcome : str or None
        sensitive : sequence of str
            Features too, unless the number of features says otherwise.
        other : sequence of str
            Never features: identifiers, weights.
        """
        names = list(frame_columns)
        if self.features is not None:
            return self._named(names)
        left = [name for name in names if name != outcome and name not in other]
        without = [name for name in left if name not in sensitive]
        if self.n_features is None or len(left) == self.n_features:
            return left
        if len(without) == self.n_features:
            return without
        for prefix in ("f", "Column_"):  # the names that boosters give to unnamed columns
            automatic = [f"{prefix}{j}" for j in range(self.n_features)]
            if set(automatic) <= set(left):
                return automatic
        raise InputError(
            f"The model takes {self.n_features} features and does not know their names; the table "
            f"has {len(left)} columns that could be features, {len(without)} without the sensitive "
            "ones. Pass a table with the features only, or fit the model on named columns."
        )

    def _named(self, names: list[str]) -> list[str]:
        features = self.features or ()
        plain: dict[str, list[str]] = {}
        for name in names:
            plain.setdefault(_plain(name), []).append(name)
        found, missing = [], []
        for feature in features:
            # lightgbm and ONNX converters write "credit amount" as "credit_amount"
            alike = [feature] if feature in names else plain.get(_plain(feature), [])
            if len(alike) == 1:
                found.append(alike[0])
            else:
                near = get_close_matches(feature, names, n=1)
                missing.append(f"{feature!r} (is it {near[0]!r}?)" if near else repr(feature))
        if missing:
            shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            raise InputError(
                f"The table lacks {len(missing)} of the {len(features)} features of the model: "
                f"{shown}. Pass the table that the model was fitted for, or rename the columns."
            )
        return found

    def predict(self, frame: pd.DataFrame, *, on: str = "scores") -> pd.DataFrame:
        """Predictions for a table that holds the features, in order, and nothing else.

        Parameters
        ----------
        frame : DataFrame
        on : {"scores", "labels"}
            ``"scores"``: a column ``score`` (probability of the second of two classes), a column
            ``P(class)`` for each of more classes, or ``prediction``. ``"labels"``: ``label``.
        """
        import pandas as pd

        if on not in ("scores", "labels"):
            raise InputError(f"'on' must be 'scores' or 'labels'. Got {on!r} instead.")
        adapter = _adapter(self.model)
        rows = self._rows(frame, adapter)
        with self._explained():
            if on == "scores":
                values, names = adapter.scores(rows)
            else:
                values, names = _one_column(adapter.labels(rows)), ["label"]
            values = np.asarray(values)
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2 or len(values) != len(frame):
            shape = " × ".join(map(str, values.shape))
            raise InputError(
                f"The model ({self.kind}) returned {shape} values for {len(frame)} rows. "
                "It must return one row of predictions per row of the table."
            )
        table = pd.DataFrame(dict(zip(names, values.T, strict=True)), index=frame.index)
        if values.dtype == object:
            table = table.infer_objects()
        _reject_unusable(table, self.kind)
        return table

    def _rows(self, frame: pd.DataFrame, adapter: _Adapter) -> Any:
        """The table as the model wants it: named as in the fit, or as an array."""
        wanted = adapter.wants
        if wanted is None:
            return frame
        if not isinstance(wanted, tuple):
            return frame.to_numpy()
        names = [str(name) for name in frame.columns]
        if names == list(wanted):
            return frame
        if adapter.features is not None:
            frame = frame.set_axis(names, axis=1)[self._named(names)]
        elif len(names) != len(wanted):
            raise InputError(
                f"The model ({self.kind}) takes {len(wanted)} features. "
                f"Got {len(names)} columns instead."
            )
        return frame.set_axis(list(wanted), axis=1)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FairAuditError:
            raise
        except Exception as error:
            text = first_line(error)
            if type(error).__name__ == "NotFittedError":
                hint = "Fit it before it is saved."
            elif re.search(r"nan|missing|null", text, re.IGNORECASE):
                hint = "Fill or drop the missing values, or put an imputer into the model."
            elif any(note.startswith(_SAVED_BY) for note in self.notes):
                hint = f"{self.notes[0]} Use the version that saved it, or save it again."
            else:
                hint = "Pass the columns that it was fitted on, with the same types."
            raise InputError(
                f"The model ({self.kind}) cannot predict for this table: {text}. {hint}"
            ) from None


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _one_column(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim > 1:
        raise _several_outcomes(array.shape[1])
    return array


def _several_outcomes(n: int) -> InputError:
    return InputError(
        f"The model predicts {n} outcomes at once. "
        "Audit them one by one: wrap the model in a function that returns one of them."
    )


def _reject_unusable(table: pd.DataFrame, kind: str) -> None:
    for name in table.columns:
        values = table[name]
        bad = values.isna().to_numpy()
        if values.dtype.kind == "f":
            bad = bad | ~np.isfinite(values.to_numpy())
        if bad.any():
            raise InputError(
                f"The model ({kind}) predicts a missing or infinite value for {int(bad.sum())} "
                f"rows, the first in row {int(np.flatnonzero(bad)[0])}. Check the features there."
            )


# ---------------------------------------------------------------- kinds of models


class _Adapter(Protocol):
    """How one kind of model is asked."""

    @property
    def kind(self) -> str: ...

    @property
    def features(self) -> tuple[str, ...] | None: ...

    @property
    def n_features(self) -> int | None: ...

    @property
    def classes(self) -> NDArray[Any] | None: ...

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        """Names for the columns, ``np.ndarray``, or None for the table as it is."""

    def scores(self, rows: Any) -> tuple[Any, list[str]]: ...

    def labels(self, rows: Any) -> Any: ...


def _adapter(model: Any) -> _Adapter:
    package = type(model).__module__.partition(".")[0]
    name = type(model).__name__
    if name == "Booster" and package == "xgboost":
        return _XGBoost(model)
    if name == "Booster" and package == "lightgbm":
        return _LightGBM(model)
    if name == "InferenceSession" and package == "onnxruntime":
        return _Onnx(model)
    if hasattr(model, "predict") or hasattr(model, "predict_proba"):
        return _Estimator(model)
    return _Function(model)


def _quietly(read: Callable[[], Any]) -> Any:
    """What `read` returns, None if it fails: attributes of estimators may raise anything."""
    try:
        return read()
    except Exception:
        return None


def _names(values: Any) -> tuple[str, ...] | None:
    names = None if values is None else tuple(str(value) for value in values)
    if not names or names == tuple(f"Column_{j}" for j in range(len(names))):
        return None
    return names


def _table(values: Any, name: str) -> tuple[Any, list[str]]:
    """`values` with names for its columns: ``name``, or ``name_0``, ``name_1``, …"""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim < 2:
        return array, [name]
    return array, [f"{name}_{j}" for j in range(array.shape[1])]


def _probabilities(values: Any, classes: Sequence[Any] | None) -> tuple[Any, list[str]]:
    array = np.asarray(values)
    if array.ndim < 2 or array.shape[1] == 1:
        return array.reshape(len(array)), ["score"]
    if array.shape[1] == 2:
        return array[:, 1], ["score"]
    known = classes is not None and len(classes) == array.shape[1]
    labels = classes if known and classes is not None else range(array.shape[1])
    return array, [f"P({label})" for label in labels]


class _Estimator:
    """Anything with `predict` or `predict_proba`."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.kind = f"{type(model).__module__}.{type(model).__qualname__}"
        self._package = self.kind.partition(".")[0]

    @property
    def features(self) -> tuple[str, ...] | None:
        model = self.model
        names = _quietly(lambda: model.feature_names_in_)
        if names is None:
            names = _quietly(lambda: model.feature_name_)
        if names is None and self._package == "xgboost":
            names = _quietly(lambda: model.get_booster().feature_names)
        return _names(names)

    @property
    def n_features(self) -> int | None:
        count = _quietly(lambda: int(self.model.n_features_in_))
        return count if count is not None or self.features is None else len(self.features)

    @property
    def classes(self) -> NDArray[Any] | None:
        found = _quietly(lambda: np.asarray(self.model.classes_))
        return found if found is not None and found.ndim == 1 else None

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        if self.features is not None:
            return self.features
        return None if self.n_features is None else np.ndarray

    def scores(self, rows: Any) -> tuple[Any, list[str]]:
        rows, classes = self._typed(rows), self.classes
        if hasattr(self.model, "predict_proba"):
            values = self.model.predict_proba(rows)
            if isinstance(values, list):
                raise _several_outcomes(len(values))
            return _probabilities(values, None if classes is None else list(classes))
        from sklearn.base import is_regressor

        if hasattr(self.model, "decision_function") and not _quietly(
            lambda: is_regressor(self.model)
        ):
            values, names = _table(self.model.decision_function(rows), "score")
            if classes is not None and len(classes) == len(names) > 1:
                names = [f"score({label})" for label in classes]
            return values, names
        return _table(self.model.predict(rows), "prediction")

    def labels(self, rows: Any) -> Any:
        if not hasattr(self.model, "predict"):
            raise InputError(f"The model ({self.kind}) has no predict. Audit its scores instead.")
        return self.model.predict(self._typed(rows))

    def _typed(self, rows: Any) -> Any:
        if self._package == "lightgbm":
            return _with_categories(rows)
        if self._package == "xgboost" and _keeps_categories(
            _quietly(lambda: self.model.get_booster())
        ):
            return _with_categories(rows)
        return rows


def _with_categories(rows: Any) -> Any:
    """Text columns as categories; the booster knows the categories that it was fitted with."""
    if isinstance(rows, np.ndarray):
        return rows
    text = [name for name in rows.columns if rows[name].dtype.kind == "O"]
    return rows.astype(dict.fromkeys(text, "category")) if text else rows


def _keeps_categories(booster: Any) -> bool:
    """Whether this xgboost model would recognise categories by name (3.1 and later)."""
    return _quietly(lambda: not booster.get_categories().empty()) is True


class _XGBoost:
    """A raw `xgboost.Booster`."""

    kind = "xgboost.core.Booster"
    classes = None

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def features(self) -> tuple[str, ...] | None:
        names = _names(self.model.feature_names)
        automatic = names == tuple(f"f{j}" for j in range(len(names or ())))
        return None if automatic else names

    @property
    def n_features(self) -> int | None:
        return _quietly(lambda: int(self.model.num_features()))

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        return _names(self.model.feature_names) or np.ndarray

    def scores(self, rows: Any) -> tuple[Any, list[str]]:
        objective = self._objective()
        if objective == "multi:softmax":  # its predictions are labels
            margins = self._predict(rows, output_margin=True)
            odds = np.exp(margins - margins.max(axis=1, keepdims=True))
            return _probabilities(odds / odds.sum(axis=1, keepdims=True), None)
        values = self._predict(rows)
        if objective.startswith(("binary:", "multi:")):
            return _probabilities(values, None)
        return _table(values, "prediction")

    def labels(self, rows: Any) -> Any:
        return _as_labels(*self.scores(rows))

    def _objective(self) -> str:
        import json

        return str(json.loads(self.model.save_config())["learner"]["objective"]["name"])

    def _predict(self, rows: Any, **options: Any) -> Any:
        xgboost = import_module("xgboost")
        if _keeps_categories(self.model):
            rows = _with_categories(rows)
        best = self.model.attr("best_iteration")
        if best is not None and self.model.attr("scikit_learn") is not None:
            options["iteration_range"] = (0, int(best) + 1)  # as the estimator that saved it
        matrix = xgboost.DMatrix(rows, enable_categorical=not isinstance(rows, np.ndarray))
        return self.model.predict(matrix, **options)


class _LightGBM:
    """A raw `lightgbm.Booster`."""

    kind = "lightgbm.basic.Booster"
    classes = None

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def features(self) -> tuple[str, ...] | None:
        return _names(self.model.feature_name())

    @property
    def n_features(self) -> int | None:
        return int(self.model.num_feature())

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        return self.features or np.ndarray

    def scores(self, rows: Any) -> tuple[Any, list[str]]:
        values = self.model.predict(_with_categories(rows))
        text = self.model.model_to_string(num_iteration=1)
        objective = re.search(r"^objective=(\w+)", text, re.MULTILINE)
        chance = ("binary", "multiclass", "multiclassova", "cross_entropy")
        if objective is not None and objective[1] in chance:
            return _probabilities(values, None)
        return _table(values, "prediction")

    def labels(self, rows: Any) -> Any:
        return _as_labels(*self.scores(rows))


def _as_labels(values: Any, names: list[str]) -> Any:
    """Class numbers from the scores of a booster, which keeps no names of classes."""
    if names == ["score"]:
        return (np.asarray(values) > 0.5).astype(int)
    if names[0].startswith("P("):
        return np.argmax(values, axis=1)
    return values


_ONNX_TYPES: dict[str, Any] = {
    "tensor(bool)": np.bool_, "tensor(double)": np.float64, "tensor(float)": np.float32,
    "tensor(float16)": np.float16, "tensor(int32)": np.int32, "tensor(int64)": np.int64,
    "tensor(string)": np.object_,
}  # fmt: skip


class _Onnx:
    """An `onnxruntime.InferenceSession`."""

    kind = "onnx"
    classes = None

    def __init__(self, model: Any) -> None:
        self.model = model
        self.inputs = list(model.get_inputs())
        self.outputs = list(model.get_outputs())

    @property
    def features(self) -> tuple[str, ...] | None:
        return None if len(self.inputs) == 1 else tuple(part.name for part in self.inputs)

    @property
    def n_features(self) -> int | None:
        if len(self.inputs) > 1:
            return len(self.inputs)
        shape = self.inputs[0].shape
        return shape[1] if len(shape) == 2 and isinstance(shape[1], int) else None

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        return self.features

    def scores(self, rows: Any) -> tuple[Any, list[str]]:
        results = self._run(rows)
        if len(results) == 1:
            return _table(results[0], "prediction")
        values = next((r for r in results if isinstance(r, list)), results[1])
        if isinstance(values, list):  # one dict per row, class → probability
            classes = list(values[0]) if values else []
            matrix = np.array([[row[label] for label in classes] for row in values])
            return _probabilities(matrix, classes)
        return _probabilities(values, None)

    def labels(self, rows: Any) -> Any:
        return self._run(rows)[0]

    def _run(self, rows: Any) -> list[Any]:
        if len(self.inputs) == 1:
            only = self.inputs[0]
            feed = {only.name: self._cast(rows.to_numpy(), only, "the table")}
        else:
            feed = {}
            for part, name in zip(self.inputs, rows.columns, strict=True):
                values = self._cast(rows[name].to_numpy(), part, f"column {name!r}")
                feed[part.name] = values[:, None] if len(part.shape) == 2 else values
        return list(self.model.run(None, feed))

    def _cast(self, values: NDArray[Any], part: Any, what: str) -> NDArray[Any]:
        if part.type not in _ONNX_TYPES:
            raise InputError(
                f"The ONNX input {part.name!r} is a {part.type}, which a table cannot fill. "
                "Wrap the model in a function and pass package.module:function."
            )
        if part.type == "tensor(string)":
            return np.vectorize(str, otypes=[object])(values)
        try:
            numbers = values.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"The ONNX model wants numbers, and {what} holds text. Encode it as in the fit."
            ) from None
        wanted = np.dtype(_ONNX_TYPES[part.type])
        if wanted.kind == "i" and not (numbers == np.round(numbers)).all():
            raise InputError(
                f"The ONNX model wants whole numbers, and {what} holds fractions or missing "
                "values. Round or fill them as in the fit."
            )
        return values.astype(wanted)


class _Function:
    """A function of the table."""

    kind = "function"
    features = None
    n_features = None
    classes = None
    wants = None

    def __init__(self, function: Any) -> None:
        self.function = function

    def scores(self, rows: Any) -> tuple[Any, list[str]]:
        values = self.function(rows)
        if hasattr(values, "columns"):
            return np.asarray(values), [str(name) for name in values.columns]
        return _table(values, "prediction")

    def labels(self, rows: Any) -> Any:
        return self.function(rows)


# ---------------------------------------------------------------- where models come from


def predictor_of(model: Any, *, source: str | None = None) -> Predictor:
    """A predictor for a fitted model in memory, a function of a table, or a model file.

    Examples
    --------
    >>> import pandas as pd
    >>> predictor = predictor_of(lambda table: table["income"] / 100)
    >>> predictor.predict(pd.DataFrame({"income": [20, 70]}))["prediction"].tolist()
    [0.2, 0.7]
    """
    if isinstance(model, Predictor):
        return model
    if isinstance(model, (str, os.PathLike)):
        return load_model(os.fspath(model))
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class. Pass a fitted model: {model.__name__}(…).")
    if not _is_model(model) and not callable(model):
        raise InputError(
            f"A {type(model).__name__} is not a model: it has no predict. "
            "Pass a fitted model or a function of the table."
        )
    how = _adapter(model)
    return Predictor(model, source, how.kind, None, how.features, how.n_features, how.classes)


def _is_model(model: Any) -> bool:
    return hasattr(model, "predict") or hasattr(model, "predict_proba") or (
        type(model).__name__ == "InferenceSession"
    )  # fmt: skip


def load_model(source: str, *, trust: Sequence[str] = ()) -> Predictor:
    """Open a model file, or import a function, and get it ready to predict.

    Parameters
    ----------
    source : str
        A file: pickle or joblib (``.pkl``, ``.pickle``, ``.joblib``; see `fairaudit.safe_pickle`
        for what these may contain), ``.skops``, ``.onnx``, ``.json`` or ``.ubj`` (xgboost),
        ``.txt`` (lightgbm). Or ``package.module:function``: a function that takes a table.
    trust : sequence of str
        Names (``package.module.Class``) that a pickle or skops file may use beyond the allow-list.
    """
    source = os.fspath(source)
    trusted = check_trust(trust)
    spec = _FUNCTION.fullmatch(source)
    if spec is not None and not os.path.exists(source):
        return replace(predictor_of(_imported(spec[1], spec[2])), source=source)
    path = Path(source)
    stem = path.name.lower()
    packed = next((end for end in _PACKED if stem.endswith(end)), "")
    suffix = Path(stem.removesuffix(packed)).suffix
    opened = _OPEN.get(suffix)
    if opened is None or (packed and opened is not _open_pickle):
        raise InputError(f"{source!r} is not a kind of model file that is known: {_UNDERSTOOD}.")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {source!r}. Check the path of the model.") from None
    except OSError as error:
        raise InputError(f"The file {source!r} cannot be read: {error.strerror}.") from None
    if not data:
        raise InputError(f"{path.name} is empty. Save the model again.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = opened(data, path.name, trusted)
        except InputError as error:
            saved = _versions(caught)
            raise InputError(f"{error} {saved}" if saved else str(error)) from None
    if isinstance(model, type) or not _is_model(model):
        raise InputError(
            f"{path.name} holds a {type(model).__name__}, not a fitted model. "
            "Save the model itself, the object that has predict."
        )
    return replace(
        predictor_of(model),
        source=source,
        sha256=hashlib.sha256(data).hexdigest(),
        notes=_notes(caught),
    )


def _imported(module: str, name: str) -> Any:
    add_working_directory()
    try:
        found = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        missing = error.name or module
        hint = (
            "Check the name, and run where it can be imported"
            if module == missing or module.startswith(f"{missing}.")
            else f"Install what {module} needs"
        )
        raise InputError(f"There is no module {missing!r} for {module}:{name}. {hint}.") from None
    except AttributeError as error:
        raise InputError(
            f"{module}:{name} is not found: {first_line(error)}. Check the name of the function."
        ) from None
    except Exception as error:
        raise InputError(
            f"Importing {module} failed: {type(error).__name__}: {first_line(error)}. "
            "Correct the module."
        ) from None
    return found


def _versions(caught: Sequence[Any]) -> str:
    """What scikit-learn says about files of other versions, as one sentence."""
    seen: dict[str, list[str]] = {}
    now = ""
    for warning in caught:
        message = warning.message
        if type(message).__name__ == "InconsistentVersionWarning":
            now = message.current_sklearn_version
            names = seen.setdefault(str(message.original_sklearn_version), [])
            if message.estimator_name not in names:
                names.append(message.estimator_name)
    return " ".join(
        f"{_SAVED_BY} {first_line(ValueError(version))} and opened by {now}: "
        f"results may differ ({', '.join(names[:5])})."
        for version, names in seen.items()
    )


def _notes(caught: Sequence[Any]) -> tuple[str, ...]:
    others = [
        first_line(warning.message)
        for warning in caught
        if type(warning.message).__name__ != "InconsistentVersionWarning"
        and not issubclass(warning.category, (DeprecationWarning, PendingDeprecationWarning))
    ]
    versions = _versions(caught)
    return tuple(dict.fromkeys([*([versions] if versions else []), *others]))


def _open_pickle(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    return load_pickle(data, name=name, trust=trust)


def _open_skops(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    import zipfile

    skops_io = _library("skops.io", name, '"fairaudit-icp[skops]"')
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > largest_unpacked(len(data)):
            raise InputError(
                f"{name} unpacks to {size // 2**20} MiB from {len(data):,} bytes. "
                "Save the model again with less compression if that is meant."
            )
        needed = [str(full) for full in skops_io.get_untrusted_types(data=data)]
        refused = [full for full in needed if full not in trust and not is_allowed(full)]
        if refused:
            raise InputError(refusal(name, refused))
        if trust:
            add_working_directory()
        return skops_io.loads(data, trusted=needed)
    except MissingDependencyError as error:
        raise MissingDependencyError(f"{name}: {error}") from None
    except FairAuditError:
        raise
    except Exception as error:
        raise InputError(
            f"{name} cannot be read as a skops file: {first_line(error)}. Save the model again."
        ) from None


def _open_onnx(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    onnxruntime = _library("onnxruntime", name, '"fairaudit-icp[onnx]"')
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised, and need not be printed too
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(
            f"{name} cannot be read as an ONNX model: {first_line(error)}. Export it again."
        ) from None


def _open_xgboost(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    xgboost = _library("xgboost", name)
    model = xgboost.Booster()
    try:
        model.load_model(bytearray(data))
    except Exception as error:
        raise InputError(
            f"{name} is not an xgboost model: {first_line(error)}. Save it with save_model."
        ) from None
    return model


def _open_lightgbm(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    lightgbm = _library("lightgbm", name)
    if not data.startswith(b"tree\n") or b"num_class=" not in data:
        raise InputError(f"{name} is not a lightgbm model. Save it with booster_.save_model.")
    try:
        return lightgbm.Booster(params={"verbosity": -1}, model_str=data.decode("utf-8"))
    except Exception as error:
        raise InputError(
            f"{name} is not a lightgbm model: {first_line(error)}. "
            "Save it with booster_.save_model."
        ) from None


def _library(module: str, name: str, install: str | None = None) -> Any:
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{name} needs {package} ({first_line(error)}). "
            f"Install it: pip install {install or package}"
        ) from None


_OPEN: dict[str, Callable[[bytes, str, tuple[str, ...]], Any]] = {
    ".joblib": _open_pickle,
    ".json": _open_xgboost,
    ".onnx": _open_onnx,
    ".pickle": _open_pickle,
    ".pkl": _open_pickle,
    ".skops": _open_skops,
    ".txt": _open_lightgbm,
    ".ubj": _open_xgboost,
}
