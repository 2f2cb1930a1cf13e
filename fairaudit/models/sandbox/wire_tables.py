"""Tables as messages: columns of numbers as arrays, others as levels and their codes.

The table goes to the model as it is, with its types and the kinds of its missing values. What
comes back is read by rules of its own: known types only, and as many rows as were asked for.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from fairaudit.models.sandbox.wire import Broken, Message

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["is_short", "pack_table", "unpack_table"]

_WHOLE = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_EXTENSION = ("boolean", "Float32", "Float64", *_WHOLE)
_TEXT = ("object", "str", "string")
_LONGEST = 10_000  # characters of one value that a model returns
_MOST_COLUMNS = 10_000  # of one answer


def pack_table(table: pd.DataFrame) -> Message:
    arrays: list[NDArray[Any]] = []
    columns = [
        {"name": str(name), **_pack(table.iloc[:, j], arrays)}
        for j, name in enumerate(table.columns)
    ]
    return Message({"columns": columns, "rows": len(table)}, arrays)


def unpack_table(message: Message, *, rows: int | None = None) -> pd.DataFrame:
    """The table of a message; `rows`: it comes from a model and must have as many."""
    import pandas as pd

    try:
        content = message.content
        count = int(content["rows"]) if rows is None else rows
        if rows is not None and not 0 < len(content["columns"]) <= _MOST_COLUMNS:
            raise Broken("columns")
        arrays = iter(message.arrays)
        series = [_unpack(column, arrays, count, own=rows is None) for column in content["columns"]]
        names = [column["name"] for column in content["columns"]]
        if not all(isinstance(name, str) and len(name) <= _LONGEST for name in names):
            raise Broken("names")
        if any(len(values) != count for values in series):
            raise Broken("rows")
        if not series:
            return pd.DataFrame(index=range(count))
        return pd.concat(series, axis=1).set_axis(names, axis=1)
    except Broken:
        raise
    except Exception as error:  # whatever a crafted message makes of pandas
        raise Broken(type(error).__name__) from None


def _pack(column: pd.Series[Any], arrays: list[NDArray[Any]]) -> dict[str, Any]:
    import numpy as np
    import pandas as pd

    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        arrays.append(np.asarray(column.cat.codes))
        levels = _pack(column.cat.categories.to_series(), arrays)
        return {"levels": levels, "ordered": bool(kind.ordered), "count": len(kind.categories)}
    if isinstance(kind, np.dtype) and kind.kind in "biufMm" and kind.itemsize <= 8:
        arrays.append(column.to_numpy())
        return {"dtype": str(kind)}
    if isinstance(kind, pd.StringDtype):
        codes, levels = pd.factorize(column)
        arrays.append(codes)
        return {"dtype": str(kind), "texts": [str(level) for level in levels]}
    values = [_tagged(value) for value in column.astype(object).to_numpy()]
    return {"dtype": str(kind), "values": values}


def _unpack(
    packed: dict[str, Any], arrays: Iterator[NDArray[Any]], rows: int, *, own: bool
) -> pd.Series[Any]:
    import numpy as np
    import pandas as pd

    if "levels" in packed:
        if not own:
            raise Broken("categories")
        codes = next(arrays)
        levels = pd.Index(_unpack(packed["levels"], arrays, packed["count"], own=True))
        return pd.Series(pd.Categorical.from_codes(codes, levels, ordered=packed["ordered"]))
    dtype = packed["dtype"]
    if not own and dtype not in (*_EXTENSION, *_TEXT) and np.dtype(dtype).kind not in "biuf":
        raise Broken("dtype")
    if "texts" in packed:
        return _texts(packed["texts"], next(arrays), dtype, own=own)
    if "values" in packed:
        values = [_untagged(value, own=own) for value in packed["values"]]
        return pd.Series(values, dtype=dtype if own or dtype in _EXTENSION else object)
    array = next(arrays)
    if array.ndim != 1 or len(array) != rows or str(array.dtype) != dtype:
        raise Broken("array")
    return pd.Series(array)


def _texts(levels: Any, codes: NDArray[Any], dtype: str, *, own: bool) -> pd.Series[Any]:
    import numpy as np
    import pandas as pd

    short = all(isinstance(level, str) and (own or len(level) <= _LONGEST) for level in levels)
    if not short or codes.dtype.kind != "i" or dtype not in ("str", "string"):
        raise Broken("texts")
    if codes.ndim != 1 or (len(codes) and not -1 <= codes.min() <= codes.max() < len(levels)):
        raise Broken("codes")
    known = pd.array([*levels, None], dtype=dtype)  # -1 takes the last
    return pd.Series(known.take(np.where(codes < 0, len(levels), codes)))


def is_short(value: Any) -> bool:
    """Whether a text or whole number is of a size that labels have."""
    if isinstance(value, str):
        return len(value) <= _LONGEST
    return not isinstance(value, int) or abs(value) < 2**64


def _tagged(value: Any) -> Any:
    """JSON for one value of a column of objects; a list where JSON has no such value."""
    import pandas as pd

    if value is pd.NA:
        return ["NA"]
    if value is pd.NaT:
        return ["NaT"]
    if isinstance(value, datetime.datetime):
        return ["time", value.isoformat()]
    if isinstance(value, datetime.date):
        return ["date", value.isoformat()]
    if isinstance(value, Decimal):
        return ["decimal", str(value)]
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _untagged(value: Any, *, own: bool) -> Any:
    import pandas as pd

    if not isinstance(value, list):
        if isinstance(value, dict) or not (own or is_short(value)):
            raise Broken("value")
        return value
    tag = value[0]
    if tag in ("NA", "NaT"):
        return pd.NA if tag == "NA" else pd.NaT
    if not own:
        raise Broken("tag")
    if tag == "time":
        return pd.Timestamp(value[1])
    return Decimal(value[1]) if tag == "decimal" else datetime.date.fromisoformat(value[1])
