"""Frames of any library as pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd

__all__ = ["as_pandas", "is_lazy", "read_frame"]


def as_pandas(frame: Any) -> pd.DataFrame:
    """A table of any kind with text as names of its columns and numbers as index."""
    import pandas as pd

    table = frame if isinstance(frame, pd.DataFrame) else read_frame(frame).to_pandas()
    return table.set_axis([str(name) for name in table.columns], axis=1).reset_index(drop=True)


def read_frame(frame: Any) -> nw.DataFrame[Any]:
    """A table of any library in memory, as narwhals has it."""
    import narwhals as nw

    if is_lazy(frame):
        raise InputError(
            f"A {type(frame).__name__} is a lazy table: its rows are elsewhere. Collect it first; "
            "an audit of classes as outcome counts it where it is."
        )
    return nw.from_native(frame, eager_only=True)


def is_lazy(data: Any) -> bool:
    """Whether the rows are elsewhere: lazy Polars, a relation of DuckDB, Ibis, Spark."""
    import narwhals as nw

    if isinstance(data, nw.DataFrame | nw.LazyFrame):
        return isinstance(data, nw.LazyFrame)
    if hasattr(data, "to_delayed") or nw.dependencies.is_pandas_dataframe(data):
        return False  # Dask has its own engine; pandas may have a name twice, which is told later
    return isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame)
