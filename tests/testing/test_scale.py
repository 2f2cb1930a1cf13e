"""Large tables: cells, columns of Parquet, memory, and as many copies as needed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.geometry import block_sums as cells
from fairaudit.geometry import neighbors
from fairaudit.testing import block_evaluation, neighbor_statistics
from fairaudit.testing.permutations import Permutations
from fairaudit_cli.main import main


def people(n, seed=0, classes=2, effect=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    frame = pd.DataFrame(
        {
            "race": rng.choice(list("abcde"), n, p=[0.7, 0.2, 0.07, 0.029, 0.001]),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
        }
    )
    score = rng.normal(size=n) + y + effect * (frame["sex"] == "m")
    return score.to_numpy(), y, frame


@pytest.fixture
def by_cells_from(monkeypatch):
    return lambda rows: monkeypatch.setattr(cells, "_FEWEST_ROWS", rows)


def rare(score):
    """Probabilities of a rare event: most close to 0, some far away."""
    return 1 / (1 + np.exp(9 - 3 * score))


@pytest.mark.parametrize(
    "form", ["scores", "labels", "three classes", "rare event", "rare event, sparse sums"]
)
@pytest.mark.parametrize("statistic", ["kpc", "omnibus"])
def test_cells_give_the_numbers_of_rows(statistic, form, by_cells_from, monkeypatch):
    score, y, frame = people(12_000, classes=3 if form == "three classes" else 2)
    prediction = (score > 0.5).astype(int) if form == "labels" else score
    if form.startswith("rare"):
        prediction = rare(score)
    if form.endswith("sums"):
        monkeypatch.setattr(cells, "_DENSE_SUMS", 0)
    results = []
    for fewest in (1, 10**9):
        by_cells_from(fewest)
        results.append(
            fa.audit(
                predictions=prediction,
                outcome=y,
                sensitive=frame,
                pairs=[("race", "sex")],
                statistic=statistic,
                permutations=fa.Permutations(n=39, seed=3),
            )
        )
    by_cells, by_rows = results
    for finding, expected in zip(by_cells.findings, by_rows.findings, strict=True):
        assert finding.name == expected.name
        assert finding.value == pytest.approx(expected.value, abs=1e-9)
        assert finding.kpc == pytest.approx(expected.kpc, abs=1e-9)
        assert finding.p_value == expected.p_value
    assert by_cells.null == pytest.approx(by_rows.null, abs=1e-9)
    assert by_cells.quality.moved == pytest.approx(by_rows.quality.moved, abs=2e-3)


def confident(frame, shift=0.0, seed=0):
    """An outcome of four classes, one of them frequent, and probabilities close to the corners."""
    y = np.random.default_rng(1).choice(4, len(frame), p=[0.7, 0.15, 0.1, 0.05])
    raw = 2 * np.random.default_rng(seed).normal(size=(len(y), 4)) + 4 * np.eye(4)[y]
    raw[:, 0] += 3 + shift
    shares = np.exp(raw - raw.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True), y


@pytest.mark.parametrize("by_cells", [True, False])
@pytest.mark.parametrize("form", ["rare event", "four classes"])
def test_no_score_takes_all_pairs_of_rows(form, by_cells, by_cells_from):
    import tracemalloc

    by_cells_from(1 if by_cells else 10**9)
    score, y, frame = people(30_000)
    score, y = confident(frame) if form == "four classes" else (rare(score), y)
    tracemalloc.start()
    fa.equalized_odds_test(
        score,
        y_true=y,
        sensitive=frame[["race", "sex"]],
        statistic="kpc",
        permutations=fa.Permutations(n=3),
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500e6  # the pairs within cells would take gigabytes


def test_a_kernel_from_drawn_rows_is_close(monkeypatch):
    frame = people(3000)[-1]
    score, y = confident(frame, shift=(frame["race"] == "b").to_numpy())
    results = []
    for most in (10**9, 0):
        monkeypatch.setattr(neighbor_statistics, "_MOST_PAIRS", most)
        results.append(
            fa.equalized_odds_test(
                score,
                y_true=y,
                sensitive=frame[["race", "sex"]],
                statistic="kpc",
                permutations=fa.Permutations(n=39),
            )
        )
    exact, close = results
    assert np.corrcoef(exact.null.ravel(), close.null.ravel())[0, 1] > 0.98
    assert (exact.null != close.null).all()
    assert exact.p_value == close.p_value == 1 / 40


def test_kpc_is_undefined_where_the_outcome_determines_the_score(by_cells_from):
    by_cells_from(1)
    rng = np.random.default_rng(1)
    y, sex = rng.integers(0, 20, 40_000), rng.choice(["f", "m"], 40_000)
    score = rng.normal(size=20)[y]
    result = fa.audit(
        predictions=score,
        outcome=y,
        sensitive={"sex": sex},
        permutations=fa.Permutations(n=19),
        power=False,
    )
    assert all(finding.kpc is None for finding in result.findings)
    # the prediction has nothing about the attributes: the test says so, and KPC has no number
    assert result.verdict == "no violation found" and result.p_value == 1.0


@pytest.mark.parametrize("statistic", ["kpc", "omnibus"])
def test_the_test_uses_cells_too(statistic, by_cells_from, monkeypatch):
    by_cells_from(1)
    made = []
    monkeypatch.setattr(
        block_evaluation.BlockEvaluation, "__init__", lambda *_, **__: made.append(1)
    )
    score, y, frame = people(5000)
    with pytest.raises(AttributeError):  # it is used
        fa.equalized_odds_test(
            score,
            y_true=y,
            sensitive=frame[["race", "sex"]],
            statistic=statistic,
            permutations=fa.Permutations(n=3),
        )
    assert made


def test_kpc_from_drawn_pairs_is_close(monkeypatch):
    frame = people(3000)[-1]
    score, y = confident(frame, shift=2.0 * (frame["race"] == "b").to_numpy())
    exact = float(fa.metrics.kpc(score, sensitive=frame[["race", "sex"]], y_true=y))
    monkeypatch.setattr(neighbors, "_MOST_PAIRS", 0)
    drawn = float(fa.metrics.kpc(score, sensitive=frame[["race", "sex"]], y_true=y))
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=3e-4) and exact > 0.01


@pytest.mark.parametrize("shape", [lambda score: score, rare], ids=["plain", "rare"])
@pytest.mark.parametrize("statistic", ["kpc", "omnibus"])
def test_memory_and_jobs_change_no_number(statistic, shape, by_cells_from):
    by_cells_from(1)
    score, y, frame = people(12_000)
    score = shape(score)
    values = [
        fa.equalized_odds_test(
            score,
            y_true=y,
            sensitive=frame,
            statistic=statistic,
            permutations=Permutations(n=9, **options),
        ).null
        for options in ({}, {"memory": 200_000}, {"n_jobs": 2}, {"batch": 2})
    ]
    for other in values[1:]:
        assert other == pytest.approx(values[0], abs=1e-12)


def test_cells_drawn_in_stretches_are_uniform_permutations(monkeypatch):
    """All orders of a small class are equally frequent, also across stretches."""
    monkeypatch.setattr(cells, "_DRAWN", 2)
    own, draws = np.array([0, 0, 1, 3, 3], dtype=np.uint8), 30_000
    generators = [np.random.default_rng([7, k]) for k in range(draws)]
    parts = [drawn.copy() for _, drawn in cells.draw_blocks(own, 4, generators)]
    assert [part.shape[1] for part in parts] == [2, 2, 1]
    drawn = np.hstack(parts)
    assert (np.sort(drawn, axis=1) == own).all()
    orders, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(orders) == 30  # 5! / (2! 2!)
    assert ((counts - draws / 30) ** 2).sum() / (draws / 30) < 58.3  # χ² of 29, one in 1,000


@pytest.mark.parametrize("statistic", ["kpc", "correlation"])
def test_large_classes_change_neither_statistic_nor_verdict(statistic, by_cells_from, monkeypatch):
    by_cells_from(1)
    score, y, frame = people(12_000, effect=0.1)
    plan = Permutations(n=199)
    asked = {"y_true": y, "sensitive": frame, "statistic": statistic}
    whole = fa.equalized_odds_test(score, permutations=plan, **asked)
    monkeypatch.setattr(cells, "_DRAWN", 1_000)
    parts = fa.equalized_odds_test(score, permutations=plan, **asked)
    again = fa.equalized_odds_test(score, permutations=replace(plan, batch=50), **asked)
    assert parts.statistic == whole.statistic
    assert again.null == pytest.approx(parts.null, abs=1e-12)
    assert np.mean(parts.null) == pytest.approx(
        np.mean(whole.null), abs=4 * np.std(whole.null) / 10
    )
    assert np.std(parts.null) == pytest.approx(np.std(whole.null), rel=0.25)


def test_cells_with_few_copies_are_left_to_the_rows(by_cells_from):
    by_cells_from(1)
    n = 4_000
    rng = np.random.default_rng(0)
    rare = np.zeros(n, dtype=int)
    rare[:1] = 1
    y = np.zeros(n, dtype=int)
    y[:1] = 1  # nothing can be exchanged: the one person is a class of their own
    result = fa.equalized_odds_test(rng.normal(size=n), y_true=y, sensitive={"rare": rare})
    assert np.isnan(result.p_value)
    assert "nothing can be exchanged" in result.inconclusive


@pytest.mark.parametrize("statistic", ["kpc", "omnibus"])
def test_each_question_stops_by_itself(statistic):
    score, y, frame = people(3_000, effect=0.4)
    plan = Permutations.auto(0.05, seed=1)
    asked = {"predictions": score, "outcome": y, "sensitive": frame, "statistic": "kpc"}
    result = fa.audit(permutations=plan, **asked)
    drawn = {finding.name: finding for finding in result.findings}
    full = fa.audit(permutations=replace(plan, settle_at=None), **asked)
    behind = len(result.findings) - 1
    assert drawn["race, sex, age"].copies == 127  # none of them reaches the data
    assert drawn["sex"].copies == int(np.ceil(6 / (0.95 * 0.05 / behind)))
    assert drawn["sex"].p_value == pytest.approx(1 / (1 + drawn["sex"].copies))
    assert 7 <= drawn["race"].copies < 127 and drawn["race"].p_value > 0.05
    values = np.array(full.null)
    assert result.null == tuple(values[: len(result.null)])
    note = next(note for note in result.notes if note.startswith("Copies as needed"))
    assert "drawing stopped when they had settled p at the level 0.05: race, sex, age (127)" in note
    assert f"race ({drawn['race'].copies})" in note and "all 999" not in note


def test_stopping_early_keeps_the_level():
    """p = h / copies has P(p ≤ 0.1) ≤ 0.1 when the data are one more copy."""
    from fairaudit.testing import core

    rng = np.random.default_rng(0)

    class Uniform:
        batch = 7

        def __init__(self):
            self.observed = [rng.random(1), rng.random(1)]

        def see(self, numbers, asked):
            return [rng.random((len(numbers), 1)) for _ in asked]

    plan, p = Permutations(n=99, stop_after=5), []
    for _ in range(2_000):
        evaluation = Uniform()
        nulls = core._draw_until_settled(
            evaluation, plan, among=[1, 1], weights=[1.0], progress=None, store=None
        )
        for observed, null in zip(evaluation.observed, nulls, strict=True):
            reached = int((null >= observed).sum())
            p.append(reached / len(null) if len(null) < 99 else (1 + reached) / 100)
    share = np.mean(np.array(p) <= 0.1)
    assert 0.07 < share < 0.1 + 4 * np.sqrt(0.09 / len(p))


def test_an_early_stop_is_a_verdict_at_any_level():
    score, y, frame = people(500)
    result = fa.audit(
        predictions=score,
        outcome=y,
        sensitive=frame,
        alpha=0.001,
        permutations=Permutations.auto(0.001),
    )
    assert result.joint.copies < 999
    assert str(result.verdict) == "no violation found"


@pytest.fixture
def parquet(tmp_path):
    score, y, frame = people(2_000, effect=0.5)
    path = tmp_path / "people.parquet"
    frame.assign(score=score, y=y, note="x").to_parquet(path)
    return path


def _options(path):
    return [
        "test",
        "--data",
        str(path),
        "--predictions",
        "score",
        "--outcome",
        "y",
        "--sensitive",
        "race,sex,age",
        "--permutations",
        "99",
        "--json",
    ]


def test_parquet_is_read_by_column(parquet, capsys, monkeypatch):
    import pyarrow.parquet

    seen = []
    read = pyarrow.parquet.ParquetFile.read_row_groups

    def spy(self, groups, columns=None, **options):
        seen.append(columns)
        return read(self, groups, columns=columns, **options)

    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "read_row_groups", spy)
    assert main(_options(parquet)) == 1
    by_column = capsys.readouterr().out
    assert seen == [["race", "sex", "age", "score", "y"]]
    csv = parquet.with_suffix(".csv")
    pd.read_parquet(parquet).to_csv(csv, index=False)
    assert main(_options(csv)) == 1
    import json

    from_parquet, from_csv = json.loads(by_column), json.loads(capsys.readouterr().out)
    assert from_parquet["findings"][0]["p_value"] == from_csv["findings"][0]["p_value"]
    assert from_parquet["null"] == from_csv["null"]


def test_auto_copies_and_memory_on_the_command_line(parquet, capsys):
    options = [*_options(parquet)[:-2], "auto", "--memory", "100MB"]
    assert main(options) == 1
    assert "Copies as needed" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["2", "GB", "two"])
def test_a_wrong_size_is_refused(parquet, text, capsys):
    assert main([*_options(parquet), "--memory", text]) == 2
    assert "must be a size such as 2GB" in capsys.readouterr().err


@pytest.mark.parametrize("statistic", ["kpc", "max"])
def test_an_interrupted_run_with_early_stopping_goes_on(statistic, tmp_path):
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.checkpoint import Checkpoint
    from fairaudit.auditing.run import audit_table
    from fairaudit.data.preparation import Prepared
    from fairaudit.data.table import AuditTable

    score, y, frame = people(600, effect=0.6)
    prepared = Prepared(table=AuditTable.of(score, frame, y), features=(), excluded=(), missing={})
    plan = Plan(permutations=Permutations.auto(0.05), with_r=False, statistic=statistic)
    path = tmp_path / "run.jsonl"
    whole = audit_table(prepared, plan, checkpoint=Checkpoint(path, "run"))
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) > 3
    path.write_text("".join(lines[:3]))  # the first blocks are done
    again = audit_table(prepared, plan, checkpoint=Checkpoint(path, "run"))
    assert again.null == whole.null
    assert [finding.p_value for finding in again.findings] == [
        finding.p_value for finding in whole.findings
    ]
