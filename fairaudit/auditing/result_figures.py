"""Parts of an audit as figures; matplotlib is imported where one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairaudit._words import in_figure
from fairaudit.auditing.result_frames import pick
from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.testing.permutation_result import plot_null

__all__ = ["FIGURES", "draw"]

#: Told apart by people who do not see all colors (Okabe and Ito).
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DASHES = ("-", "--", ":", "-.")
_BAND = "#e8e8e8"
_MOST_GROUPS = 30  # in one figure: the largest
_MOST_CURVES = 7


def draw(result: Any, what: str, ax: Any, **options: Any) -> Any:
    """The figure of this name, on `ax` or on Axes of its own; returns what was drawn on."""
    figure = pick(FIGURES, what, "figure")
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError:
        raise MissingDependencyError(
            "Figures need matplotlib. Install it: pip install matplotlib"
        ) from None
    return figure(result, ax, **options)


def _make_axes(ax: Any, height: float, *, panels: int = 1, width: float = 6.4) -> Sequence[Any]:
    import matplotlib.pyplot as plt

    if ax is not None:
        return [ax] * panels
    _, axes = plt.subplots(
        1,
        panels,
        figsize=(width * (1 + 0.6 * (panels - 1)), height),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    return list(axes[0])


def _finish(ax: Any, **labels: str) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(**{where: in_figure(text) for where, text in labels.items()})
    return ax


def _draw_null(result: Any, ax: Any) -> Any:
    joint = result.joint
    return plot_null(result.null, joint.value, joint.p_value, joint.statistic, ax)


def _draw_gaps(result: Any, ax: Any, rate: str | None = None) -> Any:
    """Gaps of groups by size, with intervals that hold together; a panel per rate."""
    frame = result.to_frame("gaps").dropna(subset=["value"])
    if rate is not None:
        pick(dict.fromkeys(frame["rate"]), rate, "rate")
        frame = frame[frame["rate"] == rate]
    _require_rows(frame, "gaps")
    rates = list(dict.fromkeys(frame["rate"]))
    largest = frame.groupby("group")["value"].agg(lambda values: values.abs().max())
    groups = list(largest.sort_values().index[-_MOST_GROUPS:])
    axes = _make_axes(ax, 1.2 + 0.3 * len(groups), panels=len(rates))
    for number, (name, panel) in enumerate(zip(rates, axes, strict=True)):
        shown = frame[(frame["rate"] == name) & frame["group"].isin(groups)]
        color = _COLORS[number % len(_COLORS)] if ax is not None else _COLORS[0]
        away = 0.25 * (number - (len(rates) - 1) / 2) if ax is not None else 0.0
        _draw_intervals(
            panel,
            shown,
            [groups.index(group) + away for group in shown["group"]],
            color=color,
            label=name,
        )
        limit = result.tolerance.get(f"{name.lower()}_gap")
        if limit is not None:
            panel.axvspan(-limit, limit, color=_BAND, zorder=0, label="tolerance")
        panel.axvline(0, color="0.5", linewidth=1, zorder=1)
        confidence = f"{frame['confidence'].iloc[0]:.0%} intervals, all at once"
        unit = "predictions given the outcome" if name == "prediction" else name
        label = f"gap in {unit if ax is None else ', '.join(rates)} ({confidence})"
        _finish(panel, xlabel=label)
    axes[0].set_yticks(range(len(groups)), [in_figure(name) for name in groups])
    if ax is not None and len(rates) > 1:
        axes[0].legend(frameon=False)
    return axes[0] if ax is not None or len(axes) == 1 else axes


def _draw_intervals(
    ax: Any, frame: Any, places: Sequence[float], *, color: str, label: str
) -> None:
    """Points with intervals to both sides; filled where 0 lies outside."""
    low = (frame["value"] - frame["low"].fillna(frame["value"])).clip(lower=0)
    high = (frame["high"].fillna(frame["value"]) - frame["value"]).clip(lower=0)
    ax.errorbar(
        frame["value"].astype(float),
        places,
        xerr=[low.astype(float), high.astype(float)],
        fmt="none",
        ecolor=color,
        elinewidth=1.4,
        capsize=2,
    )
    filled = frame["beyond_zero"] if "beyond_zero" in frame else [True] * len(frame)
    faces = [color if fill else "white" for fill in filled]
    ax.scatter(
        frame["value"].astype(float),
        places,
        s=28,
        color=faces,
        edgecolors=color,
        zorder=3,
        label=in_figure(label),
    )


def _draw_groups(result: Any, ax: Any, measure: str | None = None) -> Any:
    """What the groups get, with 95 % intervals."""
    frame = result.to_frame("groups").dropna(subset=["value"])
    _require_rows(frame, "groups")
    known = list(dict.fromkeys(frame["measure"]))
    name = known[0] if measure is None else measure
    if measure is None and "TPR" in known:
        name = "TPR"
    pick(dict.fromkeys(known), name, "measure")
    shown = frame[frame["measure"] == name].sort_values("value").tail(_MOST_GROUPS)
    (panel,) = _make_axes(ax, 1.2 + 0.3 * len(shown))
    _draw_intervals(panel, shown, range(len(shown)), color=_COLORS[0], label=name)
    panel.set_yticks(range(len(shown)), [in_figure(name) for name in shown["group"]])
    return _finish(panel, xlabel=f"{name} (95 %)")


def _draw_curves(result: Any, ax: Any, attribute: str | None = None) -> Any:
    """Mean scores or predictions over a number, less the mean, with simultaneous bands."""
    frame = result.to_frame("curves")
    _require_rows(frame, "curves", "they are drawn after a rejection, for attributes of numbers")
    known = list(dict.fromkeys(frame["attribute"]))
    name = known[0] if attribute is None else attribute
    pick(dict.fromkeys(known), name, "curve over")
    chosen = frame[frame["attribute"] == name]
    lines = list(chosen.groupby(["outcome", "group"], dropna=False, sort=False))
    whole = [line for line in lines if line[0][1] is None or line[0][1] != line[0][1]]
    (panel,) = _make_axes(ax, 4.0)
    for number, ((outcome, group), line) in enumerate((whole or lines)[:_MOST_CURVES]):
        color = _COLORS[number % len(_COLORS)]
        words = [text for text in (group, outcome) if isinstance(text, str)]
        panel.plot(
            line["x"], line["value"], color=color, label=in_figure(", ".join(words) or "all")
        )
        panel.fill_between(line["x"], line["low"], line["high"], color=color, alpha=0.15, lw=0)
    panel.axhline(0, color="0.5", linewidth=1, zorder=1)
    panel.legend(frameon=False)
    mean = "mean score" if result.table.outcome.levels else "mean prediction"
    return _finish(panel, xlabel=name, ylabel=f"difference to the {mean}")


def _draw_scores(result: Any, ax: Any, attribute: str | None = None, outcome: Any = None) -> Any:
    """Distributions of scores by group given the outcome; of a regression, mean predictions."""
    frame = result.to_frame("scores")
    if frame.empty:
        return _draw_predictions(result, ax, attribute)
    frame = _of_attribute(result, frame, attribute)
    outcomes = list(dict.fromkeys(frame["outcome"]))
    if outcome is not None:
        pick(dict.fromkeys(outcomes), str(outcome), "outcome")
        outcomes = [str(outcome)]
    elif ax is not None:
        positive = result.portrait.scores[0].positive
        outcomes = [positive if positive in outcomes else outcomes[0]]
    axes = _make_axes(ax, 3.6, panels=len(outcomes), width=5.0)
    for panel, name in zip(axes, outcomes, strict=True):
        shown = frame[frame["outcome"] == name]
        for number, (level, line) in enumerate(shown.groupby("level", sort=False)):
            width = line["stop"] - line["start"]
            density = line["rows"] / max(line["rows"].sum(), 1) / width
            panel.stairs(
                density,
                [*line["start"], line["stop"].iloc[-1]],
                color=_COLORS[number % len(_COLORS)],
                linestyle=_DASHES[number % len(_DASHES)],
                linewidth=1.6,
                label=in_figure(level),
            )
        threshold = result.portrait.scores[0].threshold
        if threshold is not None:
            panel.axvline(threshold, color="0.5", linewidth=1, linestyle=":", zorder=1)
        among = f"{result.table.outcome.name} = {name}"
        _finish(panel, xlabel=f"score, among {among}", ylabel="density")
    axes[0].legend(frameon=False, title=in_figure(frame["attribute"].iloc[0]))
    return axes[0] if len(axes) == 1 or ax is not None else axes


def _draw_predictions(result: Any, ax: Any, attribute: str | None) -> Any:
    """Mean predictions over the outcome, with 95 % bands."""
    frame = result.to_frame("predictions").dropna(subset=["mean"])
    frame = _of_attribute(result, frame, attribute)
    (panel,) = _make_axes(ax, 4.0)
    for number, (level, line) in enumerate(frame.groupby("level", sort=False)):
        color, mean = _COLORS[number % len(_COLORS)], line["mean"].astype(float)
        reach = 1.96 * line["deviation"].astype(float) / line["rows"].clip(lower=1) ** 0.5
        panel.plot(line["outcome"], mean, color=color, label=in_figure(level))
        panel.fill_between(line["outcome"], mean - reach, mean + reach, color=color, alpha=0.15)
    panel.legend(frameon=False, title=in_figure(frame["attribute"].iloc[0]))
    return _finish(panel, xlabel=result.table.outcome.name, ylabel="mean prediction (95 %)")


def _of_attribute(result: Any, frame: Any, attribute: str | None) -> Any:
    """Rows about one attribute: that of the first fact with a picture, unless one is asked for."""
    _require_rows(frame, "scores", "it has no scores, was made in shards, or all groups are hidden")
    known = list(dict.fromkeys(frame["attribute"]))
    told = [name for statement in result.statements for name in statement.attributes]
    name = next((name for name in told if name in known), known[0])
    if attribute is not None:
        pick(dict.fromkeys(known), attribute, "scores by")
        name = attribute
    return frame[frame["attribute"] == name]


def _draw_power(result: Any, ax: Any) -> Any:
    """The smallest violations that the audit would have found."""
    frame = result.to_frame("power").dropna(subset=["shift"]).sort_values("shift")
    _require_rows(frame, "power", "it was not computed")
    (panel,) = _make_axes(ax, 1.2 + 0.3 * len(frame))
    panel.barh(range(len(frame)), frame["shift"].astype(float), color=_COLORS[0], height=0.6)
    panel.set_yticks(range(len(frame)), [in_figure(name) for name in frame["group"]])
    share = f"{frame['power'].iloc[0]:.0%}"
    return _finish(panel, xlabel=f"found in {share} of tables: score shift, standard deviations")


def _require_rows(frame: Any, what: str, why: str = "the audit has none to show") -> None:
    if frame.empty:
        raise InputError(f"There is nothing to draw for {what!r}: {why}.", argument="what")


FIGURES: dict[str, Callable[..., Any]] = {
    "null": _draw_null,
    "gaps": _draw_gaps,
    "groups": _draw_groups,
    "curves": _draw_curves,
    "scores": _draw_scores,
    "power": _draw_power,
}
