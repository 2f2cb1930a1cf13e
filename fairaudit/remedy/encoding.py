"""Features as numbers: which columns they are, and the transformer that travels with the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["feature_columns", "frame_to_encode", "transformer_for"]

MOST_CATEGORIES = 100  # of a text column; rarer ones share a column
_LIKE_AN_ID = 0.5  # share of different values


def feature_columns(frame: pd.DataFrame, without: Sequence[str]) -> list[str]:
    """The columns that are features: all that have no other role."""
    features = [name for name in map(str, frame.columns) if name not in without]
    if not features:
        raise InputError("No column is left to be a feature. Pass a table with features.")
    import pandas as pd

    for name in features:
        kind = frame[name].dtype
        if pd.api.types.is_datetime64_any_dtype(kind) or kind.kind == "m":
            raise InputError(
                f"Column {name!r} holds dates or times. Turn it into numbers, or 'drop' it.",
                argument="drop",
            )
        if kind.kind == "f" and np.isinf(frame[name].to_numpy()).any():
            raise InputError(
                f"Column {name!r} has an infinite value. Cap it, or 'drop' the column.",
                argument="drop",
            )
        if frame[name].isna().all():
            raise InputError(f"Column {name!r} is empty. Put it into 'drop'.", argument="drop")
    return features


def frame_to_encode(X: Any, *, always: bool = False) -> pd.DataFrame | None:
    """The features as a frame if some are text or missing; None if all are numbers."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    from fairaudit.data.reading.frames import as_pandas

    if hasattr(X, "columns"):
        frame = as_pandas(X)
        numbers = all(is_numeric_dtype(kind) for kind in frame.dtypes)
        return frame if always or not numbers or frame.isna().any(axis=None) else None
    values = np.asarray(X) if always else X
    if not isinstance(values, np.ndarray) or values.ndim != 2:
        return None
    if always or (values.dtype.kind == "f" and np.isnan(values).any()):
        return pd.DataFrame(values, columns=[f"x{place}" for place in range(values.shape[1])])
    return None


def transformer_for(frame: pd.DataFrame) -> tuple[Any, tuple[str, ...]]:
    """An unfitted ColumnTransformer for these features, and what to know about it."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [n for n in frame if is_numeric_dtype(frame[n]) and not is_bool_dtype(frame[n])]
    words = [name for name in frame if name not in numbers]
    parts: list[tuple[str, Any, list[str]]] = []
    if numbers:
        steps = [
            ("fill", SimpleImputer(strategy="median", keep_empty_features=True)),
            ("scale", StandardScaler()),
        ]
        parts.append(("numbers", Pipeline(steps), numbers))
    if words:
        encoder = OneHotEncoder(
            handle_unknown="ignore", sparse_output=False, max_categories=MOST_CATEGORIES
        )
        parts.append(("categories", encoder, words))
    notes = [
        f"The text column {name!r} has {count:,} different values; the {MOST_CATEGORIES - 1} most "
        "frequent are used. Leave it out (drop) if it names people."
        for name in words
        if (count := frame[name].nunique()) > max(MOST_CATEGORIES, _LIKE_AN_ID * len(frame))
    ]
    missing = [name for name in numbers if frame[name].isna().any()]
    if missing:
        listed = ", ".join(missing[:6]) + (", …" if len(missing) > 6 else "")
        notes.append(f"Missing numbers are filled with the median of the training rows: {listed}.")
    return ColumnTransformer(parts, verbose_feature_names_out=False), tuple(notes)
