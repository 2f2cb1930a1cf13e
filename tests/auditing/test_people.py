"""People with several rows: sizes by neighbors do not find a person's own rows."""

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.data.table import AuditTable
from fairaudit.evidence.measurements import measure

NUMBER = {"y_true": "continuous"}
FEW = fa.Permutations(n=99)


def draw_people(outcome: str, people: int = 250, rows: int = 4) -> pd.DataFrame:
    """Equalized odds holds; predictions of a person are alike, and an age is (nearly) a name."""
    rng = np.random.default_rng(5)
    who = np.repeat(np.arange(people), rows)
    y = rng.normal(size=people)[who] + 0.5 * rng.normal(size=len(who))
    if outcome == "classes":
        y = (y > 0).astype(int)
    return pd.DataFrame(
        {
            "person": who,
            "age": rng.uniform(18, 80, people)[who],
            "y": y,
            "score": y + rng.normal(size=people)[who] + 0.3 * rng.normal(size=len(who)),
        }
    )


@pytest.mark.parametrize("outcome", ["classes", "numbers"])
def test_sizes_are_those_of_one_row_each(outcome):
    frame = draw_people(outcome)
    given = (frame["score"], frame[["age"]], frame["y"])
    (size, _), (naive, _) = (
        measure(AuditTable.of(*given, ids=ids)).values[:2] for ids in (frame["person"], None)
    )
    assert naive.low > 0.05  # own rows, taken for others
    assert size.low < 0 < size.high


@pytest.mark.parametrize("shards", [None, 2])
def test_audits_say_so_and_all_their_sizes_agree(shards):
    frame = draw_people("numbers")
    result = fa.audit(
        X=frame,
        predictions="score",
        outcome="y",
        sensitive="age",
        ids="person",
        permutations=FEW,
        shards=shards,
    )
    assert all(abs(finding.kpc) < 0.2 for finding in result.findings)
    assert result.findings[0].kpc == next(m for m in result.measures if m.key == "kpc").value
    assert any("one row of each person" in note for note in result.notes) == (shards is None)


def test_one_row_of_everybody():
    ids = ["a", "a", "b", "c", "c", "c"]
    table = AuditTable.of(
        np.arange(6.0), {"sex": list("fmfmff")}, np.arange(6.0), ids=ids, kinds=NUMBER
    )
    kept = table.keep_one_row_each()
    assert len(kept) == 3 and kept.ids is None
    rows = np.asarray(kept.outcome.numeric, dtype=int)
    assert [ids[row] for row in rows] == ["a", "b", "c"]
    assert table.keep_one_row_each(np.random.default_rng(3)) is not table
    alone = AuditTable.of(np.arange(6.0), {"sex": list("fmfmff")}, np.arange(6.0), kinds=NUMBER)
    assert alone.keep_one_row_each() is alone
