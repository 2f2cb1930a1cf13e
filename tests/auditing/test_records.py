"""The record of an audit holds all parameters of its statistic and density."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.descriptions import described, fully_described
from fairaudit.auditing.doors import audit_frame
from fairaudit.data.reading.files import read_tables
from fairaudit.data.roles import Roles
from fairaudit.density.gaussian import Gaussian
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit_cli.main import main

QUICK = fa.Permutations(n=39, batch=10)


def people(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, n))
    score = y + 0.3 * sex + rng.normal(size=n)
    return pd.DataFrame({"score": score, "y": y, "sex": sex})


ROLES = Roles(sensitive=("sex",), outcome="y", predictions=("score",))


def plan(statistic, **options) -> Plan:
    return Plan(statistic=statistic, permutations=QUICK, power=False, with_r=False, **options)


def test_statistics_with_other_parameters_have_other_records():
    """KPCStatistic(knn=1) and (knn=20) had equal capsules."""
    frame = people()
    given = {
        "predictions": frame["score"],
        "outcome": frame["y"],
        "sensitive": frame[["sex"]],
        "permutations": QUICK,
        "power": False,
    }
    nearest, twenty = (fa.audit(statistic=KPCStatistic(knn=k), **given).capsule for k in (1, 20))
    assert nearest.options != twenty.options
    assert nearest.options["statistic"]["parameters"]["knn"] == 1
    assert nearest.options["statistic"]["name"] == "kpc"
    json.dumps(nearest.options)
    assert fa.audit(statistic="kpc", **given).capsule.options["statistic"] == "kpc"


class Interrupted(Exception):
    pass


def stopped(statistic, path, frame, after=2, **options):
    """A run that is interrupted after some blocks of copies."""
    blocks = []

    def interrupt(what, done, total):
        blocks.append(what)
        if what.startswith("copies") and len([w for w in blocks if w == what]) > after:
            raise Interrupted

    with pytest.raises(Interrupted):
        audit_frame(frame, ROLES, plan(statistic, **options), resume=path, progress=interrupt)
    assert path.exists()


def test_resume_does_not_mix_copies_of_other_settings(tmp_path):
    frame, path = people(), tmp_path / "run.jsonl"
    stopped(KPCStatistic(knn=1), path, frame)
    with pytest.raises(fa.InputError, match="belongs to another run"):
        audit_frame(frame, ROLES, plan(KPCStatistic(knn=20)), resume=path)
    again = audit_frame(frame, ROLES, plan(KPCStatistic(knn=1)), resume=path)
    assert again.null == audit_frame(frame, ROLES, plan(KPCStatistic(knn=1))).null


@dataclass(frozen=True)
class Own:
    """The statistic of a third party."""

    scale: float = 1.0
    name = "own"

    def bind(self, table, *, within_outcome, seed):
        return KPCStatistic(knn=5).bind(table, within_outcome=within_outcome, seed=seed)


class Hidden:
    """One whose parameter nobody can see."""

    name = "hidden"

    def __init__(self, how):
        self.how = lambda: how

    bind = Own.bind


class Plain:
    """One that keeps its parameters as scikit-learn does."""

    name = "plain"

    def __init__(self, knn=3):
        self.knn = knn

    bind = Own.bind


def test_objects_of_third_parties_are_told_apart_by_their_parameters(tmp_path):
    frame, path = people(), tmp_path / "run.jsonl"
    stopped(Own(1.0), path, frame)
    with pytest.raises(fa.InputError, match="belongs to another run"):
        audit_frame(frame, ROLES, plan(Own(2.0)), resume=path)
    assert described(Plain(3)) == described(Plain(3)) != described(Plain(4))
    with pytest.raises(fa.InputError, match=r"statistic cannot be described .*'resume'"):
        audit_frame(frame, ROLES, plan(Hidden(1)), resume=tmp_path / "other.jsonl")
    assert audit_frame(frame, ROLES, plan(Hidden(1))).p_value is not None  # it runs all the same
    with pytest.raises(fa.InputError, match="density cannot be described"):
        audit_frame(frame, ROLES, plan("kpc", density=lambda y, a: 0.0), resume=path)


def test_descriptions():
    values = np.arange(3.0)
    assert described({"a": values}) == described({"a": values.copy()})
    assert described(values) != described(values + 1)
    assert described(np.float64(2)) == 2.0 and described((1, "a")) == [1, "a"]
    assert described(np.mean) == "numpy.mean"
    assert not fully_described(described([lambda: 1])) and fully_described(described(Gaussian()))
    loop: list = []
    loop.append(loop)
    assert not fully_described(described(loop))


def test_a_record_of_an_object_of_ours_is_verified(tmp_path, capsys):
    data, record = tmp_path / "people.csv", tmp_path / "audit.json"
    people().to_csv(data, index=False)
    frame, sources = read_tables([str(data)])
    for statistic, code in ((KPCStatistic(knn=3), 0), (["kpc", "codec"], 0), (Own(), 2)):
        result = audit_frame(frame, ROLES, plan(statistic), data=sources)
        result.save(record, suppress=0)
        assert main(["verify", str(record), "--data", str(data)]) == code
    assert "test_records.Own" in capsys.readouterr().err
