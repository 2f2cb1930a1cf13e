"""Other settings, another identity: capsules, files to resume from, and states of monitors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.capsule import make_table_capsule
from fairaudit.auditing.checkpoint import Checkpoint
from fairaudit.auditing.doors import _identify_run, audit_frame
from fairaudit.data.preparation import prepare
from fairaudit.data.roles import Roles
from fairaudit.density.gaussian import Gaussian
from fairaudit.density.mixture import Mixture
from fairaudit.errors import InputError
from fairaudit.permute.local import Local
from fairaudit.testing.neighbor_statistics import KPCStatistic

DRAWN = {"n": 19, "steps": 5}


@dataclass
class Scaled:
    """A statistic of a third party."""

    scale: float = 1.0
    name = "scaled"

    def bind(self, table, *, within_outcome, seed):
        values, code = table.prediction.matrix()[:, 0], table.attributes[0].codes
        return lambda rows: self.scale * np.array([abs(values @ code[copy]) for copy in rows])


def frame_of(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.integers(0, 2, n), "race": rng.integers(0, 3, n)})
    frame["y"] = rng.integers(0, 2, n)
    frame["amount"] = frame["y"] + rng.normal(size=n)
    frame["score"] = np.clip(0.5 + 0.2 * rng.normal(size=n), 0, 1)
    return frame


def permutations(**changes):
    return fa.Permutations(**{**DRAWN, **changes})


PLANS = {
    "default": {},
    "alpha": {"alpha": 0.01},
    "statistic": {"statistic": "codec"},
    "statistics": {"statistic": ["kpc", "codec"]},
    "knn": {"statistic": KPCStatistic(knn=3)},
    "other knn": {"statistic": KPCStatistic(knn=4)},
    "third party": {"statistic": Scaled()},
    "third party, other scale": {"statistic": Scaled(2.0)},
    "density": {"density": "ols"},
    "density object": {"density": Gaussian("ols", heteroscedastic=True)},
    "mixture": {"density": Mixture(2)},
    "other mixture": {"density": Mixture(3)},
    "law": {"law": "local"},
    "other blocks": {"law": Local(size=4)},
    "folds": {"folds": 3},
    "bins": {"bins": 16},
    "copies": {"permutations": permutations(n=20)},
    "steps": {"permutations": permutations(steps=6)},
    "seed": {"permutations": permutations(seed=1)},
    "stop": {"permutations": permutations(stop_after=5)},
    "settle": {"permutations": permutations(settle_at=0.05)},
    "adjust": {"adjust": "fdr_bh"},
    "pairs": {"pairs": (("sex", "race"),)},
    "tolerance": {"tolerance": {"kpc": 0.1}},
    "certify": {"certify": {"deo": 0.5}},
    "threshold": {"threshold": 0.4},
    "power": {"power": False},
    "calibrate": {"calibrate": True},
    "locate": {"locate": True},
}


def test_no_two_settings_share_a_capsule():
    roles = Roles(sensitive=("sex", "race"), outcome="y", predictions=("score",))
    prepared = prepare(frame_of(), roles)
    found = {}
    for name, changes in PLANS.items():
        plan = Plan(**{"permutations": permutations(), **changes})
        capsule = make_table_capsule(
            prepared.table, plan, roles=roles, model=None, data=(), command=None
        )
        identity = _identify_run(capsule)
        assert identity not in found, (name, found[identity])
        found[identity] = name


def test_every_setting_of_a_plan_is_tried_above():
    from dataclasses import fields

    tried = {name for changes in PLANS.values() for name in changes}
    settings = {field.name for field in fields(Plan)}
    assert tried == settings - {"with_r"}  # shows a number, decides none


@pytest.mark.parametrize("name", ["other knn", "third party", "seed", "steps", "stop"])
def test_a_file_of_other_settings_is_refused(tmp_path, name):
    path = tmp_path / "run"
    roles = Roles(sensitive=("sex", "race"), outcome="y", predictions=("score",))
    plan = Plan(permutations=permutations(), statistic=KPCStatistic(knn=3), power=False)
    table = prepare(frame_of(), roles).table
    capsule = make_table_capsule(table, plan, roles=roles, model=None, data=(), command=None)
    Checkpoint(path, _identify_run(capsule)).put("audit 0 copies 0-19", [])
    other = Plan(**{"permutations": permutations(), "power": False, **PLANS[name]})
    with pytest.raises(InputError, match="belongs to another run"):
        audit_frame(frame_of(), roles, other, resume=path)


MONITORS = {
    "alpha": {"alpha": 0.01},
    "statistic": {"statistic": "codec"},
    "density": {"density": "ols"},
    "copies": {"permutations": permutations(n=20)},
    "steps": {"permutations": permutations(steps=6)},
    "seed": {"permutations": permutations(seed=1)},
    "sensitive": {"sensitive": "sex"},
    "on": {"on": "labels", "threshold": 0.5},
    "positive": {"positive": 0},
    "missing": {"missing": "drop"},
    "where": {"where": "amount > 0"},
    "ids": {"ids": "amount"},
}


@pytest.mark.parametrize("name", MONITORS)
def test_a_state_of_other_settings_is_refused(tmp_path, name):
    given = {
        "sensitive": "sex,race",
        "outcome": "y",
        "predictions": "score",
        "permutations": permutations(),
    }
    state = tmp_path / "fairness.state"
    fa.Monitor(state, **given).add(frame_of())
    fa.Monitor(state, **given)  # the same settings
    with pytest.raises(InputError, match="was begun with other settings"):
        fa.Monitor(state, **{**given, **MONITORS[name]})
