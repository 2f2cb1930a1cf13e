"""Where an audit counts its groups: once, and in shards as in one piece."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.data.groups import Groups
from fairaudit.data.table import AuditTable
from fairaudit.evidence.disclosure import masked_groups
from fairaudit.testing.rate_statistics import OddsDifferenceStatistic

QUICK = fa.Permutations(n=19)


def people(rows=800, seed=0):
    """Two attributes; nobody is of race c and sex f."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"race": rng.choice(list("abc"), rows), "sex": rng.choice(["f", "m"], rows)}
    )
    frame.loc[frame.race == "c", "sex"] = "m"
    frame["y"] = rng.integers(0, 2, rows)
    frame["score"] = np.clip(0.3 + 0.3 * frame.y + 0.2 * rng.normal(size=rows), 0, 1)
    frame["w"], frame["who"] = rng.exponential(size=rows), np.arange(rows) // 2
    return frame


@pytest.fixture
def counted(monkeypatch):
    """Names of what was called: `of` (rows are put into groups), `count` (they are counted)."""
    calls = []
    members, count = Groups.of.__func__, Groups.count
    monkeypatch.setattr(
        Groups, "of", classmethod(lambda cls, *given: calls.append("of") or members(cls, *given))
    )
    monkeypatch.setattr(
        Groups,
        "count",
        lambda self, *given, **more: calls.append("count") or count(self, *given, **more),
    )
    return calls


@pytest.mark.parametrize("more", [{}, {"weights": "w"}, {"ids": "who"}])
def test_an_audit_counts_its_groups_once(counted, more):
    frame = people()
    result = fa.audit(
        predictions=frame.score,
        outcome=frame.y,
        sensitive=frame[["race", "sex"]],
        certify={"deo": 0.4, "tpr_gap": 0.4},
        permutations=QUICK,
        **{name: frame[column] for name, column in more.items()},
    )
    assert len(result.cells.cells) == 6 and result.gaps.gaps and len(result.certificates) == 2
    assert counted == ["of", "count"]


def test_so_does_the_command(counted, tmp_path, monkeypatch, capsys):
    from fairaudit_cli.main import main

    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    roles = ["--predictions", "score", "--outcome", "y", "--sensitive", "race,sex"]
    assert main(["test", "--data", "people.csv", *roles, "--permutations", "19"]) in (0, 1, 3)
    assert "TPR" in capsys.readouterr().out
    assert counted == ["of", "count"]


def test_shards_list_groups_without_rows_as_one_piece_does():
    """They were left out, and counted as unlisted."""
    frame = people(1_200)
    frame["label"] = (frame.score >= 0.5).astype(int)
    names = {"predictions": "label", "outcome": "y", "sensitive": "race,sex"}
    shards = fa.audit(X=frame, shards=2, permutations=QUICK, **names)
    whole = fa.audit(
        predictions=frame.label,
        outcome=frame.y,
        sensitive=frame[["race", "sex"]],
        permutations=QUICK,
    )
    assert asdict(shards.cells) == asdict(whole.cells)
    assert [cell.rows for cell in whole.cells.cells].count(0) == 1 and whole.cells.unlisted == 0
    assert asdict(shards.gaps) == asdict(whole.gaps)
    joint = [measure for measure in shards.measures if measure.key != "kpc"]
    assert {measure.key for measure in joint} == {
        "deo",
        "equalized_odds_difference",
        "equalized_odds_ratio",
    }
    assert all(measure in whole.measures for measure in joint)


def test_one_class_against_the_rest_is_masked_as_in_an_audit():
    """With three classes only the people of a group counted, not those of its outcomes."""
    y = np.array([0, 1] * 30 + [2] * 40 + [0, 1] * 30 + [2] * 4 + [0] * 20 + [2] * 20)
    group = np.repeat(["x", "y", "z"], [100, 64, 40])
    table = AuditTable.of(y, {"g": group}, y, positive=2)
    assert masked_groups(table, 10) == {("y",), ("z",)}
    rng = np.random.default_rng(0)
    label = np.where(rng.random(len(y)) < 0.8, y, 2 - y)
    result = fa.audit(
        predictions=label, outcome=y, sensitive={"g": group}, positive=2, permutations=QUICK
    ).suppressed(10)
    assert {cell.levels for cell in result.cells.cells if cell.masked} == {("y",), ("z",)}


def test_the_statistic_is_the_measure_where_an_outcome_has_one_group():
    """Negatives are all of one group, so that only TPR has a difference; the statistic was NaN."""
    y = np.array([1] * 20 + [0] * 10)
    label = np.array([1] * 8 + [0] * 2 + [1] * 3 + [0] * 7 + [1] * 5 + [0] * 5)
    group = np.repeat(["x", "y", "x"], 10)
    table = AuditTable.of(label, {"g": group}, y)
    bound = OddsDifferenceStatistic().bind(table, within_outcome=True, seed=0)
    measured = fa.metrics.equalized_odds_difference(label, sensitive={"g": group}, y_true=y)
    assert bound(np.arange(30)[None])[0] == measured.value == pytest.approx(0.5)
    assert np.isnan(measured.fpr)
