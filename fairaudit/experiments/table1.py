"""Table 1 of the paper: every method where its curve reaches the KPC of the paper's FairICP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.experiments.frontier import (
    Curves,
    curves,
    frontier_at,
    loss_difference,
    loss_error,
    reaches,
)
from fairaudit.experiments.paper import RUNTIME, TABLE1
from fairaudit.experiments.real import METHODS, TASKS, methods, split_rows
from fairaudit.experiments.runner import Unit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WORK", "beside_rivals", "figure", "page", "rows_of", "runtime_page", "summary", "units"]

WORK = split_rows
_LEVEL = 0.05
_LEVELS = (1, 2, 4)  # multiples of the paper's KPC
_FAIRICP = ("kernel", "kernel-ce", "adversarial", "corrected")
_MEASURES = ("loss", "kpc", "deo", "kpc_random")


def units(
    runs: int,
    *,
    tasks: tuple[str, ...] = tuple(TASKS),
    only: tuple[str, ...] = tuple(METHODS),
    predictor: str = "mlp",
) -> list[Unit]:
    """All methods of all tasks on the first split, then on the second, and so on."""
    return [
        (task, method, predictor, split)
        for split in range(1, runs + 1)
        for task in tasks
        for method in methods(task, predictor)
        if method in only
    ]


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per task and method: where the frontier of the mean curve meets the paper's KPC."""
    import pandas as pd

    rows = []
    for task in [name for name in TASKS if name in set(frame["task"])]:
        some = frame[frame["task"] == task]
        limit = TABLE1[task]["fairicp"][2]
        plain = some[(some["method"] == "kernel") & (some["value"] == 0)]
        if len(plain):
            rows.append(
                {
                    "task": task,
                    "method": "plain",
                    "splits": len(plain),
                    **_means(plain),
                    "loss_sd": plain["loss"].std(),
                }
            )
        for method in dict.fromkeys(some["method"]):
            rows.append(
                {"task": task, "method": method} | _at(some[some["method"] == method], limit)
            )
    return pd.DataFrame(rows)


def _means(rows: pd.DataFrame) -> dict[str, Any]:
    means = {name: rows[name].mean() for name in (*_MEASURES, "seconds")}
    return means | {
        "power": (rows["p_value"].dropna() <= _LEVEL).mean(),
        "power_paper": (rows["p_paper"].dropna() <= _LEVEL).mean(),
    }


def _at(rows: pd.DataFrame, limit: float) -> dict[str, Any]:
    """The point at this KPC; power and spread are those of the nearest value on the grid."""
    by_value = rows.groupby("value", sort=False)
    points = by_value[list(_MEASURES)].mean().to_numpy()
    met = frontier_at(points, limit)
    near = list(by_value.groups)[int(np.abs(points[:, 1] - limit).argmin())]
    at = by_value.get_group(near)
    row = {
        **_means(at),
        "loss_sd": at["loss"].std(),
        "splits": rows["split"].nunique(),
        "loss_se": loss_error(_curves(rows), limit),
    }
    if met is None:
        return row | {"reached": False, "value": near}
    return row | dict(zip(_MEASURES, met, strict=True)) | {"reached": True}


def page(frame: pd.DataFrame, paper: bool = True) -> list[str]:
    """The table, and FairICP beside its best rival on the same splits.

    The paper's rows are of networks; of linear models it has figures only.
    """
    return [*rows_of(frame, paper), "", *beside_rivals(frame)]


def beside_rivals(frame: pd.DataFrame) -> list[str]:
    """FairICP's loss minus that of the rival with the smallest, at the same KPC.

    Errors are those of the difference: the splits drawn with replacement are the same for both.
    """
    lines = [
        "Loss minus that of the best rival on the same splits (± standard error; −: ahead), at the "
        "paper's KPC and at multiples of it:",
        "",
        f"| task | method | {' | '.join(f'{k} × KPC' for k in _LEVELS)} |",
        "|---" * (2 + len(_LEVELS)) + "|",
    ]
    for task in [name for name in TASKS if name in set(frame["task"])]:
        some = frame[frame["task"] == task]
        every = {str(name): _curves(rows) for name, rows in some.groupby("method")}
        rivals = {k: v for k, v in every.items() if k not in (*_FAIRICP, "mixture")}
        limits = [k * TABLE1[task]["fairicp"][2] for k in _LEVELS]
        for ours in [name for name in _FAIRICP if name in every]:
            cells = [_best_rival(every[ours], rivals, limit) for limit in limits]
            lines.append(f"| {TASKS[task].title} | {METHODS[ours]} | {' | '.join(cells)} |")
    return lines


def _curves(rows: pd.DataFrame) -> Curves:
    return curves(rows, run="split", parameter="value")


def _best_rival(ours: Curves, rivals: dict[str, Curves], limit: float) -> str:
    """The least favorable difference, with its rival and the number of common splits."""
    if not reaches(ours, limit):
        return "not reached"
    every = {name: loss_difference(ours, theirs, limit) for name, theirs in rivals.items()}
    known = [(apart.loss, name, apart) for name, apart in every.items() if apart.known]
    if not known:
        return "no rival gets there"
    _, name, apart = max(known)
    return f"{apart} ({_title_of(name)}, {apart.runs})"


def rows_of(frame: pd.DataFrame, paper: bool = True) -> list[str]:
    """The table as Markdown, the paper's rows above ours."""
    lines = [
        "| task | method | loss (sd) | ± | KPC | with random ties | power | paper's statistic | "
        "DEO | CPU s per point | splits |",
        "|---" * 11 + "|",
    ]
    table = summary(frame)
    for task in dict.fromkeys(table["task"]):
        published = TABLE1[task] if paper else {}
        for name, (loss, sd, kpc, power, deo) in published.items():
            cell = "" if deo is None else f"{deo:.3f}"
            lines.append(
                f"| {TASKS[task].title} | paper: {name} | {loss:.3f} ({sd:.3f}) |  |  | "
                f"{kpc:.3f} |  | {power:.2f} | {cell} |  | 100 |"
            )
        for _, row in table[table["task"] == task].iterrows():
            lines.append(_line(TASKS[task].title, row))
    return lines


def _title_of(method: str) -> str:
    name, _, suffix = method.partition(", ")
    titles = {"plain": "plain training", "mixture": "trivial mixture"} | METHODS
    return titles[name] + (f", {suffix}" if suffix else "")


def _line(title: str, row: Any) -> str:
    label = _title_of(str(row["method"]))
    if row.get("reached") is False:
        label += f" (KPC not reached; at {row['value']:g})"

    def cell(name: str, form: str) -> str:
        return "" if row[name] != row[name] else f"{row[name]:{form}}"

    power = "" if row["method"] == "mixture" else cell("power", ".2f")
    theirs = "" if row["method"] == "mixture" else cell("power_paper", ".2f")
    return (
        f"| {title} | {label} | {row['loss']:.3f} ({cell('loss_sd', '.3f')}) | "
        f"{cell('loss_se', '.3f')} | {row['kpc']:.4f} | {cell('kpc_random', '.4f')} | "
        f"{power} | {theirs} | {cell('deo', '.3f')} | {cell('seconds', '.1f')} | "
        f"{row['splits']:.0f} |"
    )


def figure(frame: pd.DataFrame) -> Any:
    """Loss against KPC, power and DEO; a column per data set."""
    from fairaudit.experiments.figures import panels

    power = frame.assign(power=(frame["p_paper"] <= _LEVEL).where(frame["p_paper"].notna()))
    return panels(
        power.astype({"power": float}),
        panel=("task",),
        parameter="value",
        titles=METHODS | {"mixture": "trivial mixture"},
        measures={"kpc": "KPC", "power": "power, the paper's statistic", "deo": "DEO"},
        name=lambda key: TASKS[key[0]].title,
    )


def runtime_page(frame: pd.DataFrame) -> list[str]:
    """CPU seconds for one point, the paper's beside ours (a curve divided by its points)."""
    ours = frame.dropna(subset=["seconds"]).groupby(["task", "method"])["seconds"].mean()
    lines = ["| task | method | CPU s | paper, s |", "|---|---|---|---|"]
    for task in [name for name in TASKS if name in ours.index.get_level_values(0)]:
        for method, seconds in ours[task].items():
            if method not in METHODS:
                continue
            paper = RUNTIME[task].get("fairicp" if method in _FAIRICP[:3] else method)
            lines.append(
                f"| {TASKS[task].title} | {METHODS[method]} | {seconds:.1f} | "
                f"{'' if paper is None else f'{paper:.0f}'} |"
            )
    return lines
