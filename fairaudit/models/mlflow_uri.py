"""Models of MLflow by their address, `models:/name/version` or `runs:/…`, without running them.

MLflow's own way, `mlflow.pyfunc.load_model`, unpickles what it finds. Here only the files are
fetched: the one that the model's description names is opened like any other model file, through the
allow-list and in the sandbox.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from fairaudit.errors import InputError, MissingDependencyError

__all__ = ["fetched_model", "is_mlflow"]

#: Flavor of MLflow → what its description calls the file.
_FILES = {
    "sklearn": "pickled_model",
    "xgboost": "data",
    "lightgbm": "data",
    "catboost": "data",
    "onnx": "data",
    "keras": "data",
}
_IN_FOLDER = {"keras": "model.keras"}  # what the description names is a folder
_ENDS = {".cb": ".cbm", ".lgb": ".txt"}  # MLflow's endings of files of catboost and lightgbm


def is_mlflow(source: str) -> bool:
    """Whether a model is named as MLflow names it."""
    return source.startswith(("models:/", "runs:/"))


def fetched_model(source: str) -> tuple[str, bytes]:
    """The name and the bytes of the one file that holds a model of MLflow."""
    try:
        from mlflow.artifacts import download_artifacts
        from mlflow.exceptions import MlflowException
    except ImportError as error:
        raise MissingDependencyError(
            "Models of MLflow need its client. Run: pip install mlflow-skinny"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        try:
            place = Path(download_artifacts(artifact_uri=source, dst_path=folder)).resolve()
        except (MlflowException, OSError) as error:
            told = " ".join(str(error).split())[:300]
            raise InputError(f"MLflow has no {source!r}: {told}", argument="model") from error
        file = place if place.is_file() else model_file(place, source)
        return file.stem + _ENDS.get(file.suffix, file.suffix), file.read_bytes()


def model_file(folder: Path, source: str) -> Path:
    """The file that the description of a model names."""
    import yaml

    broken = (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
    try:
        description: Any = yaml.safe_load((folder / "MLmodel").read_text(encoding="utf-8"))
        flavors = {str(name): dict(told or {}) for name, told in description["flavors"].items()}
    except (*broken, yaml.YAMLError) as error:
        raise InputError(
            f"{source!r} has no description that can be read (MLmodel).", argument="model"
        ) from error
    for flavor, key in _FILES.items():
        name = flavors.get(flavor, {}).get(key)
        if not isinstance(name, str) or "\0" in name:
            continue
        file = (folder / name / _IN_FOLDER.get(flavor, "")).resolve()
        if folder not in file.parents or not file.is_file():
            raise InputError(f"{source!r} names a file that is not its own.", argument="model")
        return file
    raise InputError(
        f"{source!r} is a model of {', '.join(sorted(flavors)[:9])}; known here: "
        f"{', '.join(_FILES)}. Audit a column of predictions instead.",
        argument="model",
    )
