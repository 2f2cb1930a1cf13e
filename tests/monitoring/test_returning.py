"""People who come back without an id: found by their rows, and their evidence does not count."""

import numpy as np
import pandas as pd
import pytest
from test_monitor import lending, monitor

import fairaudit as fa
from fairaudit.monitoring.batch_rows import (
    find_returning,
    find_returning_keys,
    key_columns,
    unique_rows,
)
from fairaudit.monitoring.state import StateFile


def table_of(data):
    return fa.AuditTable.of(data["score"], data[["sex", "race", "age"]], data["y"])


def remember(tables):
    return [{"unique": unique_rows(table)[0], "rows": len(table)} for table in tables]


def look(table, earlier):
    return find_returning(unique_rows(table)[1], len(table), earlier)


def mix(people, fresh, share, seed):
    """Some of the people again, among fresh rows."""
    rng = np.random.default_rng(seed)
    again = rng.choice(len(people), int(share * len(fresh)), replace=False)
    return pd.concat([people.iloc[again], fresh.iloc[len(again) :]]).sample(frac=1, random_state=0)


@pytest.mark.parametrize("share", [0.3, 0.6, 1.0])
def test_people_who_come_back_are_found(share):
    people = lending(0, 300)
    again = mix(people, lending(1, 300), share, seed=2)
    message = look(table_of(again), remember([table_of(people)]))
    assert message is not None and "come back" in message


def test_a_fifth_of_every_batch_is_found_after_some():
    people = lending(0, 300)
    batches = [table_of(mix(people, lending(seed, 300), 0.2, seed)) for seed in range(1, 21)]
    found = [look(batch, remember(batches[:k])) for k, batch in enumerate(batches)]
    assert found[0] is None and any(found)


def test_new_people_are_not():
    tables = [table_of(lending(seed, 200)) for seed in range(40)]
    facts = remember(tables)
    assert not any(look(table, facts[:k]) for k, table in enumerate(tables))


@pytest.mark.parametrize(("levels", "rows"), [(3, 200), (30, 200), (300, 300), (3000, 300)])
def test_equal_rows_by_chance_are_no_sign(levels, rows):
    """Labels and codes, some of them frequent: rows are equal because there are few kinds."""
    for stream in range(5):
        rng = np.random.default_rng([levels, stream])
        shares = rng.dirichlet(np.full(levels, 0.5)) * 0.9 + 0.1 / levels
        tables = []
        for _ in range(25):
            zone = rng.choice(levels, rows, p=shares).astype(str)
            y, label = rng.integers(0, 2, (2, rows))
            tables.append(fa.AuditTable.of(label, {"zone": zone}, y))
        facts = remember(tables)
        assert not any(look(table, facts[:k]) for k, table in enumerate(tables))


def test_a_batch_of_people_who_come_back_gives_no_evidence(tmp_path):
    """The same people every day, with new dates and without an id: no false alarm, and a reason."""
    people = lending(0, 200)
    watch = monitor(tmp_path / "s.state")
    for day in range(8):
        result = watch.add(people.assign(day=day))
    assert result.alarm is None
    assert result.verdict is fa.Verdict.INCONCLUSIVE
    assert "come back" in result.because
    assert [batch.unusable is None for batch in result.batches] == [True] + [False] * 7
    assert result.batches[-1].log10_evidence <= result.batches[0].log10_evidence


def test_with_ids_people_are_told_by_them(tmp_path):
    path = tmp_path / "s.state"
    monitor(path, ids="person").add(lending(0, 100).assign(person=np.arange(100)))
    assert "unique" not in StateFile(path).batches[0]


def keyed(start, n=100, **columns):
    return pd.DataFrame({"key": [f"p{k}" for k in range(start, start + n)], **columns})


def test_a_column_like_ids_tells_that_people_come_back():
    earlier, _ = key_columns(keyed(0))
    batches = [{"number": 1, "keys": earlier}]
    assert "'key'" in find_returning_keys(key_columns(keyed(50))[1], batches)
    assert find_returning_keys(key_columns(keyed(100))[1], batches) is None
    assert find_returning_keys(key_columns(keyed(0))[1], [{"number": 1}]) is None  # an older state


def test_row_numbers_fractions_and_levels_are_no_ids():
    n = 100
    frame = pd.DataFrame(
        {
            "number": np.arange(1, n + 1),
            "score": np.random.default_rng(0).random(n),
            "sex": ["f", "m"] * 50,
        }
    )
    assert key_columns(frame) == ({}, {})
    assert list(key_columns(frame.assign(id=np.arange(n)[::-1] * 7))[0]) == ["id"]
