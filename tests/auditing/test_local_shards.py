"""Shards with a continuous outcome: neighbors exchange attributes, and sums of shards are added."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import fairaudit as fa
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.engines import by_shifts
from fairaudit.auditing.engines.by_shifts import ShardSums, sum_shifts
from fairaudit.auditing.engines.entry import audit_files
from fairaudit.auditing.engines.row_hashes import assign_shards
from fairaudit.data.roles import Roles
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.evidence.measured import MeasuredValue
from fairaudit.permute.local import Local
from fairaudit.testing.attribute_functions import show_rows
from fairaudit.testing.omnibus import PARTS, Omnibus
from fairaudit.testing.omnibus_shifts import SeenAttributes

NAMES = {"predictions": "score", "outcome": "income", "sensitive": "race,sex,age"}
COPIES = fa.Permutations(n=39)


def frame_of(n=3_000, effect=0.0, seed=0):
    rng = np.random.default_rng([seed, n])
    race, sex = rng.choice(list("abc"), n), rng.choice(["f", "m"], n)
    age = rng.integers(18, 90, n)
    income = np.exp(0.3 * (race == "a") + 0.01 * age + 0.5 * rng.normal(size=n))
    score = np.log(income) + 0.5 * rng.normal(size=n) + effect * (sex == "m")
    return pd.DataFrame(
        {"race": race, "sex": sex, "age": age, "income": income, "score": score}
    ).assign(person=np.arange(n) // 2)


def audit(frame, **options):
    return fa.audit(X=frame, **{**NAMES, "permutations": COPIES, "power": False, **options})


@pytest.mark.parametrize("law", ["auto", Local(size=8)], ids=["auto", "blocks"])
def test_a_continuous_outcome_is_answered_without_a_density(law):
    found = audit(frame_of(1_500, effect=0.4), law=law, shards=3)
    assert found.quality.law == "local" and "within shards" in found.quality.copies_by
    assert found.joint.rows == 1_500  # none is kept for a density
    assert str(found.verdict) == "violation" and found.joint.p_value == 1 / 40
    assert [finding.family for finding in found.findings].count("outcome") == 3
    assert ("its rows could not be tested" in found.quality.because) == (law == "auto")


def test_a_fair_model_passes_in_shards():
    fair = audit(frame_of(1_500), law="local", shards=3)
    assert str(fair.verdict) == "no violation found" and fair.joint.p_value > 0.05


def test_a_hard_law_is_answered():
    """He et al. 2025: in shards the density of such attributes was not believed."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=2_000)
    frame = pd.DataFrame(
        {
            "a": np.exp(y) + 0.1 * rng.normal(size=2_000),
            "y": y,
            "score": np.cos(y) + 0.1 * rng.normal(size=2_000),
        }
    )
    found = fa.audit(
        X=frame, predictions="score", outcome="y", sensitive="a", permutations=COPIES, shards=2
    )
    assert str(found.verdict) == "no violation found"


def test_people_with_several_rows_are_answered():
    frame = frame_of(effect=0.4)
    sex = frame["sex"].to_numpy()[frame["person"] * 2]  # of a person, not of a row
    frame["score"] += 0.4 * (sex == "m") - 0.4 * (frame["sex"] == "m")
    frame["sex"] = sex
    shards, whole = audit(frame, ids="person", shards=2), audit(frame, ids="person")
    for found in (shards, whole):
        assert found.quality.law == "local" and str(found.verdict) == "violation"
    assert [f.name for f in shards.findings] == [f.name for f in whole.findings]
    for named in ({"density": "ols"}, {"law": "icp"}):
        with pytest.raises(InputError, match="have the law 'local'"):
            audit(frame, ids="person", shards=2, **named)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"law": "monotone"}, "Shards have the laws auto, exact, icp and local"),
        ({"law": "prediction"}, "Shards have the laws auto, exact, icp and local"),
        (
            {"law": "local", "outcome": "sex", "positive": "m", "sensitive": "race"},
            "is for a continuous outcome",
        ),
    ],
)
def test_laws_that_shards_do_not_have(options, told):
    with pytest.raises(InputError, match=told):
        audit(frame_of(), shards=2, **options)


def test_sums_of_tables_are_the_sums_of_their_rows():
    """Two halves, permuted apart, and the same rows as one table whose halves are strata."""
    frame = frame_of(1_200, effect=0.2)
    a = np.column_stack([frame["age"] / 20, frame["sex"] == "m", frame["race"] == "a"]).astype(
        float
    )
    seen = SeenAttributes(a, a[show_rows(len(a), np.random.default_rng(0))], len(a))
    halves = [np.arange(600), np.arange(600, 1_200)]
    found = []
    for rows in halves:
        part = frame.iloc[rows]
        table = AuditTable.of(
            part["score"].to_numpy(), {"age": part["age"].to_numpy()}, part["income"].to_numpy()
        )
        fitted = Local(size=4, shared=True).prepare(
            table.require_outcome(), table.attributes, seed=1
        )
        own = SeenAttributes(a[rows], seen.shown, seen.total)
        bound = Omnibus().over_shifts(table, fitted.sampler.list_groups(), seed=7, seen=own)
        still = np.zeros((1, len(fitted.sampler.turns)), dtype=np.intp)
        found.append(bound.see(still))
    together = found[0] + found[1]
    assert together.n == 1_200
    assert together.products == pytest.approx(found[0].products + found[1].products)
    values = together.evaluate()
    assert values.shape == (1, len(PARTS)) and (values >= 0).all()
    # products of both halves with an effect of one sign: more than the mean of the halves
    linear = [part.evaluate()[0, 0] for part in found]
    assert values[0, 0] > np.mean(linear) * 1.2


def test_a_shard_without_a_question_changes_no_other():
    sums = ShardSums({})
    assert (sums + sums).questions == {} and sums.copy() is sums


def test_shards_find_what_one_piece_finds():
    """The same tables: p-values of the gate are close, up to the copies."""
    apart = []
    alone = {"sensitive": "sex", "law": "local"}
    for seed in range(5):
        frame = frame_of(1_000, effect=0.07, seed=seed)
        both = [audit(frame, **alone, **more).joint.p_value for more in ({}, {"shards": 2})]
        apart.append(both[0] - both[1])
    assert np.mean(np.abs(apart)) < 0.15 and abs(np.mean(apart)) < 0.1


@pytest.mark.slow
def test_size_in_shards(monkeypatch):
    """Attributes that depend on the outcome along a curve; 19 copies, for which .05 is attained."""
    monkeypatch.setattr(
        by_shifts,
        "measure_size",
        lambda table: MeasuredValue(key="kpc", name="KPC", value=None, attributes=()),
    )
    rng = np.random.default_rng(4)
    p = []
    for _ in range(60):
        y = rng.normal(size=1_000)
        a = np.sin(y) + 0.5 * rng.normal(size=1_000)
        frame = pd.DataFrame({"a": a, "y": y, "score": y + np.cos(y) + rng.normal(size=1_000)})
        drawn = fa.Permutations(n=19, seed=int(rng.integers(2**31)))
        found = fa.audit(
            X=frame, predictions="score", outcome="y", sensitive="a", permutations=drawn, shards=2
        )
        p.append(found.joint.p_value)
    assert binomtest(int(np.sum(np.array(p) <= 0.05)), 60, 0.05).pvalue > 1e-3
    assert binomtest(int(np.sum(np.array(p) <= 0.5)), 60, 0.5).pvalue > 1e-3


def test_copies_exchange_within_shards(monkeypatch):
    """A shard is asked for its own rows only, whose number it is told."""
    seen = []

    def watch(frame, job, shard):
        seen.append((shard, frame["\0row"].to_numpy()))
        return sum_shifts(frame, job, shard)

    monkeypatch.setattr(by_shifts, "sum_shifts", watch)
    audit(frame_of(1_500), sensitive="sex", shards=3)
    shard = assign_shards(np.arange(1_500, dtype=np.uint64), 3)
    for number, rows in seen:
        assert (shard[rows] == number).all()


def test_the_layout_of_the_files_changes_nothing(tmp_path):
    pytest.importorskip("pyarrow")
    frame = frame_of(1_500, effect=0.1)
    roles = Roles(sensitive=("race", "sex", "age"), outcome="income", predictions=("score",))
    found = []
    for files in (1, 3):
        folder = tmp_path / str(files)
        folder.mkdir()
        for k, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
            frame.iloc[rows].to_parquet(folder / f"part-{k}.parquet", index=False)
        result = audit_files(
            [str(folder / "*.parquet")], roles, Plan(permutations=COPIES, power=False), shards=3
        )
        record = result.to_dict()
        for finding in record["findings"]:
            del finding["seconds"]
        found.append(json.dumps([record[name] for name in ("findings", "null", "quality")]))
    assert found[0] == found[1]
