"""Engines of the one orchestrator: one shard is one piece, and nothing is absent in silence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.doors import audit_frame
from fairaudit.auditing.engines import ENGINES
from fairaudit.auditing.engines.engine import Engine
from fairaudit.auditing.engines.local_engine import LocalEngine
from fairaudit.auditing.engines.shard_notes import ABSENT
from fairaudit.data.roles import Roles
from fairaudit.errors import InputError

QUICK = fa.Permutations(n=19)


def people(n: int = 1_200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    sex = rng.choice(["f", "m"], n)
    frame = pd.DataFrame({"sex": sex, "race": rng.choice(["a", "b", "c"], n), "y": y})
    frame["age"] = rng.integers(18, 80, n)
    frame["score"] = np.clip(0.4 + 0.2 * y + 0.05 * (sex == "f") + 0.1 * rng.normal(size=n), 0, 1)
    frame["income"] = 2 * y + frame["score"] + rng.normal(size=n)
    frame["person"] = np.arange(n) // 2
    frame["weight"] = rng.uniform(0.5, 2.0, n)
    return frame


def numbers(result: fa.AuditResult) -> dict[str, Any]:
    """Everything but times, and where it was computed."""
    record = result.to_dict()
    del record["seconds"], record["capsule"]["created"], record["capsule"]["command"]
    for finding in record["findings"]:
        del finding["seconds"]
    for name in ("shards", "engine"):
        record["capsule"]["options"].pop(name, None)
    return record


@dataclass
class Noting(Engine):
    """An engine of a third party: two methods, and a parameter."""

    label: str = "here"

    def map(self, step, function, *items):
        return [function(*arguments) for arguments in zip(*items, strict=True)]

    def gather(self, pieces):
        return list(pieces)


CASES = {
    "classes": {},
    "evidence": {"locate": True, "calibrate": True, "tolerance": {"kpc": 0.1}},
    "certified": {"certify": {"deo": 0.9}, "pairs": (("sex", "race"),)},
    "early stopping": {"permutations": fa.Permutations.auto()},
    "statistics": {"statistic": ["kpc", "correlation"]},
    "regression": {"outcome": "income", "density": "ols"},
    "people": {"ids": "person", "power": False},
    "weights": {"weights": "weight"},
    "missing": {"missing": "drop"},
}


@pytest.mark.parametrize(
    ("case", "engine"), [("classes", Noting()), *((case, "local") for case in CASES)]
)
def test_one_shard_is_one_piece(case, engine):
    """It had other copies, and neither CODEC nor power nor a word about the rest."""
    frame = people(400)
    if case == "missing":
        frame.loc[::7, "race"] = None
    if case == "certified":  # there are certificates for groups only
        frame["age"] = np.where(frame["age"] > 50, "old", "young")
    given = {"outcome": "y", "permutations": QUICK, **CASES[case]}
    roles = {k: given.pop(k) for k in ("outcome", "ids", "weights", "missing") if k in given}
    named = {"sensitive": "sex,race,age", "predictions": "score"}
    shard = fa.audit(X=frame, engine=engine, **named, **roles, **given)
    whole = audit_frame(
        frame,
        Roles(sensitive=("sex", "race", "age"), predictions=("score",), **roles),
        Plan(**given),
    )
    assert numbers(shard) == numbers(whole)
    assert shard.capsule.options["shards"] == 1


def test_one_shard_is_chosen_where_rows_are_few_and_has_the_same_messages():
    frame = people(400)
    frame["race"] = 2**60 + (frame["race"] == "a")
    given = {"sensitive": "sex,race", "outcome": "y", "predictions": "score"}
    told = []
    for call in (
        lambda: fa.audit(X=frame, engine="local", permutations=QUICK, **given),
        lambda: fa.audit(X=frame, shards=1, permutations=QUICK, **given),
        lambda: audit_frame(
            frame,
            Roles(sensitive=("sex", "race"), outcome="y", predictions=("score",)),
            Plan(permutations=QUICK),
        ),
    ):
        with pytest.raises(InputError) as error:
            call()
        told.append(str(error.value))
    assert len(set(told)) == 1 and "beyond 2^53" in told[0]


NAMES = {"sensitive": "sex,race", "outcome": "y", "predictions": "score", "permutations": QUICK}


def test_an_engine_of_a_third_party_needs_two_methods():
    """Sums and shuffles are made of them, in the same order: the same numbers, bit by bit."""
    frame = people()
    local = fa.audit(X=frame, shards=2, **NAMES)
    other = fa.audit(X=frame, engine=Noting("there"), shards=2, **NAMES)
    assert numbers(other) == numbers(local)
    assert local.capsule.options["engine"]["name"] == "local"
    record = other.capsule.options["engine"]
    assert record["class"].endswith("Noting") and record["parameters"] == {"label": "there"}


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("flink", "'engine' parameter must be one of local, dask, duckdb, sql, lazy, or an object"),
        (7, "The 'engine' parameter must be one of local, dask"),
        (LocalEngine, r"is the class LocalEngine. Pass an instance: LocalEngine\(\)"),
    ],
)
def test_what_is_no_engine_is_told(engine, words):
    with pytest.raises(InputError, match=words):
        fa.audit(X=people(), engine=engine, **NAMES)


def test_engines_can_be_registered(monkeypatch):
    class Point:
        name, value = "noting", "example:Noting"

        @staticmethod
        def load():
            return Noting

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point])
    assert ENGINES.names() == ["local", "dask", "duckdb", "sql", "lazy", "noting"]
    found = fa.audit(X=people(), engine="noting", shards=2, **NAMES)
    assert found.capsule.options["engine"]["parameters"] == {"label": "here"}


def test_dask_keeps_its_scheduler_in_the_record_and_not_its_client():
    from fairaudit.auditing.descriptions import described
    from fairaudit.auditing.engines.dask_engine import DaskEngine

    engine = DaskEngine("tcp://host:8786")
    engine.client = object()
    assert described(engine)["parameters"] == {"scheduler": "tcp://host:8786"}
    assert described(engine) != described(DaskEngine())


def test_shards_say_what_they_lack_from_one_table():
    frame = people()
    several = fa.audit(X=frame, shards=2, locate=True, **NAMES)
    (note,) = [note for note in several.notes if note.startswith("Not computed in shards")]
    for key in ("codec", "power", "localization"):
        assert f"{ABSENT[key].what} ({ABSENT[key].why})" in note
    assert several.power is None and several.localisation is None
    assert {measure.key for measure in several.measures} >= {"kpc", "deo", "equalized_odds_ratio"}
    people_of = fa.audit(X=frame, shards=2, ids="person", **NAMES)
    assert any(ABSENT["people"].why in note for note in people_of.notes)
    assert people_of.cells is None
    for given in ({"certify": {"deo": 0.9}}, {"calibrate": True}):
        with pytest.raises(InputError, match="need the table in one piece"):
            fa.audit(X=frame, shards=2, **given, **NAMES)


def test_notes_about_groups_and_questions_are_those_of_one_piece():
    """Shards left out which columns measures of groups do not see, and what was not asked."""
    frame = people()
    frame.loc[frame["y"] == 1, "score"] = 0.9  # nothing varies there
    given = {**NAMES, "sensitive": "sex,income"}
    several = fa.audit(X=frame, shards=2, **given)
    whole = fa.audit(X=frame, shards=1, **given)
    shared = [
        note
        for note in whole.notes
        if note.startswith(("Measures of groups", "Not asked", "Some groups"))
    ]
    assert len(shared) == 2 and set(shared) <= set(several.notes)
    assert [f.name for f in several.findings] == [f.name for f in whole.findings]


def test_pairs_are_checked_in_shards_too():
    given = {**NAMES, "sensitive": "sex,race,age"}
    for pairs, words in (([("sex", "color")], "color"), ([("sex", "sex")], "twice")):
        with pytest.raises(InputError, match=words):
            fa.audit(X=people(), shards=2, pairs=pairs, **given)
    given["pairs"] = [("race", "sex"), ("sex", "race")]
    several, whole = (fa.audit(X=people(), shards=number, **given) for number in (2, 1))
    names = [f.name for f in several.findings]
    assert names == [f.name for f in whole.findings] and names.count("race, sex") == 1


@pytest.mark.parametrize(
    ("shards", "fit"), [(1, "cross-fitted"), (2, "held-out sample")], ids=["one", "several"]
)
def test_the_rows_that_a_density_was_fitted_on_are_recorded(shards, fit):
    given = {**NAMES, "outcome": "income", "sensitive": "age", "density": "ols"}
    found = fa.audit(X=people(2_000), shards=shards, power=False, **given)
    assert (found.quality.law, found.quality.family) == ("fitted", "gaussian (ols)")
    assert found.quality.fit == fit
    assert len([f for f in found.findings if f.family == "outcome"]) == 3
