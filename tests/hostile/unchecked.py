"""Opens files as their own libraries do, without any check: what the kernel alone holds.

Only for use inside of the sandbox. `opener_of` names the function for a file.
"""

from __future__ import annotations

import io
import pickle
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairaudit.models import predictor_of

__all__ = ["opener_of"]


def opener_of(file: str) -> str:
    """The opener for a file of this name, as `Model.opener` wants it."""
    suffix = Path(file.removesuffix(".gz")).suffix.lstrip(".")
    return f"unchecked:open_{suffix if f'open_{suffix}' in globals() else 'pickle'}"


def _predictor(model: Any) -> Any:
    return replace(predictor_of(model), source="model.pkl")


def open_pickle(data: bytes) -> Any:
    if data[:2] == b"\x1f\x8b":
        data = zlib.decompress(data, 31)
    return _predictor(pickle.loads(data))


def open_joblib(data: bytes) -> Any:
    import joblib

    return _predictor(joblib.load(io.BytesIO(data)))


def open_skops(data: bytes) -> Any:
    import skops.io

    return _predictor(skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data)))


def open_onnx(data: bytes) -> Any:
    import onnxruntime

    return _predictor(onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]))


def open_ubj(data: bytes) -> Any:
    import xgboost

    booster = xgboost.Booster()
    booster.load_model(bytearray(data))
    return _predictor(booster)


open_json = open_ubj


def open_txt(data: bytes) -> Any:
    import lightgbm

    return _predictor(lightgbm.Booster(params={"verbosity": -1}, model_str=data.decode("utf-8")))


def open_cbm(data: bytes) -> Any:
    import catboost

    return _predictor(catboost.CatBoost().load_model(blob=data))
