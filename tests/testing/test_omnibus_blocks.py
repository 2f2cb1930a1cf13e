"""The omnibus statistic from sums over tied blocks is that of the rows."""

import numpy as np
import pandas as pd
import pytest

from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.questions import list_class_parts, list_questions
from fairaudit.auditing.table_rows import make_scope
from fairaudit.data.table import AuditTable
from fairaudit.geometry.block_sums import BlockSpace, CoarseBlocks, SeenRows
from fairaudit.permute.icp import ICP
from fairaudit.testing import block_evaluation
from fairaudit.testing.block_evaluation import BlockEvaluation
from fairaudit.testing.evaluation import RowEvaluation, make_evaluation
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.omnibus import PARTS, Omnibus
from fairaudit.testing.permutations import Permutations

QUICK = Permutations(n=9, seed=5)


def make_table(n=5_000, form="scores", classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, n, p=np.arange(1, classes + 1) / sum(range(classes + 1)))
    frame = pd.DataFrame(
        {
            "race": rng.choice(list("abc"), n, p=[0.7, 0.2, 0.1]),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 50, n),
        }
    )
    frame.loc[(y == 0) & (frame["race"] == "c"), "race"] = "a"  # absent from a class
    score = rng.normal(size=n) * (1 + 0.2 * (frame["sex"] == "m")) + y + frame["age"] / 50
    if form == "labels":
        score = (score > 1.5).astype(int)
    if form == "rounded":
        score = score.round(1)
    if form == "probabilities":
        raw = np.exp(rng.normal(size=(n, classes)) + np.eye(classes)[y])
        score = raw / raw.sum(axis=1, keepdims=True)
    return AuditTable.of(score, frame, y)


def make_scopes(table):
    outcome = table.require_outcome()
    parts = list_class_parts("y", list(outcome.levels))
    names = [column.name for column in table.attributes]
    plan = Plan(pairs=(("race", "sex"),) if len(names) > 2 else ())
    questions = list_questions(names, parts, plan)
    return [make_scope(question, table) for question in questions]


def by_blocks(table, monkeypatch, statistic=None, permutations=QUICK):
    monkeypatch.setattr(block_evaluation, "blocks_pay", lambda *_, **__: True)
    return BlockEvaluation.of(
        make_scopes(table), copies_of(table), [statistic or Omnibus()], permutations
    )


def copies_of(table):
    return ICP("exact").prepare(table.require_outcome(), table.attributes, steps=50, seed=5)


@pytest.mark.parametrize("form", ["scores", "labels", "rounded", "probabilities"])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_part_of_every_question_is_that_of_the_rows(form, classes, monkeypatch):
    table = make_table(form=form, classes=classes)
    blocks = by_blocks(table, monkeypatch)
    rows = RowEvaluation(make_scopes(table), copies_of(table), [Omnibus()], QUICK)
    assert len(blocks.observed) == 5 + classes
    for mine, theirs in zip(blocks.observed, rows.observed, strict=True):
        assert len(mine) == len(PARTS)
        assert mine == pytest.approx(theirs, abs=1e-9, rel=1e-9)
    for mine, theirs in zip(blocks.values(range(3)), rows.values(range(3)), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-9, rel=1e-9)
        assert (np.ptp(mine, axis=0) > 0).sum() >= 6  # copies differ


def test_many_rows_have_fewer_functions_in_both_ways(monkeypatch):
    table = make_table(n=50_001)
    blocks = by_blocks(table, monkeypatch)
    rows = RowEvaluation(make_scopes(table)[:1], copies_of(table), [Omnibus()], QUICK)
    assert blocks.values(range(1))[0] == pytest.approx(rows.values(range(1))[0], abs=1e-9)


@pytest.mark.parametrize(
    ("n", "statistic", "used"),
    [(5_000, Omnibus(), True), (4_000, Omnibus(), False), (5_000, KPCStatistic(), False)],
)
def test_blocks_are_used_from_some_thousand_tied_rows_on(n, statistic, used):
    table = make_table(n)
    evaluation = make_evaluation(make_scopes(table), copies_of(table), [statistic], QUICK)
    assert isinstance(evaluation, BlockEvaluation) == used


def test_batches_and_memory_change_nothing(monkeypatch):
    table = make_table()
    expected = by_blocks(table, monkeypatch).values(range(4))
    small = by_blocks(table, monkeypatch, permutations=Permutations(n=9, seed=5, memory=1_000))
    for numbers in (range(2), range(2, 4)):
        for mine, theirs in zip(small.values(numbers), expected, strict=True):
            assert mine == pytest.approx(theirs[numbers.start : numbers.stop], abs=1e-12)
    assert small.batch == 1


def test_a_statistic_of_one_part_has_one_column(monkeypatch):
    table = make_table()
    blocks = by_blocks(table, monkeypatch, Omnibus(("linear",), "correlation"))
    assert [len(values) for values in blocks.observed] == [1] * 7


def test_nothing_is_left_where_the_outcome_determines_the_prediction(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3_000)
    table = AuditTable.of(np.array([0.1, 0.5, 0.3])[y], {"sex": rng.choice(["f", "m"], 3_000)}, y)
    monkeypatch.setattr(block_evaluation, "blocks_pay", lambda *_, **__: True)
    blocks = BlockEvaluation.of(make_scopes(table)[:1], copies_of(table), [Omnibus()], QUICK)
    assert (blocks.observed[0] == 0).all() and (blocks.values(range(2))[0] == 0).all()


@pytest.fixture
def sampled():
    """The form that a sample of a table has chosen, and the table's rows."""
    table = make_table(classes=3)
    outcome, u = table.require_outcome(), table.prediction.matrix()
    space, blocks = BlockSpace.of(outcome, table.attributes)
    some = np.flatnonzero(outcome.codes[:600] != 1)  # one class is not in it
    seen = SeenRows(prediction=u[some], codes=outcome.codes[some], blocks=blocks[some], whole=False)
    questions = [CoarseBlocks(space, names, None) for names in (["race", "sex", "age"], ["age"])]
    questions.append(CoarseBlocks(space, ["race", "sex"], 2))
    return Omnibus().over_blocks(questions, seen, seed=1), space, u


def test_centers_that_a_sample_chose_do_not_matter(sampled):
    """Sums may be off by the same number for every row of a class: values stay the same."""
    form, space, _ = sampled
    rng = np.random.default_rng(0)
    sums = rng.normal(size=(len(space), form.columns.width)) * np.sqrt(space.counts)[:, None]
    off = rng.normal(size=(3, form.columns.width))[space.outcome.codes] * space.counts[:, None]
    for value in form.bind(sums):
        assert value(sums + off) == pytest.approx(value(sums), rel=1e-8)
        assert (value(sums) > 0).sum() >= 7


def test_rows_beyond_the_sample_have_residuals(sampled):
    form, _, u = sampled
    for code in range(3):
        far = form.columns(np.array([[-1e9], [1e9]]), code)
        assert np.isfinite(far).all() and (far[0, 0] < far[1, 0])
    ranks = form.columns(np.sort(u, axis=0), 0)[:, 0]
    assert (np.diff(ranks) >= 0).all() and len(np.unique(ranks)) > 300
