"""`fairaudit reproduce`, small: every experiment runs, resumes, and writes its files."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.datasets import Dataset
from fairaudit.density.network_training import Training
from fairaudit.experiments import EXPERIMENTS, quality, real, reproduce, simulations, table1, tuning
from fairaudit.experiments.frontier import frontier_at
from fairaudit.experiments.runner import run_units
from fairaudit_cli import main as cli

pytest.importorskip("torch")
pytest.importorskip("matplotlib")


@pytest.fixture
def small(monkeypatch):
    """One or two cells of each experiment, and a generated table in place of COMPAS."""
    monkeypatch.setattr(quality, "RELEVANT", (1,))
    monkeypatch.setattr(quality, "IRRELEVANT", (0, 5))
    monkeypatch.setitem(Training.__init__.__kwdefaults__, "epochs", 3)  # of flows
    monkeypatch.setattr(simulations, "TRAIN", 200)
    monkeypatch.setattr(simulations, "TEST", 150)
    monkeypatch.setattr(simulations, "K", (1,))
    monkeypatch.setattr(simulations, "W", (0.9,))
    monkeypatch.setattr(simulations, "MUS", (0.0, 0.8))
    monkeypatch.setattr(simulations, "COPIES", 19)
    monkeypatch.setattr(simulations, "GAME_CELLS", ((1, 0.9),))
    monkeypatch.setitem(simulations.GAME, "epochs", 2)
    monkeypatch.setattr(real, "COPIES", 19)
    monkeypatch.setattr(real, "MUS", (0.0, 0.8))
    tasks = {"compas": real.Task("COMPAS", generated)}
    monkeypatch.setattr(real, "TASKS", tasks)
    monkeypatch.setattr(table1, "TASKS", tasks)
    monkeypatch.setattr(tuning, "TASKS", tasks)
    monkeypatch.setattr(tuning, "SMALL", ("compas",))
    monkeypatch.setattr(tuning, "DECAYS", (1e-3, 1e-1))
    monkeypatch.setattr(tuning, "ROUNDS", (2, 4))
    every = real.methods

    def some(task, predictor="mlp", strength=None):
        found = every(task, predictor, strength)
        wanted = {name: found[name] for name in ("kernel", "reduction")}
        wanted["kernel"].estimator.set_params(steps=20)
        wanted["reduction"].estimator.set_params(max_iter=2)
        wanted["reduction"] = replace(wanted["reduction"], values=(0.005, 0.2))
        return wanted

    monkeypatch.setattr(real, "methods", some)
    monkeypatch.setattr(table1, "methods", some)
    monkeypatch.setattr(tuning, "methods", some)
    monkeypatch.setattr(
        table1.units,
        "__kwdefaults__",
        {"tasks": ("compas",), "only": tuple(real.METHODS), "predictor": "mlp"},
    )


def generated():
    rng = np.random.default_rng(0)
    sex, race, y = rng.integers(0, 2, (3, 500))
    X = pd.DataFrame({"x": y + rng.normal(size=500), "z": sex + race * y + rng.normal(size=500)})
    return Dataset("generated", X, y.astype(float), pd.DataFrame({"sex": sex, "race": race}))


LONG = ("runtime", "simulation1", "simulation1-game", "simulation2", "table1", "tuning")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in EXPERIMENTS
        if name not in ("quality-maf", "simulation2-game")
    ],
)
def test_every_experiment(small, name, tmp_path, capsys):
    arguments = ["reproduce", name, "--runs", "1", "--out", str(tmp_path)]
    assert cli.main(arguments) == 0
    frame = pd.read_csv(tmp_path / f"{name}.csv")
    page = (tmp_path / f"{name}.md").read_text()
    assert len(frame) >= 4 and "| " in page and "fairaudit-icp" in page and "nan" not in page
    drawn = name.startswith("simulation") or name in ("tradeoff", "linear")
    assert (tmp_path / f"{name}.png").exists() == drawn
    assert cli.main(arguments) == 2
    assert "--resume" in capsys.readouterr().err


def test_more_runs_go_on_where_the_first_ended(tmp_path):
    seen = []

    def work(cell, run):
        seen.append((cell, run))
        return [{"cell": cell, "run": run, "value": np.random.default_rng(run).random()}]

    def units(runs):
        return [(cell, run) for run in range(runs) for cell in "ab"]

    store = tmp_path / "x.jsonl"
    run_units(work, units(1), store)
    more = run_units(work, units(3), store, resume=True)
    assert seen == units(3) and len(more) == 6
    fresh = run_units(work, units(3), tmp_path / "y.jsonl")
    assert more.equals(fresh)
    assert len([json.loads(line) for line in store.read_text().splitlines()]) == 7


def test_frontier_between_points():
    points = np.array([[0.3, 0.04], [0.35, 0.06], [0.4, 0.02], [0.5, 0.0]])
    assert frontier_at(points, 0.03) == pytest.approx([0.35, 0.03])  # skips what is worse
    assert frontier_at(points, 0.05) == pytest.approx([0.3, 0.04])
    assert frontier_at(points, -0.1) is None


def test_fairicp_beside_the_best_rival():
    def curve(method, splits, shift, reach):
        return [
            {
                "task": "compas",
                "method": method,
                "split": split,
                "value": value,
                "loss": 0.3 + value / 10 + shift + 0.01 * split,
                "kpc": 0.04 - reach * value,
            }
            for split in range(splits)
            for value in (0.0, 0.5, 1.0)
        ]

    rows = [
        *curve("kernel", 5, 0.0, 0.036),
        *curve("hgr", 3, 0.02, 0.036),
        *curve("fdl", 5, -0.05, 0.015),
        *curve("mixture", 5, -0.1, 0.04),
    ]
    line = table1.beside_rivals(pd.DataFrame(rows))[-1]
    # splits shift both curves alike: the difference has no error. FDL stays above a KPC of 0.025
    assert line == (
        "| COMPAS | FairICP (kernel) | -0.020 ± 0.000 (HGR, 3) | -0.020 ± 0.000 (HGR, 3) | "
        "+0.019 ± 0.000 (FDL, 5) |"
    )


def test_unknown_experiment(tmp_path):
    with pytest.raises(fa.InputError, match="Use one of: quality"):
        reproduce("figure9", tmp_path)
