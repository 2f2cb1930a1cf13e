"""One door: the same table gives the same answer, however its columns were named or passed."""

from __future__ import annotations

import json
import pickle
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import fairaudit as fa
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.doors import audit_frame
from fairaudit.data.roles import Roles
from fairaudit.evidence.incompleteness.incomplete_audit import incomplete_frame
from fairaudit.models import predictor_of
from fairaudit_cli.main import main

COPIES = 39
QUICK = fa.Permutations(n=COPIES)
FEATURES = ["x", "z", "race"]
ONE_SHARD = "one shard"


def people(n: int = 700, seed: int = 0) -> pd.DataFrame:
    """Rows with weights and people who come twice; some do not tell their race."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["x", "z"])
    frame["race"] = rng.choice(["a", "b", "c"], n).astype(object)
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["age"] = rng.integers(18, 90, n)
    frame["w"] = rng.integers(1, 4, n)
    frame["person"] = np.arange(n) // 2
    frame["repaid"] = (frame["x"] + (frame["race"] == "b") + rng.normal(size=n) > 0).astype(int)
    frame.loc[frame.index % 9 == 0, "race"] = None
    return frame


def fitted(frame: pd.DataFrame) -> Any:
    """A model that has learned what to say where race is missing."""
    columns = make_column_transformer((OneHotEncoder(), ["race"]), remainder="passthrough")
    return make_pipeline(columns, LogisticRegression()).fit(frame[FEATURES], frame["repaid"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("door")
    frame = people()
    model = fitted(frame)
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
    frame["score"] = model.predict_proba(frame[FEATURES])[:, 1]
    frame.to_parquet(folder / "table.parquet")
    return folder


ROLES: dict[str, dict[str, Any]] = {
    "plain": {"sensitive": ("race", "sex")},
    "weights": {"sensitive": ("race", "age:continuous"), "weights": "w"},
    "people": {"sensitive": ("race",), "ids": "person"},
    "labels": {"sensitive": ("race", "sex"), "on": "labels", "threshold": 0.4},
    "dropped": {"sensitive": ("race", "sex"), "missing": "drop"},
}
OTHERS = ("weights", "ids", "on", "threshold", "missing")


def told(roles: dict[str, Any]) -> dict[str, Any]:
    """What `fa.audit` is told beside the columns of the outcome, attributes and predictions."""
    given = {name: roles[name] for name in OTHERS if name in roles}
    return {**given, "permutations": QUICK, "power": False}


def by_command(folder: Path, roles: dict[str, Any], tmp: Path, *, model: bool) -> dict[str, Any]:
    record = tmp / "audit.json"
    words = ["--model", str(folder / "model.pkl")] if model else ["--predictions", "score"]
    flags = {"weights": "--weights", "ids": "--id"}
    for name in OTHERS:
        if name in roles:
            words += [flags.get(name, f"--{name}"), str(roles[name])]
    main(
        [
            "test",
            "--data",
            str(folder / "table.parquet"),
            "--sensitive",
            ",".join(roles["sensitive"]),
            "--outcome",
            "repaid",
            *words,
            "--permutations",
            str(COPIES),
            "--no-power",
            "--suppress",
            "0",
            "--report",
            str(record),
        ]
    )
    return json.loads(record.read_text("utf-8"))


def by_frame(frame: pd.DataFrame, roles: dict[str, Any], model: Any) -> fa.AuditResult:
    """`audit_frame`, which the commands call."""
    predictions = () if model is not None else ("score",)
    given = Roles(outcome="repaid", predictions=predictions, **roles)
    plan = Plan(permutations=QUICK, power=False, threshold=roles.get("threshold"))
    predictor = None if model is None else predictor_of(model)
    return audit_frame(frame, given, plan, predictor=predictor)


def by_names(frame: pd.DataFrame, roles: dict[str, Any], model: Any) -> fa.AuditResult:
    """`fa.audit` with the names of columns."""
    named = {"sensitive": ",".join(roles["sensitive"]), **told(roles)}
    if model is None:
        return fa.audit(frame, predictions="score", outcome="repaid", **named)
    return fa.audit(model, frame, "repaid", **named)


def by_arrays(frame: pd.DataFrame, roles: dict[str, Any], model: Any) -> fa.AuditResult:
    """`fa.audit` with columns, none of which is in X."""
    specs = [spec.partition(":") for spec in roles["sensitive"]]
    given = {
        "sensitive": frame[[name for name, _, _ in specs]],
        "kinds": {name: kind for name, _, kind in specs if kind},
        **told(roles),
    }
    for name in ("weights", "ids"):
        if name in roles:
            given[name] = frame[roles[name]]
    if model is None:
        return fa.audit(predictions=frame["score"], outcome=frame["repaid"], **given)
    return fa.audit(model, frame[FEATURES], frame["repaid"], **given)


def by_one_shard(frame: pd.DataFrame, roles: dict[str, Any], model: Any) -> fa.AuditResult:
    named = {"sensitive": list(roles["sensitive"]), "engine": "local", "shards": 1, **told(roles)}
    predicted = {} if model is not None else {"predictions": "score"}
    return fa.audit(model, X=frame, outcome="repaid", **predicted, **named)


DOORS = {"names": by_names, "arrays": by_arrays, "one shard": by_one_shard}
#: Of the model or the record, not of the table.
NOT_COMPARED = {"seconds", "capsule", "notes", "digest"}


def shown(result: fa.AuditResult | dict[str, Any]) -> dict[str, Any]:
    record = result if isinstance(result, dict) else json.loads(result.render("json"))
    record = {name: value for name, value in record.items() if name not in NOT_COMPARED}
    for finding in record["findings"]:
        del finding["seconds"]
    return record


@pytest.mark.parametrize("model", [False, True], ids=["predictions", "model"])
@pytest.mark.parametrize("case", ROLES)
def test_command_and_frame_are_one(place, tmp_path, case, model, capsys):
    frame = pd.read_parquet(place / "table.parquet")
    trained = fitted(people()) if model else None
    command = by_command(place, ROLES[case], tmp_path, model=model)
    assert shown(command) == shown(by_frame(frame, ROLES[case], trained).suppressed(0))


@pytest.mark.parametrize("model", [False, True], ids=["predictions", "model"])
@pytest.mark.parametrize("door", ["names", "arrays", ONE_SHARD])
@pytest.mark.parametrize("case", ROLES)
def test_every_door_gives_the_same_findings(place, case, door, model):
    frame = pd.read_parquet(place / "table.parquet")
    trained = fitted(people()) if model else None
    first = by_frame(frame, ROLES[case], trained)
    other = DOORS[door](frame, ROLES[case], trained)
    assert other.verdict is first.verdict
    assert shown(other) == shown(first)
    assert [note for note in first.notes if note not in other.notes] == []
    assert other.table.attributes[0].missing == 78
    assert other.capsule.table_sha256 == first.capsule.table_sha256


# --- missing values ----------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["frame", "names", "arrays"])
def test_a_model_sees_missing_values_as_they_are(door):
    """`fairaudit test` gave "(missing)" to models that take race; fa.audit gave what was there."""
    frame = people()
    seen = []

    class Model:
        feature_names_in_ = np.array(FEATURES)

        def predict(self, rows: pd.DataFrame) -> Any:
            seen.append(rows["race"].isna().sum())
            return rows["x"].to_numpy()

    found = {"frame": by_frame, **DOORS}[door](frame, ROLES["plain"], Model())
    assert seen == [78]
    assert found.table.attributes[0].levels == ("(missing)", "a", "b", "c")


def test_codes_that_are_missing_reach_the_model_as_numbers():
    """Two codes and a missing one became the text "1", which no model of numbers takes."""
    frame = people().assign(sex=lambda t: np.where(t["sex"] == "f", 1.0, 2.0))
    frame.loc[frame.index % 5 == 0, "sex"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=5).fit(frame[["x", "sex"]], frame["repaid"])
    found = by_frame(frame, {"sensitive": ("sex",)}, model)
    assert found.table.attributes[0].levels == ("(missing)", "1", "2")


def test_a_repair_of_codes_that_are_missing_fits_the_table_as_it_is():
    pytest.importorskip("torch")
    frame = people().assign(sex=lambda t: np.where(t["sex"] == "f", 1.0, 2.0))
    frame.loc[frame.index % 5 == 0, "sex"] = np.nan
    fixed = {"mus": [0, 0.5], "mu": 0.5, "steps": 5, "permutations": 19}
    result = fa.repair(
        frame.drop(columns=["person", "w", "race"]),
        sensitive="sex",
        outcome="repaid",
        use_sensitive=True,
        **fixed,
    )
    assert "(missing)" in result.after.table.attributes[0].levels
    scores = predictor_of(result.model).predict(frame[list(result.features)])
    without = predictor_of(result.model).predict(frame[list(result.features)].assign(sex=np.nan))
    assert not np.allclose(scores, without)  # the codes are known to the model


def test_marks_among_numbers_are_missing_for_the_model_too():
    frame = people()
    ages = frame["age"].astype(str).where(frame.index % 50 > 0, "?")
    marked = frame.assign(age=ages)
    model = LogisticRegression().fit(frame[["x", "age"]], frame["repaid"])
    roles = {"sensitive": ("age",), "missing": "drop"}
    found, first = (
        by_frame(marked, roles, model),
        by_frame(frame[frame.index % 50 > 0], roles, model),
    )
    assert found.table.rows == 686
    assert asdict(found.joint) | {"seconds": 0} == asdict(first.joint) | {"seconds": 0}


def test_missingness_of_a_number_that_the_model_uses():
    """The model was given "known" and "(missing)" in the place of the number."""
    frame = people().assign(age=lambda t: t["age"].astype(float))
    frame.loc[frame.index % 7 == 0, "age"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=5).fit(frame[["x", "age"]], frame["repaid"])
    roles = Roles(sensitive=("age",), outcome="repaid")
    (found,) = incomplete_frame(
        frame, roles, {}, predictor=predictor_of(model), permutations=QUICK
    ).missingness
    assert found.missing == 100


def test_the_outcome_is_inferred_with_all_attributes_in_mind():
    """`fairaudit missing` looked at one attribute at a time, and took the others for outcomes."""
    frame = people()[["race", "sex", "x", "repaid"]]
    roles = Roles(sensitive=("race", "sex"), predictions=("x",))
    found = incomplete_frame(frame, roles, {}, permutations=QUICK)
    assert [test.attribute for test in found.missingness] == ["race"]
    assert audit_frame(frame, roles, Plan(permutations=QUICK)).table.outcome.name == "repaid"
    assert fa.audit(frame, predictions="x", sensitive="race,sex").table.outcome.name == "repaid"


# --- names -------------------------------------------------------------------------------------


def test_names_for_every_role_in_python():
    frame = people().rename(columns={"w": "weight of row"})
    result = fa.audit(
        frame,
        predictions=["x"],
        outcome="repaid",
        sensitive=["race", "age:continuous"],
        weights="weight of row",
        ids="person",
        permutations=QUICK,
        power=False,
    )
    assert (result.table.weights, result.table.ids) == ("weight of row", "person")
    assert [column.kind for column in result.table.attributes] == ["categorical", "continuous"]


@pytest.mark.parametrize("role", ["sensitive", "outcome", "predictions", "weights", "ids"])
def test_an_unknown_column_is_named_alike_at_every_door(role):
    frame = people()
    given = {"sensitive": "race", "outcome": "repaid", "predictions": "x", role: "repayd"}
    message = r"There is no column 'repayd'\. Did you mean 'repaid'\?"
    with pytest.raises(fa.InputError, match=message) as by_name:
        fa.audit(frame, **given)
    for several in {"sensitive", "predictions"} & {*given}:
        given[several] = (given[several],)
    with pytest.raises(fa.InputError, match=message) as by_role:
        audit_frame(frame, Roles(**given), Plan())
    assert str(by_name.value) == str(by_role.value)
    assert by_role.value.column == "repayd"


COMMANDS = {
    "test": [],
    "metrics": [],
    "missing": [],
    "plan": ["--effect", "tpr_gap=0.2"],
    "monitor": ["--state", "a.state"],
    "test --shards": ["--shards", "1"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("role", ["sensitive", "outcome", "predictions"])
def test_an_unknown_column_gives_the_same_line_in_every_command(
    place, command, role, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    given = {"sensitive": "race", "outcome": "repaid", "predictions": "score", role: "repayd"}
    words = [word for name, value in given.items() for word in (f"--{name}", value)]
    data = ["--data", str(place / "table.parquet")]
    assert main([command.split()[0], *data, *words, *COMMANDS[command]]) == 2
    line = "fairaudit: error: There is no column 'repayd'. Did you mean 'repaid'?\n"
    assert capsys.readouterr().err == line


@pytest.mark.parametrize("command", ["remedy", "compare"])
def test_an_unknown_column_gives_the_same_line_where_models_are_made(place, command, capsys):
    models = ["--models", str(place / "model.pkl")] if command == "compare" else []
    words = ["--data", str(place / "table.parquet"), "--sensitive", "repayd", *models]
    assert main([command, *words, "--outcome", "repaid"]) == 2
    assert "There is no column 'repayd'. Did you mean 'repaid'?\n" in capsys.readouterr().err


def test_names_without_a_frame_ask_for_one():
    with pytest.raises(fa.InputError, match=r"'sensitive' argument names columns .'race'.*Pass X"):
        fa.audit(predictions=[0.1, 0.9], outcome=[0, 1], sensitive="race")


@pytest.mark.parametrize("name", ["race", "sex", "x"])
def test_a_name_that_occurs_twice_is_told_where_it_is_used(name):
    """The package that reads frames had answered, also about columns that nobody named."""
    frame = people(200)
    model = LogisticRegression().fit(frame[["x", "z"]], frame["repaid"])
    given = {"sensitive": ["sex"], "outcome": "repaid", "permutations": QUICK, "power": False}
    twice = pd.concat([frame, frame[[name]]], axis=1)
    if name == "race":
        assert fa.audit(model, twice, **given).table.rows == 200
        return
    with pytest.raises(fa.InputError, match=f"Column '{name}' occurs more than once"):
        fa.audit(model, twice, **given)


def test_a_column_beside_the_table_takes_no_feature_of_its_name():
    """Weights by age took the age from a model that did not know the names of its features."""
    frame = people(200)
    names = ["x", "z", "age"]
    model = LogisticRegression().fit(frame[names].to_numpy(), frame["repaid"])
    given = {"sensitive": frame[["sex"]], "permutations": QUICK, "power": False}
    beside = {**given, "outcome": frame["repaid"], "weights": frame["age"]}
    for asked in (model, lambda rows: model.predict_proba(rows[names].to_numpy())[:, 1]):
        assert fa.audit(asked, frame[names], **beside).table.features == tuple(names)
    more = fa.audit(model, frame[[*names, "repaid"]], frame["repaid"], **given)
    assert more.table.features == tuple(names)  # their number tells


# --- one table ---------------------------------------------------------------------------------


def test_an_audit_builds_and_checks_its_table_once(place, tmp_path, capsys):
    calls: Counter[str] = Counter()

    def count(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.endswith(("data/table.py", "data/columns.py")):
            calls[code.co_name] += 1

    sys.setprofile(count)
    try:
        by_command(place, ROLES["plain"], tmp_path, model=True)
    finally:
        sys.setprofile(None)
    assert (calls["of"], calls["columns_from"], calls["column_of"]) == (1, 3, 4)


def test_a_setting_is_a_field_of_the_plan_and_a_line_of_the_options():
    """`folds` is in no list of parameters: Python takes it, and the record keeps it."""
    frame = people(400)
    given = {"sensitive": "race", "outcome": "repaid", "predictions": "x"}
    given |= {"power": False, "permutations": fa.Permutations(n=19)}
    result = fa.audit(frame, **given, folds=3)
    assert result.capsule.options["folds"] == 3
    assert fa.audit(frame, **given).capsule.options["folds"] == 5
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument 'fold'\. Did you mean 'folds'"
    ):
        fa.audit(frame, **given, fold=3)
