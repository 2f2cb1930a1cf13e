"""Frames of any library as pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["as_pandas"]


def as_pandas(frame: Any) -> pd.DataFrame:
    """A table of any kind with text as names of its columns and numbers as index."""
    import pandas as pd

    table = frame
    if not isinstance(frame, pd.DataFrame):
        import narwhals as nw

        table = nw.from_native(frame, eager_only=True).to_pandas()
    return table.set_axis([str(name) for name in table.columns], axis=1).reset_index(drop=True)
