"""One policy at every door: missing values, large numbers, what is absent, what is warned of."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import fairaudit as fa
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.doors import audit_frame
from fairaudit.data.roles import Roles
from fairaudit_cli.main import main

QUICK = fa.Permutations(n=39)


def people(n: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    race = rng.choice(["a", "b", "c"], n).astype(object)
    y = rng.integers(0, 2, n)
    score = np.clip(0.3 + 0.3 * y + 0.1 * (race == "b") + 0.15 * rng.normal(size=n), 0, 1)
    sex = rng.choice(["f", "m"], n)
    return pd.DataFrame({"race": race, "sex": sex, "score": score, "y": y})


DOORS = {
    "audit_frame": lambda frame, **o: audit_frame(
        frame,
        Roles(sensitive=("race", "sex"), outcome="y", predictions=("score",), **o),
        Plan(permutations=QUICK, power=False, with_r=False),
    ),
    "audit": lambda frame, **o: fa.audit(
        predictions=frame["score"],
        y=frame["y"],
        sensitive=frame[["race", "sex"]],
        permutations=QUICK,
        power=False,
        **o,
    ),
    "audit by names": lambda frame, **o: fa.audit(
        lambda table: table["score"],
        frame,
        frame["y"],
        sensitive="race,sex",
        permutations=QUICK,
        power=False,
        **o,
    ),
    "engine": lambda frame, **o: fa.audit(
        X=frame,
        outcome="y",
        sensitive="race,sex",
        predictions="score",
        engine="local",
        permutations=QUICK,
        **o,
    ),
}


# --- missing values ----------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
def test_missing_race_is_a_category_at_every_door(door):
    """`fairaudit test` took a category, fa.audit raised, engine="local" took the category."""
    frame = people()
    frame.loc[frame.index % 7 == 0, "race"] = None
    found = DOORS[door](frame)
    assert found.table.attributes[0].levels == ("(missing)", "a", "b", "c")
    assert found.table.attributes[0].missing == 86
    first = DOORS["audit_frame"](frame)
    assert found.joint.kpc == pytest.approx(first.joint.kpc, abs=1e-6)
    assert found.cells.cells[0].levels == first.cells.cells[0].levels == ("(missing)", "f")


@pytest.mark.parametrize("door", DOORS)
def test_missing_values_are_dropped_or_refused_where_asked(door):
    frame = people()
    frame.loc[frame.index % 7 == 0, "race"] = None
    dropped = DOORS[door](frame, missing="drop")
    assert dropped.table.rows == 514
    assert [(exclusion.rows, exclusion.reason) for exclusion in dropped.table.excluded] == [
        (86, "race is missing")
    ]
    with pytest.raises(fa.InputError, match=r"'race' has 86 missing values.*'missing' to drop"):
        DOORS[door](frame, missing="error")
    with pytest.raises(fa.InputError, match="'missing' must be one of auto"):
        DOORS[door](frame, missing="keep")


@pytest.mark.parametrize("door", DOORS)
def test_a_missing_outcome_or_number_is_an_error_unless_dropped(door):
    frame = people().astype({"y": float})
    frame.loc[3, "y"] = np.nan
    with pytest.raises(fa.InputError, match="'y' has 1 missing value"):
        DOORS[door](frame)
    assert DOORS[door](frame, missing="drop").table.rows == 599
    ages = people()
    ages["race"] = np.random.default_rng(1).integers(18, 90, 600).astype(float)
    ages.loc[5, "race"] = np.nan
    with pytest.raises(fa.InputError, match="race:categorical"):
        DOORS[door](ages)


@pytest.mark.parametrize("door", DOORS)
def test_two_codes_and_a_missing_one_are_three_categories(door):
    frame = people()
    frame["sex"] = np.where(frame["sex"] == "f", 1.0, 2.0)
    frame.loc[frame.index % 5 == 0, "sex"] = np.nan
    sex = DOORS[door](frame).table.attributes[1]
    assert (sex.kind, sex.levels, sex.missing) == ("categorical", ("(missing)", "1", "2"), 120)


def test_a_repair_takes_the_same_policy():
    pytest.importorskip("torch")
    frame = people().assign(x=lambda t: t["score"])
    frame.loc[frame.index % 7 == 0, "race"] = None
    given = {
        "sensitive": "race",
        "outcome": "y",
        "mus": [0, 0.5],
        "mu": 0.5,
        "steps": 5,
        "permutations": 19,
    }
    kept = fa.repair(frame, **given)
    assert "(missing)" in kept.after.table.attributes[0].levels
    dropped = fa.repair(frame, **given, missing="drop")
    assert dropped.after.table.attributes[0].levels == ("a", "b", "c")


# --- shards ------------------------------------------------------------------------------------


def test_shards_have_the_gaps_and_say_what_is_absent():
    """engine="local" dropped CODEC, power and gaps in silence."""
    frame = people(2000)
    shards, whole = DOORS["engine"](frame, shards=2), DOORS["audit_frame"](frame)
    assert shards.gaps is not None
    assert [(g.levels, g.rate) for g in shards.gaps.gaps] == [
        (g.levels, g.rate) for g in whole.gaps.gaps
    ]
    for mine, theirs in zip(shards.gaps.gaps, whole.gaps.gaps, strict=True):
        assert (mine.value, mine.low, mine.high) == pytest.approx(
            (theirs.value, theirs.low, theirs.high)
        )
    (note,) = [
        sentence for sentence in shards.notes if sentence.startswith("Not computed in shards")
    ]
    assert "CODEC" in note and "smallest detectable" in note
    continuous = frame.assign(y=frame["score"] + np.random.default_rng(2).normal(size=2000))
    (note,) = [
        sentence
        for sentence in DOORS["engine"](continuous, power=False, locate=True, shards=2).notes
        if sentence.startswith("Not computed in shards")
    ]
    assert "the outcome is continuous" in note and "where the violation sits" in note
    assert "smallest detectable" not in note


@pytest.mark.parametrize("door", DOORS)
def test_whole_numbers_beyond_2_53_are_told_apart_or_refused(door):
    """In shards such a column "had a single value"."""
    frame = people()
    frame["race"] = 2**60 + np.where(frame["race"] == "a", 0, 1)
    with pytest.raises(fa.InputError, match=r"beyond 2\^53 .* declare race:categorical"):
        DOORS[door](frame)


def test_large_whole_numbers_as_categories_in_shards():
    frame = people()
    frame["race"] = 2**60 + np.where(frame["race"] == "a", 0, 1)
    found = fa.audit(
        X=frame,
        outcome="y",
        sensitive="race:categorical",
        predictions="score",
        engine="local",
        permutations=QUICK,
    )
    assert found.table.attributes[0].levels == (str(2**60), str(2**60 + 1))
    whole = fa.audit(
        predictions=frame["score"],
        y=frame["y"],
        sensitive=frame[["race"]],
        kinds={"race": "categorical"},
        permutations=QUICK,
    )
    assert found.joint.kpc == pytest.approx(whole.joint.kpc, abs=1e-6)


# --- copies as needed --------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["setting", "flag"])
@pytest.mark.parametrize("command", ["monitor", "remedy"])
def test_permutations_auto_is_never_another_number_in_silence(
    command, how, tmp_path, monkeypatch, capsys
):
    """fairaudit.toml said auto, `test` stopped early and `monitor` drew 999 in silence."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    base = [command, "--data", "people.csv", "--sensitive", "race", "--outcome", "y"]
    if command == "monitor":
        base += ["--predictions", "score", "--state", "a.state"]
    if how == "setting":
        (tmp_path / "fairaudit.toml").write_text('permutations = "auto"\n')
    else:
        base += ["--permutations", "auto"]
    assert main(base) == 2
    error = capsys.readouterr().err
    assert f"permutations = auto stops drawing copies early, and fairaudit {command}" in error
    assert "--permutations N" in error


def test_permutations_auto_works_where_models_are_audited(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = people()
    frame.to_csv("people.csv", index=False)
    model = LogisticRegression().fit(frame[["score"]], frame["y"])
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    (tmp_path / "fairaudit.toml").write_text('permutations = "auto"\n')
    code = main(
        [
            "compare",
            "--models",
            "m.pkl",
            "--data",
            "people.csv",
            "--sensitive",
            "sex",
            "--outcome",
            "y",
            "--json",
        ]
    )
    out = capsys.readouterr()
    assert code in (0, 1) and '"settle_at": 0.05' in out.out, out.err


# --- warnings ----------------------------------------------------------------------------------


def notes_of(frame, model=None, sensitive=("sex",), **options) -> str:
    options = {"permutations": QUICK, "power": False, **options}
    return " ".join(fa.audit(model, frame, frame["y"], sensitive=list(sensitive), **options).notes)


def test_an_outcome_that_is_a_feature_of_the_model_is_named():
    frame = people().assign(x=np.random.default_rng(3).normal(size=600))
    model = LogisticRegression().fit(frame[["x", "y"]], frame["y"])
    assert "The outcome 'y' is also a feature of the model" in notes_of(frame, model)
    honest = LogisticRegression().fit(frame[["x", "score"]], frame["y"])
    assert "feature of the model" not in notes_of(frame, honest)


def test_an_outcome_that_is_a_sensitive_column_is_named():
    frame = people()
    model = LogisticRegression().fit(frame[["score"]], frame["y"])
    found = notes_of(frame, model, ("sex", "y"))
    assert "The outcome 'y' is also a sensitive attribute (y)" in found
    copied = notes_of(
        frame.assign(label=np.where(frame["y"] == 1, "p", "n")), model, ("sex", "label")
    )
    assert "The outcome 'y' is also a sensitive attribute (label)" in copied


def test_a_group_of_one_person_is_named():
    frame = people()
    frame.loc[0, "race"] = "z"
    model = LogisticRegression().fit(frame[["score"]], frame["y"])
    found = notes_of(frame, model, ("race", "sex"))
    assert "Groups of very few people, down to one person: race = z." in found
    assert "down to one person" not in notes_of(people(), model, ("race", "sex"))
    larger = people(1200)
    larger.loc[0, "race"] = "z"
    for shards in (1, 2):
        told = " ".join(DOORS["engine"](larger, shards=shards).notes)
        assert "down to one person: race = z." in told
    assert "down to one person: race = z." in " ".join(DOORS["audit_frame"](frame).notes)


def test_a_regressor_of_a_class_outcome_is_named():
    frame = people()
    regressor = LinearRegression().fit(frame[["score"]], frame["y"])
    found = notes_of(frame, regressor)
    assert "LinearRegression) is a regressor and the outcome 'y' has classes" in found
    assert "neither labels nor probabilities" in found
    classifier = LogisticRegression().fit(frame[["score"]], frame["y"])
    assert "regressor" not in notes_of(frame, classifier)
    for shards in (1, 2):
        found = fa.audit(
            regressor, people(1200), "y", sensitive="sex", shards=shards, permutations=QUICK
        )
        assert any("is a regressor" in note for note in found.notes)


def test_warnings_are_shown_on_the_terminal_and_in_every_report(tmp_path, capsys):
    frame = people().assign(x=np.random.default_rng(3).normal(size=600))
    frame.to_csv(tmp_path / "people.csv", index=False)
    model = LogisticRegression().fit(frame[["x", "y"]], frame["y"])
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    base = [
        "--model",
        str(tmp_path / "m.pkl"),
        "--data",
        str(tmp_path / "people.csv"),
        "--sensitive",
        "sex",
        "--outcome",
        "y",
    ]
    reports = [tmp_path / f"audit.{form}" for form in ("html", "md", "json", "txt")]
    main(
        [
            "test",
            *base,
            "--permutations",
            "19",
            "--no-power",
            *(part for path in reports for part in ("--report", str(path))),
        ]
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert "is also a feature of the model" in shown
    for path in reports:
        assert "is also a feature of the model" in " ".join(path.read_text().split()), path
    main(["metrics", *base])
    assert "is also a feature of the model" in capsys.readouterr().out
    main(["compare", "--baseline", *base[1:2], "--candidate", *base[1:2], *base[2:]])
    assert "is also a feature" in " ".join(capsys.readouterr().out.split())
