"""Trade-off curves in the shape of the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairaudit.errors import MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["panels"]

_COLORS = (
    "#1f5f8b",
    "#b5541c",
    "#3a7d44",
    "#7a4d9f",
    "#a38a00",
    "#8c2f39",
    "#555555",
    "#2a9d8f",
    "#111111",
    "#d08ba7",
)


def panels(
    frame: pd.DataFrame,
    *,
    panel: Sequence[str],
    parameter: str,
    titles: dict[str, str],
    measures: dict[str, str],
    name: Any = str,
) -> Any:
    """One row of panels per measure: mean loss against the measure, a line per method.

    Parameters
    ----------
    frame : DataFrame
        With columns ``method``, ``loss``, the measures, and those of `panel` and `parameter`.
    panel : names of columns
        A panel for each of their combinations.
    parameter : str
        Orders the points of a line.
    titles : mapping
        Methods to draw, and what to call them.
    measures : mapping
        Columns of `frame` → label of the axis.
    name : function
        Title of a panel from its key.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("Figures need matplotlib: pip install matplotlib") from None
    groups = list(frame.groupby(list(panel), sort=False))
    figure = Figure(figsize=(3.1 * len(groups), 2.9 * len(measures)), layout="constrained")
    axes = figure.subplots(len(measures), len(groups), squeeze=False)
    for row, (measure, label) in enumerate(measures.items()):
        for axis, (key, some) in zip(axes[row], groups, strict=True):
            for color, (method, title) in zip(_COLORS, titles.items(), strict=False):
                points = some[some["method"] == method].groupby(parameter, sort=False)
                means = points[["loss", measure]].mean().dropna()
                if means.empty:
                    continue
                dashed, limits = method == "mixture", axis.get_ylim()
                axis.plot(
                    means[measure],
                    means["loss"],
                    color=color,
                    label=title,
                    linewidth=1.2,
                    marker=None if dashed else "o",
                    markersize=3.5,
                    linestyle="--" if dashed else "-",
                )
                if dashed:  # it may lead far away from what is compared
                    axis.set_ylim(limits)
            axis.set_visible(bool(axis.lines))
            axis.set_title(name(key), fontsize=9)
            axis.set_xlabel(label, fontsize=8)
            axis.tick_params(labelsize=7)
        axes[row][0].set_ylabel("loss", fontsize=8)
    handles: dict[str, Any] = {}
    for axis in axes.flat:
        for line, text in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(text, line)
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=min(4, 2 * len(groups)),
        fontsize=8,
        frameon=False,
    )
    return figure
