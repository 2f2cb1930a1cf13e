"""Where models come from: a file, a function by name, an object in memory."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from fairaudit.errors import InputError, retold
from fairaudit.models.adapters import adapter_of
from fairaudit.models.boosters import open_lightgbm, open_xgboost
from fairaudit.models.catboost_file import open_catboost
from fairaudit.models.endpoint import is_endpoint, open_endpoint
from fairaudit.models.foreign import foreign_file
from fairaudit.models.keras_file import open_keras
from fairaudit.models.mlflow_uri import fetched_model, is_mlflow
from fairaudit.models.onnx import open_onnx
from fairaudit.models.predictor import SAVED_BY, Predictor
from fairaudit.models.safe_pickle import add_working_directory, check_trust, first_line, load_pickle
from fairaudit.models.sandbox import Limits, Model, SandboxedModel, describe_gaps, is_possible
from fairaudit.models.skops_file import open_skops
from fairaudit.models.torch_program import open_torch

_PACKED = (".gz", ".z", ".bz2", ".xz", ".lzma")
#: Warnings of xgboost begin with the time and a line of its source, and say more than one line.
_OF_XGBOOST = re.compile(r"\[[\d:]+\] [A-Z]+: \S+:\d+: ")
_ONCE = "If you are loading a serialized model"  # said of the first old file of a process only
_FUNCTION = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)", re.ASCII)
_UNDERSTOOD = (
    ".pkl, .pickle and .joblib (scikit-learn, xgboost, lightgbm, catboost), .skops, .onnx, .json "
    "and .ubj (xgboost), .txt (lightgbm), .cbm (catboost), .keras, .pt2 (torch.export), or "
    "package.module:function"
)


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
    how = adapter_of(model)
    return Predictor(
        model=model,
        source=source,
        kind=how.kind,
        sha256=None,
        features=how.features,
        n_features=how.n_features,
        classes=how.classes,
    )


def _is_model(model: Any) -> bool:
    return (
        hasattr(model, "predict")
        or hasattr(model, "predict_proba")
        or type(model).__name__ in ("ExportedProgram", "InferenceSession")
    )


def load_model(
    source: str, *, trust: Sequence[str] = (), sandbox: bool | Limits = True
) -> Predictor:
    """Open a model file, or import a function, and get it ready to predict.

    Parameters
    ----------
    source : str
        A file: pickle or joblib (``.pkl``, ``.pickle``, ``.joblib``; see
        `fairaudit.models.safe_pickle` for what these may contain), ``.skops``, ``.onnx``,
        ``.json`` or ``.ubj`` (xgboost), ``.txt`` (lightgbm), ``.cbm`` (catboost), ``.keras``,
        ``.pt2`` (`torch.export`). Or ``package.module:function``: a function that takes a table.
        Or the address of a service (``http://…``, see `fairaudit.models.endpoint`). Or a model of
        MLflow (``models:/name/1``, ``runs:/…``), whose file is fetched and then opened like any
        other.
    trust : sequence of str
        Names (``package.module.Class``) that a pickle or skops file may use beyond the allow-list.
    sandbox : bool or Limits
        Whether a file is opened and asked in a process that the kernel confines, and what that may
        use. A function is code of yours and runs in this process, unless limits are given.
        False: the file is opened here, where `Predictor.model` is the object itself.
    """
    source = os.fspath(source)
    trusted = check_trust(trust)
    if is_endpoint(source):
        return open_endpoint(source)
    spec = _FUNCTION.fullmatch(source)
    if spec is not None and not os.path.exists(source):
        if not isinstance(sandbox, Limits):
            return import_model(source)
        return _confined(source, None, trusted, sandbox)
    if is_mlflow(source):
        name, data = fetched_model(source)
        opened = _opened(name, data, trusted, sandbox)
        return replace(opened, source=source)
    return _opened(source, _read(source), trusted, sandbox)


def _opened(
    source: str, data: bytes, trusted: tuple[str, ...], sandbox: bool | Limits
) -> Predictor:
    """A model from the bytes of its file, whose name says its kind."""
    if sandbox is False or not is_possible():
        predictor = open_model(data, source, trusted)
        gap = () if sandbox is False else (f"{os.name} has no sandbox for the model.",)
        return replace(predictor, notes=(*predictor.notes, *gap))
    return _confined(source, data, trusted, sandbox if isinstance(sandbox, Limits) else Limits())


def _confined(
    source: str, data: bytes | None, trusted: tuple[str, ...], limits: Limits
) -> Predictor:
    if not is_possible():
        raise InputError(
            "'isolate' needs Linux or macOS. Audit predictions instead of the model.",
            argument="isolate",
        )
    own = data is None or bool(trusted)  # code of the caller, which may lie in this folder
    model = SandboxedModel(
        Model(
            name=source if data is None else Path(source).name,
            data=data,
            trust=trusted,
            limits=limits,
            folder=os.getcwd() if own else None,
        )
    )
    gaps = describe_gaps(model.layers)
    return Predictor(
        model=model,
        source=source,
        kind=model.kind,
        sha256=None if data is None else hashlib.sha256(data).hexdigest(),
        features=model.features,
        n_features=model.n_features,
        classes=model.classes,
        notes=model.notes if gaps is None else (*model.notes, gaps),
    )


def _opener(source: str) -> Callable[[bytes, str, tuple[str, ...]], Any]:
    stem = Path(source).name.lower()
    packed = next((end for end in _PACKED if stem.endswith(end)), "")
    suffix = Path(stem.removesuffix(packed)).suffix
    opened = OPEN.get(suffix)
    if opened is None or (packed and opened is not open_pickle):
        raise foreign_file(source, suffix) or InputError(
            f"{source!r} is not a known kind of model file: {_UNDERSTOOD}."
        )
    return opened


def _read(source: str) -> bytes:
    _opener(source)
    path = Path(source)
    if path.exists() and not (path.is_file() or path.is_dir()):  # a device has no end
        raise InputError(
            f"{source!r} is not a file but a device or pipe. Save the model to a file."
        )
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {source!r}. Check the path of the model.") from None
    except OSError as error:
        raise InputError(f"The file {source!r} cannot be read: {error.strerror}.") from None
    if not data:
        raise InputError(f"{path.name} is empty. Save the model again.")
    return data


def open_model(data: bytes, source: str, trusted: tuple[str, ...]) -> Predictor:
    """The model in the bytes of a file, opened in this process through the allow-list."""
    name = Path(source).name
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # of libraries built for an older numpy, which ignores it too; it says nothing of the model
        warnings.filterwarnings("ignore", message=r"numpy\.\w+ size changed")
        try:
            model = _opener(source)(data, name, trusted)
        except InputError as error:
            saved = _versions(caught)
            raise retold(error, f"{error} {saved}" if saved else str(error)) from error.__cause__
    if isinstance(model, type) or not _is_model(model):
        raise InputError(
            f"{name} holds a {type(model).__name__}, not a fitted model. "
            "Save the model itself, the object that has predict."
        )
    return replace(
        predictor_of(model),
        source=source,
        sha256=hashlib.sha256(data).hexdigest(),
        notes=_notes(caught),
        guarded=not trusted,
    )


def opened_here(predictor: Predictor) -> Predictor:
    """The same file in this process, opened by the allow-list, for callers that need the object.

    The sandbox has opened it before, and nothing happened.
    """
    held = predictor.model
    if not isinstance(held, SandboxedModel) or held.data is None or predictor.source is None:
        return predictor
    opened = open_model(held.data, predictor.source, held.trust)
    held.close()
    said = "The model was opened in the sandbox and then in this process, which needs it."
    return replace(opened, notes=(*opened.notes, said))


def import_model(source: str) -> Predictor:
    """The function ``package.module:function``, imported here."""
    module, _, name = source.partition(":")
    return replace(predictor_of(_import_function(module, name)), source=source)


def _import_function(module: str, name: str) -> Any:
    add_working_directory()
    try:
        function = getattr(import_module(module), name)
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
    except Exception as error:  # the code of the module
        raise InputError(
            f"Importing {module} failed: {type(error).__name__}: {first_line(error)}. "
            "Correct the module."
        ) from error
    return function


def _versions(caught: Sequence[Any]) -> str:
    """What scikit-learn says about files of other versions, as one sentence."""
    by_version: dict[str, list[str]] = {}
    now = ""
    for warning in caught:
        message = warning.message
        if type(message).__name__ == "InconsistentVersionWarning":
            now = message.current_sklearn_version
            names = by_version.setdefault(str(message.original_sklearn_version), [])
            if message.estimator_name not in names:
                names.append(message.estimator_name)
    return " ".join(
        f"{SAVED_BY} {first_line(ValueError(version))} and opened by {now}: "
        f"results may differ ({', '.join(names[:5])})."
        for version, names in by_version.items()
    )


def _notes(caught: Sequence[Any]) -> tuple[str, ...]:
    texts = [_OF_XGBOOST.sub("", str(warning.message), count=1) for warning in caught]
    others = [
        first_line(Warning(text))
        for text, warning in zip(texts, caught, strict=True)
        if type(warning.message).__name__ != "InconsistentVersionWarning"
        and not issubclass(warning.category, (DeprecationWarning, PendingDeprecationWarning))
        and not text.startswith(_ONCE)
    ]
    versions = _versions(caught)
    return tuple(dict.fromkeys([*([versions] if versions else []), *others]))


def open_pickle(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    return load_pickle(data, name=name, trust=trust)


OPEN: dict[str, Callable[[bytes, str, tuple[str, ...]], Any]] = {
    ".cbm": open_catboost,
    ".joblib": open_pickle,
    ".json": open_xgboost,
    ".keras": open_keras,
    ".onnx": open_onnx,
    ".pickle": open_pickle,
    ".pkl": open_pickle,
    ".pt2": open_torch,
    ".skops": open_skops,
    ".txt": open_lightgbm,
    ".ubj": open_xgboost,
}
