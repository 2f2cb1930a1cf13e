"""The figures and tables of the FairICP paper, run again: `reproduce`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.experiments.runner import Unit

__all__ = ["EXPERIMENTS", "Experiment", "experiment_named", "reproduce"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is run, and what is made of it.

    Attributes
    ----------
    title : str
    store : str
        Name of the file of finished parts; experiments on the same parts share it.
    work : function of a unit, gives rows
    units : function of the number of runs
    page : function of the table, gives lines of Markdown
    figure : function of the table, gives a matplotlib figure; or None
    full : int
        Runs of the paper.
    """

    title: str
    store: str
    work: Callable[..., list[dict[str, Any]]]
    units: Callable[[int], list[Unit]]
    page: Callable[[pd.DataFrame], list[str]]
    figure: Callable[[pd.DataFrame], Any] | None
    full: int


#: name → one line; what they need is imported when one is called
EXPERIMENTS = {
    "quality": "permutations of ICP and CP beside the oracle's",
    "quality-maf": "the same with flows as densities",
    "simulation1": "trade-off curves where all attributes act",
    "simulation2": "trade-off curves where one of many attributes acts",
    "simulation1-game": "the first with the paper's game, its hardest cell",
    "simulation2-game": "the second with the paper's game, its hardest cell",
    "tuning": "decay and rounds for table 1, on other splits",
    "table1": "all methods on the data sets, at the paper's KPC",
    "tradeoff": "their curves: loss against KPC, power and DEO (networks)",
    "linear": "the same with linear models",
    "runtime": "seconds for a point of the curve",
}


def experiment_named(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise InputError(f"There is no experiment {name!r}. Use one of: {', '.join(EXPERIMENTS)}.")
    if name.startswith("quality"):
        from fairaudit.experiments import quality

        kind = "maf" if name == "quality-maf" else "linear"
        return Experiment(
            title="Quality of permutations",
            store=name,
            work=quality.distance_rows,
            units=partial(quality.units, kind),
            page=quality.page,
            figure=None,
            full=20,
        )
    if name.startswith("simulation"):
        from fairaudit.experiments import simulations

        number, game = int(name[len("simulation")]), name.endswith("game")
        units = partial(simulations.game_units if game else simulations.units, number)
        title = f"Simulation {number}{', with the game' if game else ''}"
        return Experiment(
            title=title,
            store=name,
            work=simulations.curve_rows,
            units=units,
            page=simulations.page,
            figure=simulations.figure,
            full=100,
        )
    if name == "tuning":
        from fairaudit.experiments import tuning

        return Experiment(
            title="Tuning for table 1",
            store=name,
            work=tuning.tuning_rows,
            units=tuning.units,
            page=tuning.page,
            figure=None,
            full=3,
        )
    from fairaudit.experiments import table1

    predictor = "linear" if name == "linear" else "mlp"
    pages: dict[str, Callable[[Any], list[str]]] = {
        "runtime": table1.runtime_page,
        "linear": partial(table1.page, paper=False),
    }
    figure = table1.figure if name in ("tradeoff", "linear") else None
    return Experiment(
        title=EXPERIMENTS[name].capitalize(),
        store=f"data-{predictor}",
        work=table1.WORK,
        units=partial(table1.units, predictor=predictor),
        page=pages.get(name, table1.page),
        figure=figure,
        full=100,
    )


def reproduce(
    name: str,
    out: str | Path,
    *,
    runs: int = 2,
    jobs: int = 1,
    resume: bool = False,
    command: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Path]:
    """Run an experiment; write its table (CSV), page (Markdown) and figure (PNG).

    Finished parts are kept in the folder, one by one. `resume` goes on there: after an
    interruption, or with more `runs`.
    """
    from fairaudit.data.reading.write import write_bytes, write_text
    from fairaudit.experiments.runner import run_units

    how, folder = experiment_named(name), Path(out)
    frame = run_units(
        how.work,
        how.units(runs),
        folder / f"{how.store}.jsonl",
        resume=resume,
        jobs=jobs,
        progress=progress,
    )
    written = [folder / f"{name}.csv", folder / f"{name}.md"]
    write_text(written[0], frame.to_csv(index=False, float_format="%.6g"))
    lines = [f"# {how.title}", "", *how.page(frame), ""]
    if how.figure is not None:
        import io

        buffer = io.BytesIO()
        how.figure(frame).savefig(buffer, format="png", dpi=130)
        written.append(folder / f"{name}.png")
        write_bytes(written[-1], buffer.getvalue())
        lines += [f"![{how.title}]({name}.png)", ""]
    if command is not None:
        lines += [f"`{command}`, {_versions()}", ""]
    write_text(written[1], "\n".join(lines))
    return written


def _versions() -> str:
    from importlib.metadata import version

    names = ("fairaudit-icp", "numpy", "scikit-learn", "torch")
    return ", ".join(f"{name} {version(name)}" for name in names)
