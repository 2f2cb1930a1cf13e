"""Audits in shards on one machine: validity of the parts, independence of the layout, bad input."""

import json

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.engines.entry import audit_files
from fairaudit.auditing.engines.row_hashes import assign_shards, in_sample, make_keys
from fairaudit.data.roles import Roles
from fairaudit.errors import InputError
from fairaudit_cli.main import main

pytest.importorskip("pyarrow")

PLAN = Plan(permutations=fa.Permutations(n=19))
ROLES = Roles(sensitive=("race", "sex", "age"), outcome="y", predictions=("score",))
NAMES = {"predictions": "score", "outcome": "y", "sensitive": "race,sex,age"}


def frame_of(n=6_000, effect=0.0, seed=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "race": rng.choice(list("abc"), n),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 60, n),
            "a": rng.normal(size=n) + y,
            "y": y,
        }
    )
    score = rng.normal(size=n) + y + effect * (frame["sex"] == "m")
    return frame.assign(score=score)


def written(folder, frame, files, **options):
    folder.mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
        path = folder / f"part-{k:02}.parquet"
        frame.iloc[rows].to_parquet(path, index=False, **options)
    return [str(folder / "*.parquet")]


def test_shards_are_even_and_samples_independent_of_them():
    keys = np.arange(100_000, dtype=np.uint64)
    shard = assign_shards(keys, 7)
    assert np.bincount(shard).std() < 4 * np.sqrt(100_000 / 7)
    sample = in_sample(keys, 0.1)
    assert abs(sample.mean() - 0.1) < 0.005
    assert abs(np.bincount(shard[sample]) / np.bincount(shard) - 0.1).max() < 0.015


@pytest.mark.parametrize("ids", [[7, 7, 8, 9], ["7", "7", "8", "9"], [7.5, 7.5, 8.0, 9.0]])
def test_people_have_one_key(ids):
    keys = make_keys(np.arange(4), np.array(ids, dtype=object if isinstance(ids[0], str) else None))
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 3


@pytest.mark.parametrize("statistic", ["kpc", "correlation"])
@pytest.mark.parametrize("shards", [3, 10])
def test_the_statistic_of_ties_is_that_of_the_whole_table(shards, statistic):
    frame = frame_of(effect=0.3)
    asked = {"statistic": statistic, "permutations": PLAN.permutations, "pairs": [("race", "sex")]}
    whole = fa.audit(
        predictions=frame["score"],
        outcome=frame["y"],
        sensitive=frame[["race", "sex", "age"]],
        **asked,
    )
    parts = fa.audit(X=frame, shards=shards, **asked, **NAMES)
    for finding, expected in zip(parts.findings, whole.findings, strict=True):
        assert (finding.family, finding.name, finding.rows) == (
            expected.family,
            expected.name,
            expected.rows,
        )
        assert finding.value == pytest.approx(expected.value, abs=1e-7)
        assert finding.kpc == pytest.approx(expected.kpc, abs=1e-7)
    assert parts.verdict == whole.verdict
    assert parts.table.outcome == whole.table.outcome
    assert parts.table.attributes == whole.table.attributes
    assert parts.table.prediction == whole.table.prediction
    rates = {
        measure.key: measure.value for measure in whole.measures if measure.key in ("deo", "kpc")
    }
    assert {
        measure.key: pytest.approx(measure.value, abs=1e-7) for measure in parts.measures
    } == rates


def test_rates_are_those_of_the_whole_table():
    frame = frame_of(effect=0.3)
    frame["score"] = 1 / (1 + np.exp(-frame["score"]))
    whole = fa.audit(
        predictions=frame["score"],
        outcome=frame["y"],
        sensitive=frame[["race", "sex", "age"]],
        permutations=PLAN.permutations,
    )
    parts = fa.audit(X=frame, shards=3, permutations=PLAN.permutations, **NAMES)
    assert parts.cells.note == whole.cells.note
    for cell, expected in zip(parts.cells.cells, whole.cells.cells, strict=True):
        assert cell.levels == expected.levels
        for mine, theirs in zip(cell.estimates, expected.estimates, strict=True):
            assert (mine.rows, mine.people) == (theirs.rows, theirs.people)
            assert mine.value == pytest.approx(theirs.value)
            assert mine.low == pytest.approx(theirs.low)
    for key in ("deo", "equalized_odds_difference", "equalized_odds_ratio"):
        mine, theirs = (
            next(measure.value for measure in result.measures if measure.key == key)
            for result in (parts, whole)
        )
        assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("sample", [20_000, 400])
def test_a_sample_chooses_the_scores_of_the_default(sample, monkeypatch):
    """Few sampled rows give another function of the prediction, and about the same statistic."""
    from fairaudit.auditing.engines import shard_rows

    monkeypatch.setattr(shard_rows, "SAMPLE", sample)
    frame = frame_of(effect=0.3)
    plan = fa.Permutations(n=99)
    whole = fa.audit(frame, permutations=plan, power=False, **NAMES)
    parts = fa.audit(X=frame, shards=3, permutations=plan, power=False, **NAMES)
    fair = fa.audit(X=frame_of(seed=5), shards=3, permutations=plan, power=False, **NAMES)
    assert parts.findings[0].statistic == "omnibus"
    assert parts.verdict == whole.verdict and fair.verdict != parts.verdict
    assert parts.joint.p_value == whole.joint.p_value == 0.01
    for finding, expected in zip(parts.findings, whole.findings, strict=True):
        assert finding.name == expected.name and finding.significant == expected.significant
        assert (finding.kpc == expected.kpc) is False or sample == 20_000
    assert parts.joint.kpc == pytest.approx(whole.joint.kpc, abs=1e-7 if sample > 400 else 5e-3)


def test_copies_exchange_within_shards_and_classes_only():
    """In every shard and class the copies keep the counts of the attributes."""
    from fairaudit.auditing.engines.by_blocks import BlockJob, see_sample, sum_blocks
    from fairaudit.auditing.engines.local_engine import LocalEngine
    from fairaudit.auditing.engines.schema import code_rows, collect_facts, make_schema
    from fairaudit.auditing.engines.sources import FramePartition, narrow_partition
    from fairaudit.auditing.engines.survey import make_space, survey_rows
    from fairaudit.geometry.block_sums import CoarseBlocks
    from fairaudit.testing.neighbor_statistics import KPCStatistic

    whole = frame_of(2_000)
    roles = ROLES.resolve(list(whole.columns))
    part = narrow_partition(FramePartition("t", 0, whole), roles, None)
    schema = make_schema([collect_facts(part)], roles)
    frame = code_rows(part, schema, False)
    survey = survey_rows(frame, schema, 1.0, None)
    space, keys = make_space(survey.blocks, (schema.outcome, *schema.attributes))
    seen = see_sample(schema, survey.sample, keys)
    form = KPCStatistic().over_blocks([CoarseBlocks(space, ("race",), None)], seen, seed=0)
    job = BlockJob(schema=schema, space=space, keys=keys, columns=form.columns, seed=0)
    pieces = LocalEngine().shuffled([frame], 3, 0.0)
    assert sorted(np.concatenate([piece.index for piece in pieces])) == list(range(2_000))
    for shard, piece in enumerate(pieces):
        sums = sum_blocks(piece, shard, job, range(-1, 4))
        norms = sums[:, :, -1]  # 1 per row: counts
        assert norms == pytest.approx(np.tile(norms[0], (5, 1)), abs=1e-5)
        for code in (0, 1):
            inside = space.outcome.codes == code
            of_class = sums[:, inside].sum(axis=1)
            assert of_class == pytest.approx(np.tile(of_class[0], (5, 1)), abs=1e-9)
        assert np.abs(sums[1] - sums[0]).max() > 0.1


@pytest.mark.parametrize("sensitive", ["race,sex,age", "a"])
def test_the_layout_of_the_files_changes_nothing(tmp_path, sensitive):
    frame = frame_of()
    layouts = [(1, {}), (4, {"row_group_size": 300}), (7, {"compression": None})]
    results = []
    for k, (files, options) in enumerate(layouts):
        paths = written(tmp_path / str(k), frame, files, **options)
        roles = Roles(sensitive=tuple(sensitive.split(",")), outcome="y", predictions=("score",))
        results.append(audit_files(paths, roles, PLAN, shards=3))
    for other in results[1:]:
        assert other.null == results[0].null
        assert other.p_value == results[0].p_value
        assert other.capsule.table_sha256 == results[0].capsule.table_sha256


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 17, 64, 65, 100, 513])
def test_sums_have_one_order(count):
    """Of eight neighbors, then of eight such sums; floating-point sums depend on it."""
    from fairaudit.auditing.engines.local_engine import LocalEngine

    numbers = [np.array([0.1 * k + 1e9 * (k % 3)]) for k in range(count)]
    left = numbers
    while len(left) > 1:
        left = [sum(left[k + 1 : k + 8], left[k]) for k in range(0, len(left), 8)]
    assert LocalEngine().sum("step", lambda number: number.copy(), numbers) == left[0]


def test_people_stay_in_one_shard():
    frame = frame_of(4_000)
    frame["person"] = np.arange(4_000) // 2
    frame[["race", "sex", "age"]] = (
        frame[["race", "sex", "age"]].iloc[::2].loc[frame.index - frame.index % 2].to_numpy()
    )
    result = fa.audit(X=frame, shards=2, ids="person", permutations=PLAN.permutations, **NAMES)
    assert result.joint.rows == 4_000
    assert result.table.people == 2_000
    assert result.cells is None
    assert any("permuted as a whole" in note for note in result.notes)


def test_missing_values_and_conditions(tmp_path):
    frame = frame_of()
    frame.loc[::10, "race"] = None
    paths = written(tmp_path / "a", frame, 3)
    result = audit_files(paths, ROLES, PLAN, shards=2)
    assert "(missing)" in result.table.attributes[0].levels
    assert result.table.attributes[0].missing == 600
    dropped = audit_files(paths, Roles(**{**_as_dict(ROLES), "missing": "drop"}), PLAN, shards=2)
    assert dropped.table.rows == 5_400
    assert [(exclusion.rows, exclusion.reason) for exclusion in dropped.table.excluded] == [
        (600, "race is missing")
    ]
    some = audit_files(paths, Roles(**{**_as_dict(ROLES), "where": "age > 30"}), PLAN, shards=2)
    assert some.table.rows == int((frame["age"] > 30).sum())
    frame.loc[3, "score"] = np.nan
    with pytest.raises(InputError, match="'score' has 1 missing"):
        audit_files(written(tmp_path / "b", frame, 3), ROLES, PLAN, shards=2)


def _as_dict(roles):
    from dataclasses import asdict

    return asdict(roles)


def test_columns_that_differ_between_partitions(tmp_path):
    frame = frame_of(2_000)
    paths = written(tmp_path / "a", frame, 2)
    frame.assign(race=1).to_parquet(tmp_path / "a" / "part-09.parquet", index=False)
    with pytest.raises(InputError, match=r"'race' holds text in .*part-00.* and numbers in .*09"):
        audit_files(paths, ROLES, PLAN, shards=2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"shards": 30}, "too few for 30 shards"),
        ({"weights": "age"}, "Weights cannot be used in shards"),
        ({"permutations": fa.Permutations.auto()}, "to a number"),
        ({"outcome": np.zeros(3)}, "'outcome' must be the name"),
        ({"sensitive": "race,color"}, "There is no column 'color'"),
        ({"engine": "flink"}, "must be one of local, dask"),
        ({"scheduler": "tcp://a:1"}, "'scheduler' goes with 'engine' dask"),
    ],
)
def test_what_shards_refuse(options, told):
    with pytest.raises(InputError, match=told):
        fa.audit(X=frame_of(3_000), **{**NAMES, "shards": 2, **options})


def test_shards_in_which_nothing_varies_are_told():
    """One row differs in its attribute, another in its prediction: a raw error was the answer."""
    frame = pd.DataFrame({"sex": "f", "y": [0, 1] * 800, "score": 0.2})
    shard = assign_shards(np.arange(len(frame), dtype=np.uint64), 3)
    frame.loc[0, "sex"] = "m"
    frame.loc[int(np.flatnonzero(shard != shard[0])[0]), "score"] = 0.9
    with pytest.raises(InputError, match="In no shard do both attributes and prediction vary"):
        fa.audit(
            frame,
            sensitive="sex",
            outcome="y",
            predictions="score",
            statistic="codec",
            shards=3,
            permutations=fa.Permutations(n=19),
        )


def in_pieces(frame, **changes):
    """The audit in two shards, and that of the whole table."""
    given = {**NAMES, "permutations": fa.Permutations(n=19), **changes}
    return fa.audit(X=frame, **given, shards=2), fa.audit(X=frame, **given)


@pytest.mark.parametrize("missing", ["auto", "drop"])
def test_marks_among_numbers_are_missing_in_shards_too(missing):
    """In shards a column of ages with a question mark was a category of 70 levels."""
    frame = frame_of(2_000)
    ages = frame["age"].astype(int).astype(str).where(frame.index % 50 > 0, "?")
    given = {"sensitive": "race,age", "missing": missing}
    if missing == "auto":
        for shards in ({"shards": 2}, {}):
            with pytest.raises(InputError, match=r"'age' has 40 missing values.*age:categorical"):
                fa.audit(X=frame.assign(age=ages), **{**NAMES, **given, **shards})
        return
    shards, whole = in_pieces(frame.assign(age=ages), **given)
    for found in (shards, whole):
        assert (found.table.rows, found.table.attributes[1].kind) == (1960, "integer")
        assert [(exclusion.rows, exclusion.reason) for exclusion in found.table.excluded] == [
            (40, "age is missing")
        ]
    assert shards.table.attributes == whole.table.attributes


def test_numbers_that_came_as_text_in_shards():
    frame = frame_of(2_000).assign(age=lambda t: t["age"].round(2).astype(str))
    shards, whole = in_pieces(frame, sensitive="race,age:continuous")
    assert shards.table.attributes == whole.table.attributes


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([f"2020-01-{k % 28 + 1:02}" for k in range(2_000)], "'age' holds dates"),
        ([f"${k % 90},{k % 7}00" for k in range(2_000)], "'age' holds numbers written as text"),
        ([np.inf if k == 7 else k for k in range(2_000)], "'age' has an infinite value in row 7"),
        (list(pd.date_range("2020", periods=2_000)), "'age' holds dates or times"),
    ],
)
def test_columns_that_are_refused_are_refused_in_shards(values, message):
    """Shards took dates and prices for categories."""
    frame = frame_of(2_000).assign(age=values)
    for shards in ({"shards": 2}, {}):
        with pytest.raises(InputError, match=message):
            fa.audit(X=frame, **{**NAMES, "sensitive": "race,age", **shards})


def test_the_command_and_its_record(tmp_path, capsys):
    paths = written(tmp_path / "a", frame_of(effect=0.5), 3)
    record = tmp_path / "audit.json"
    command = [
        "test",
        "--data",
        *paths,
        "--predictions",
        "score",
        "--outcome",
        "y",
        "--sensitive",
        "race,sex,age",
        "--permutations",
        "39",
        "--shards",
        "3",
    ]
    assert main([*command, "--report", str(record), "--report", str(tmp_path / "a.html")]) == 1
    assert "within 3 shards" in capsys.readouterr().out
    assert json.loads(record.read_text())["capsule"]["options"]["shards"] == 3
    assert main(["verify", str(record), "--data", *paths]) == 0
    assert main([*command, "--resume", str(tmp_path / "r")]) == 2
    assert "--resume does not go with shards" in capsys.readouterr().err


def test_shards_are_read_from_parquet(tmp_path, capsys):
    frame_of(1_000).to_csv(tmp_path / "t.csv", index=False)
    status = main(
        [
            "test",
            "--data",
            str(tmp_path / "t.csv"),
            "--predictions",
            "score",
            "--outcome",
            "y",
            "--sensitive",
            "sex",
            "--shards",
            "2",
        ]
    )
    assert status == 2
    assert "is not a Parquet file" in capsys.readouterr().err


def test_size_in_shards_in_small():
    """Every rejection is false; at most the 1 − 1e-4 quantile of them."""
    from scipy.stats import binom

    alarms = 0
    for seed in range(60):
        frame = frame_of(1_500, seed=seed)
        drawn = fa.Permutations(n=19, seed=seed)
        result = fa.audit(
            X=frame,
            shards=3,
            predictions="score",
            outcome="y",
            sensitive="race,sex",
            permutations=drawn,
        )
        alarms += result.p_value <= 0.05
    assert alarms <= binom.ppf(1 - 1e-4, 60, 0.05)
