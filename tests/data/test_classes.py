"""Classes of a model and levels of the outcome are matched by name, never by alphabet."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import fairaudit as fa
from fairaudit.data.classes import class_key, column_classes, matched_levels, model_levels
from fairaudit.data.preparation import prepare
from fairaudit.data.roles import Roles
from fairaudit_cli.main import main

QUICK = fa.Permutations(n=19)
N = 800


def people(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Features with the sexes, and an outcome of 0 and 1; sex moves the false alarms."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], N)
    x = rng.normal(size=N)
    y = (x + rng.normal(size=N) > 0.3).astype(int)
    z = x + 0.8 * (sex == "m") * (y == 0)
    return pd.DataFrame({"x": x, "z": z, "sex": sex}), y


def words(y: np.ndarray) -> np.ndarray:
    """1 is arrested, which comes first in the alphabet."""
    return np.where(y == 1, "arrested", "clear")


def fitted(kind=LogisticRegression, names=None, **options):
    frame, y = people()
    return kind(**options).fit(frame[["x", "z"]], y if names is None else names(y))


def rates(result: fa.AuditResult) -> list[tuple]:
    """(group, TPR, FPR) of all groups."""
    return [
        (cell.levels, *(rate.value for rate in cell.estimates[1:])) for cell in result.cells.cells
    ]


def audited(outcome, **options) -> fa.AuditResult:
    frame, _ = people()
    options = {"permutations": QUICK, "power": False, **options}
    model = options.pop("model", None)
    if "predictions" in options:
        return fa.audit(outcome=outcome, sensitive=frame[["sex"]], **options)
    return fa.audit(model or fitted(), frame, outcome, sensitive="sex", **options)


def test_classes_0_and_1_with_an_outcome_of_words_do_not_swap_tpr_and_fpr():
    """Today's alphabet took P(1), arrested, for P(clear): TPR and FPR were swapped in silence."""
    _, y = people()
    with pytest.raises(fa.InputError) as error:
        audited(words(y))
    assert "(0, 1)" in str(error.value) and "(arrested, clear)" in str(error.value)
    assert "Pass 'positive', the level that 1 means" in str(error.value)
    assert "'classes' (0=LEVEL,1=LEVEL)" in str(error.value)
    expected = rates(audited(y))
    assert rates(audited(words(y), positive="arrested")) == expected
    named = {"classes": {0: "clear", 1: "arrested"}}
    assert rates(audited(words(y), **named, positive="arrested")) == expected
    other = rates(audited(words(y), **named))  # of clear, as the larger one
    assert [(g, pytest.approx(1 - fpr), pytest.approx(1 - tpr)) for g, tpr, fpr in other] == [
        (g, tpr, fpr) for g, tpr, fpr in expected
    ]
    labels = {"on": "labels", "positive": "arrested"}
    assert rates(audited(words(y), **labels)) == expected


@pytest.mark.parametrize("on", ["scores", "labels"])
@pytest.mark.parametrize("names", [str, float, bool, lambda label: f"{float(label)}"])
def test_harmless_ways_to_type_0_and_1_are_matches(names, on):
    _, y = people()
    outcome = np.array([names(label) for label in y], dtype=object if names is str else None)
    assert rates(audited(outcome, on=on)) == rates(audited(y, on=on))
    model = fitted(names=lambda y: np.array([str(label) for label in y]))
    assert rates(audited(y, on=on, model=model)) == rates(audited(y, on=on))


def test_names_are_matched_whatever_the_order_of_the_model():
    _, y = people()
    model = fitted(names=words)
    assert rates(audited(words(y), model=model, positive="arrested")) == [
        (g, pytest.approx(tpr), pytest.approx(fpr)) for g, tpr, fpr in rates(audited(y))
    ]

    class Reversed:
        """Its classes are not in the order of the alphabet."""

        classes_ = np.array(["clear", "arrested"])
        feature_names_in_ = np.array(["x", "z"])

        def predict_proba(self, X):
            return model.predict_proba(X)[:, ::-1]

        def predict(self, X):
            return model.predict(X)

    assert rates(audited(words(y), model=Reversed())) == [
        (g, pytest.approx(tpr), pytest.approx(fpr))
        for g, tpr, fpr in rates(audited(words(y), model=model))
    ]


def test_probabilities_that_are_all_0_or_1_keep_their_class():
    _, y = people()
    tree = fitted(DecisionTreeClassifier, random_state=0)
    flipped = np.where(y == 1, 0, 1)  # the model's 1 is called 0 here
    right = fitted(DecisionTreeClassifier, random_state=0, names=lambda y: np.where(y == 1, 0, 1))
    named = fitted(DecisionTreeClassifier, random_state=0, names=words)
    found = audited(flipped, model=named, positive=0, classes={"arrested": 0, "clear": 1})
    expected = audited(flipped, model=right, positive=0)
    assert rates(found) == rates(expected)
    assert np.nanmin([tpr for _, tpr, _ in rates(audited(y, model=tree))]) == 1.0


def test_positive_decides_for_labels_and_for_columns_of_words():
    frame, y = people()
    said = words(fitted().predict(frame[["x", "z"]]))
    larger = rates(audited(words(y), predictions=said))
    chosen = rates(audited(words(y), predictions=said, positive="arrested"))
    assert chosen == rates(audited(y, on="labels"))
    assert [(g, pytest.approx(1 - f), pytest.approx(1 - t)) for g, t, f in larger] == chosen
    coded = np.where(said == "arrested", "A", "C")
    mapped = {"classes": {"A": "arrested", "C": "clear"}, "positive": "arrested"}
    assert rates(audited(words(y), predictions=coded, **mapped)) == chosen


@pytest.mark.parametrize("source", ["function", "column"])
def test_scores_without_class_names_need_positive_unless_the_outcome_is_0_and_1(source):
    frame, y = people()
    model = fitted()

    def chance(table):
        return model.predict_proba(table[["x", "z"]])[:, 1]

    given = {"model": chance} if source == "function" else {"predictions": chance(frame)}
    with pytest.raises(fa.InputError, match=r"do not say which level .*\(arrested, clear\).*posi"):
        audited(words(y), **given)
    with pytest.raises(fa.InputError, match="do not say which level"):
        audited(y + 1, **given)  # 1 and 2: of which of them?
    expected = rates(audited(y))
    assert rates(audited(y, **given)) == rates(audited(y == 1, **given)) == expected
    assert rates(audited(words(y), **given, positive="arrested")) == expected
    assert rates(audited(y + 1, **given, positive=2)) == expected


def test_two_probability_columns_are_matched_by_their_names():
    frame, y = people()
    chance = fitted().predict_proba(frame[["x", "z"]])
    for names in (["clear", "arrested"], ["p_clear", "p_arrested"], ["P(clear)", "P(arrested)"]):
        table = pd.DataFrame(chance, columns=names)
        for columns in (names, names[::-1]):
            found = audited(words(y), predictions=table[columns], positive="arrested")
            assert rates(found) == rates(audited(y))
    table = pd.DataFrame(chance, columns=["one", "two"])
    with pytest.raises(fa.InputError, match="do not say which level"):
        audited(words(y), predictions=table)
    found = audited(words(y), predictions=table, classes={"one": "clear", "two": "arrested"})
    assert rates(found)[0][1] == pytest.approx(1 - rates(audited(y))[0][2])


def test_a_threshold_is_that_of_the_positive_class():
    frame, y = people()
    model = fitted(names=words)
    found = audited(words(y), model=model, positive="arrested", threshold=0.3)
    said = model.predict_proba(frame[["x", "z"]])[:, 0] >= 0.3
    women = (frame["sex"] == "f").to_numpy()
    assert rates(found)[0][1] == pytest.approx(said[women & (y == 1)].mean())


# --- more than two classes ---------------------------------------------------------------------


def grades() -> tuple[pd.DataFrame, np.ndarray, LogisticRegression]:
    frame, _ = people()
    rng = np.random.default_rng(1)
    codes = np.digitize(frame["x"] + rng.normal(size=N), [-0.6, 0.6])
    names = np.array(["low", "middle", "high"])[codes]
    return frame, names, LogisticRegression().fit(frame[["x", "z"]], names)


@pytest.mark.parametrize("on", ["scores", "labels"])
def test_positive_of_many_classes_gives_rates_gaps_and_deo_of_one_against_the_rest(on):
    """Messages advised `positive=`, and neither fa.audit nor the commands had it."""
    frame, names, model = grades()
    given = {"sensitive": "sex", "permutations": QUICK, "power": False, "on": on}
    without = fa.audit(model, frame, names, **given)
    assert without.gaps.of_classes and any("'positive'" in note for note in without.notes)
    assert without.cells.columns == ("TPR high", "TPR low", "TPR middle")
    result = fa.audit(model, frame, names, positive="high", **given)
    assert result.p_value == without.p_value and result.joint == replaced(result, without)
    said, true = model.predict(frame[["x", "z"]]) == "high", names == "high"
    for group, tpr, fpr in rates(result):
        rows = (frame["sex"] == group[0]).to_numpy()
        assert tpr == pytest.approx(said[rows & true].mean())
        assert fpr == pytest.approx(said[rows & ~true].mean())
    measured = {measure.key: measure.value for measure in result.measures}
    deo = fa.metrics.deo(said.astype(int), sensitive=frame[["sex"]], y_true=true.astype(int))
    assert measured["deo"] == pytest.approx(float(deo))
    assert {gap.rate for gap in result.gaps.gaps} == {"TPR", "FPR"}
    assert any("compare high with the other 2 classes" in note for note in result.notes)


def replaced(result, other):
    """The gate of another audit with the seconds of this one."""
    from dataclasses import replace

    return replace(other.joint, seconds=result.joint.seconds)


def test_a_model_with_other_names_for_many_classes_needs_the_mapping():
    frame, names, _ = grades()
    codes = pd.Categorical(names, ["low", "middle", "high"]).codes
    model = LogisticRegression().fit(frame[["x", "z"]], codes)
    given = {"sensitive": "sex", "permutations": QUICK, "power": False, "positive": "high"}
    with pytest.raises(fa.InputError, match=r"\(0, 1, 2\).*\(high, low, middle\).*'classes'"):
        fa.audit(model, frame, names, **given)
    means = {0: "low", 1: "middle", 2: "high"}
    result = fa.audit(model, frame, names, classes=means, **given)
    expected = fa.audit(model, frame, codes, **{**given, "positive": 2})
    assert rates(result) == rates(expected)


def test_statistics_of_rates_take_positive():
    frame, names, model = grades()
    score = model.predict_proba(frame[["x", "z"]])[:, 0]  # of high
    given = {"y_true": names, "sensitive": frame[["sex"]], "permutations": QUICK}
    with pytest.raises(fa.InputError, match="'positive'"):
        fa.equalized_odds_test(model.predict(frame[["x", "z"]]), **given, statistic="deo")
    found = fa.equalized_odds_test(
        model.predict(frame[["x", "z"]]), **given, statistic="deo", positive="high"
    )
    direct = fa.metrics.deo(
        model.predict(frame[["x", "z"]]), sensitive=frame[["sex"]], y_true=names, positive="high"
    )
    assert found.statistic == pytest.approx(float(direct))
    (certificate,) = fa.certify(
        score, sensitive=frame[["sex"]], y_true=names, limits={"tpr_gap": 0.5}, positive="high"
    )
    assert certificate.value is not None


# --- every door --------------------------------------------------------------------------------


@pytest.fixture()
def files(tmp_path):
    frame, y = people()
    frame = frame.assign(race=[None, "a", "b", "c"] * (N // 4))
    model = tmp_path / "model.pkl"
    model.write_bytes(pickle.dumps(fitted()))
    data = tmp_path / "people.csv"
    frame.assign(status=words(y)).to_csv(data, index=False)
    coded = tmp_path / "coded.csv"
    frame.assign(status=y).to_csv(coded, index=False)
    frame.assign(status=words(y)).to_parquet(tmp_path / "people.parquet")
    return {
        "model": str(model),
        "data": str(data),
        "coded": str(coded),
        "parquet": str(tmp_path / "people.parquet"),
        "folder": tmp_path,
    }


def ran(capsys, *arguments: str) -> dict:
    code = main([*arguments, "--json"])
    out = capsys.readouterr()
    assert code != 2, out.err
    return json.loads(out.out)


COMMANDS = {
    "test": ("--permutations", "19", "--no-power"),
    "metrics": (),
    "missing": ("--permutations", "19"),
    "plan": ("--certify", "tpr_gap=0.6", "--max-rows", "1000"),
    "monitor": ("--permutations", "19"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_the_alphabet_and_takes_positive(command, files, capsys):
    options = list(COMMANDS[command])
    if command == "monitor":
        options += ["--state", str(files["folder"] / "a.state")]
    base = [command, "--model", files["model"], "--sensitive", "race", "--outcome", "status"]
    assert main([*base, "--data", files["data"], *options]) == 2
    assert "--positive" in capsys.readouterr().err
    found = ran(capsys, *base, "--data", files["data"], *options, "--positive", "arrested")
    assert found
    if command in ("test", "metrics"):
        expected = ran(capsys, *base, "--data", files["coded"], *options)
        assert found["cells"]["cells"] == expected["cells"]["cells"]


def test_compare_and_verify_take_positive(files, capsys):
    base = ["--data", files["data"], "--sensitive", "sex", "--outcome", "status"]
    pair = ["compare", "--baseline", files["model"], "--candidate", files["model"]]
    assert main([*pair, *base]) == 2
    found = ran(capsys, *pair, *base, "--positive", "arrested")
    coded = ["--data", files["coded"], "--sensitive", "sex", "--outcome", "status"]
    expected = ran(capsys, *pair, *coded)
    assert found["cells"] == expected["cells"]
    for difference, other in zip(found["differences"], expected["differences"], strict=True):
        for value in ("baseline", "candidate") if difference["key"] == "kpc" else ():
            other[value] = pytest.approx(other[value], rel=1e-12)  # sums in another order
        assert difference == other
    record = str(files["folder"] / "audit.json")
    test = ["test", "--model", files["model"], *base, "--permutations", "19", "--report", record]
    main([*test, "--classes", "0=clear,1=arrested", "--positive", "arrested"])
    saved = json.loads(Path(record).read_text())["capsule"]["options"]
    assert saved["positive"] == "arrested"
    assert saved["classes"] == {"0": "clear", "1": "arrested"}
    assert main(["verify", record, "--model", files["model"], "--data", files["data"]]) == 0


def test_a_record_from_before_positive_is_verified_with_the_larger_class(files, capsys):
    """It was the larger class then, whatever the names: the numbers must come out again."""
    record = files["folder"] / "audit.json"
    main(
        [
            "test",
            "--model",
            files["model"],
            "--data",
            files["data"],
            "--sensitive",
            "sex",
            "--outcome",
            "status",
            "--permutations",
            "19",
            "--positive",
            "clear",
            "--report",
            str(record),
        ]
    )
    saved = json.loads(record.read_text())
    for name in ("positive", "classes"):
        del saved["capsule"]["options"][name]
    saved["notes"], saved["capsule"]["version"] = ["What was said then."], "0.1.0"
    for name in ("digest", "statements", "portrait"):  # records of 0.1 had none of these
        del saved[name]
    record.write_text(json.dumps(saved))
    found = main(["verify", str(record), "--model", files["model"], "--data", files["data"]])
    assert found == 0, capsys.readouterr().out


def test_settings_of_a_project_may_hold_positive_and_classes(files, capsys, monkeypatch):
    monkeypatch.chdir(files["folder"])
    base = [
        "test",
        "--model",
        files["model"],
        "--data",
        files["data"],
        "--sensitive",
        "sex",
        "--outcome",
        "status",
        "--permutations",
        "19",
        "--no-power",
    ]
    (files["folder"] / "fairaudit.toml").write_text(
        'positive = "arrested"\nclasses = { 0 = "clear", 1 = "arrested" }\n'
    )
    found = ran(capsys, *base)
    assert found["capsule"]["options"]["positive"] == "arrested"
    (files["folder"] / "fairaudit.toml").write_text('classes = "clear"\n')
    assert main(base) == 2
    assert "'classes' must be a table of levels" in capsys.readouterr().err


def test_shards_match_by_name_too(files, capsys):
    base = [
        "test",
        "--model",
        files["model"],
        "--data",
        files["parquet"],
        "--sensitive",
        "sex",
        "--outcome",
        "status",
        "--permutations",
        "19",
    ]
    assert main([*base, "--engine", "local"]) == 2
    assert "(0, 1)" in capsys.readouterr().err
    whole = ran(capsys, *base, "--positive", "arrested", "--no-power")
    for options in (["--positive", "arrested"], ["--positive", "arrested", "--on", "labels"]):
        found = ran(capsys, *base, *options, "--engine", "local", "--shards", "1")
        assert np.allclose(values(found), values(whole))
    turned = ran(capsys, *base, "--classes", "0=clear,1=arrested", "--engine", "local")
    again = ran(capsys, *base, "--classes", "0=clear,1=arrested", "--no-power")
    assert np.allclose(values(turned), values(again))


def values(record: dict) -> list[list[float]]:
    """The rates of all groups."""
    return [
        [estimate["value"] for estimate in cell["estimates"]] for cell in record["cells"]["cells"]
    ]


def test_a_remedy_corrects_the_class_that_positive_names():
    """Post-processing fitted the correction of P(1) to the alphabet's second level."""
    pytest.importorskip("torch")
    frame, y = people()
    table = frame.assign(status=words(y))
    given = {
        "sensitive": "sex",
        "outcome": "status",
        "model": fitted(),
        "mus": [0, 0.5],
        "method": "postprocess",
        "mu": 0.5,
        "steps": 20,
        "permutations": 19,
    }
    with pytest.raises(fa.InputError, match=r"\(0, 1\).*\(arrested, clear\)"):
        fa.repair(table, **given)
    found = fa.repair(table, positive="arrested", **given)
    expected = fa.repair(frame.assign(status=y), **given)
    assert found.loss == pytest.approx(expected.loss)
    assert found.curve["loss"].tolist() == pytest.approx(expected.curve["loss"].tolist())
    assert max(found.loss) < 0.4


def test_a_monitor_keeps_to_its_positive_class(tmp_path):
    frame, y = people()
    given = {"model": fitted(), "sensitive": "sex", "outcome": "status", "permutations": QUICK}
    monitor = fa.Monitor(
        tmp_path / "a.state", positive="arrested", statistic="deo", on="labels", **given
    )
    monitor.add(frame[:400].assign(status=words(y)[:400]))
    with pytest.raises(fa.InputError, match=r"other settings \(positive\)"):
        fa.Monitor(tmp_path / "a.state", positive="clear", statistic="deo", on="labels", **given)


def test_unknown_levels_and_continuous_outcomes_are_refused():
    frame, y = people()
    with pytest.raises(fa.InputError, match=r"'positive' must be a level .*arrested, clear"):
        audited(words(y), positive="arested")
    roles = Roles(sensitive=("sex",), outcome="amount", predictions=("x",), positive="1")
    with pytest.raises(fa.InputError, match="there is no positive class"):
        prepare(frame.assign(amount=np.linspace(0, 1, N)), roles)


def test_names_of_classes():
    assert class_key(np.float64(2)) == class_key("2") == "2" != class_key("2a")
    assert matched_levels(["a", "b"], ["a", "b", "c"]) == ["a", "b"]
    assert matched_levels(["a", "b", "c"], ["b"]) == ["a", "b", "c"]
    assert matched_levels(["a", "x"], ["a", "b"]) is None
    assert matched_levels([1, 0], ["True", "False"]) == ["True", "False"]
    assert matched_levels(["1", "true"], ["1", "true"]) == ["1", "true"]
    assert column_classes(["p_1", "p_0"], [0, 1], None) == [1, 0]
    assert column_classes(["score", "other"], [0, 1], None) is None
    assert model_levels([0, 1], ["a", "b", "c"], "y", positive="b") == ["not b", "b"]


def test_what_is_said_of_the_old_model_does_not_hold_for_a_new_one():
    """The old model's 1 is called 0; a model trained on the table has the table's own classes."""
    pytest.importorskip("torch")
    frame, y = people()
    table = frame.assign(status=1 - y)
    given = {
        "sensitive": "sex",
        "outcome": "status",
        "mus": [0, 0.5],
        "mu": 0.5,
        "steps": 200,
        "permutations": 19,
    }
    found = fa.repair(table, model=fitted(), classes={0: 1, 1: 0}, **given)
    assert max(found.loss) < 0.45
    plain = fa.repair(table, **given)
    assert found.loss[1] == plain.loss[1]
    assert found.after.cells.cells == plain.after.cells.cells


def test_roles_hold_levels_as_records_do():
    roles = Roles(sensitive=("sex",), positive=np.int64(1), classes={0: np.str_("a")})
    assert type(roles.positive) is int and roles.classes == {"0": "a"}
    assert type(roles.classes["0"]) is str


def test_onnx_files_are_matched_by_the_names_they_give_or_need_positive(tmp_path):
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    frame, y = people()
    X = frame[["x", "z"]].astype(np.float32)
    model = LogisticRegression().fit(X.to_numpy(), words(y))
    expected = rates(audited(words(y), predictions=model.predict(X.to_numpy())))
    for zipmap in (True, False):
        path = tmp_path / f"{zipmap}.onnx"
        options = {id(model): {"zipmap": zipmap}}
        path.write_bytes(
            skl2onnx.to_onnx(model, X.to_numpy()[:1], options=options).SerializeToString()
        )
        given = {"sensitive": frame[["sex"]], "permutations": QUICK, "power": False}
        if zipmap:
            found = fa.audit(str(path), X, words(y), **given)
        else:
            with pytest.raises(fa.InputError, match="do not say which level"):
                fa.audit(str(path), X, words(y), **given)
            found = fa.audit(str(path), X, words(y), positive="clear", **given)
        assert rates(found) == expected
        assert rates(fa.audit(str(path), X, words(y), on="labels", **given)) == expected
