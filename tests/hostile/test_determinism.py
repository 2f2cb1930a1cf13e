"""Same seed, same bytes; and what may change a number that nobody asked to change."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tables import run

import fairaudit as fa
from fairaudit_cli.verify import _leaves

COPIES = fa.Permutations(n=29, seed=5)
KINDS = ("classes", "numbers")


def people(kind, n=240):
    """Score, outcome and attributes with ties in all of them."""
    rng = np.random.default_rng(1)
    sex, race = rng.choice(["f", "m"], n), rng.choice(["a", "b", "c"], n)
    frame = pd.DataFrame({"sex": sex, "race": race, "age": rng.integers(20, 60, n)})
    y = rng.integers(0, 2, n) if kind == "classes" else np.round(rng.normal(size=n), 1)
    score = y + 0.3 * (sex == "m") + rng.normal(size=n)
    if kind == "classes":
        score = np.clip(np.round(0.2 * score + 0.3, 2), 0, 1)
    return np.asarray(score), y, frame


def audited(kind, order=None, columns=("sex", "age"), permutations=COPIES, **more):
    score, y, frame = people(kind)
    order = np.arange(len(y)) if order is None else order
    return fa.audit(
        predictions=score[order],
        outcome=y[order],
        sensitive=frame[list(columns)].iloc[order].reset_index(drop=True),
        density="auto" if kind == "classes" else "ols",
        permutations=permutations,
        **{"statistic": "kpc", "power": False, **more},
    )


def plain(record):
    """The values of a record that do not say when, where and how long."""
    return dict(_leaves(record, ("digest",)))


def record(result):
    return json.dumps(plain(result.to_dict())).encode()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("statistic", ["omnibus", "kpc"])
def test_bytes_do_not_depend_on_repetition_batch_or_jobs(kind, statistic):
    full = {"statistic": statistic, "power": True}
    expected = record(audited(kind, **full))
    for change in ({}, {"batch": 1}, {"n_jobs": 2, "batch": 7}):
        found = record(audited(kind, permutations=replace(COPIES, **change), **full))
        assert found == expected, change


def values(result):
    """Statistics and measures, which have no randomness in them."""
    return [
        *(number for one in result.findings for number in (one.value, one.kpc)),
        *(one.value for one in result.measures if one.key != "kpc_r"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_do_not_depend_on_the_order_of_rows(kind):
    expected = values(audited(kind))
    assert sum(number is not None for number in expected) > 8
    rng = np.random.default_rng(2)
    for order in (np.arange(240)[::-1], rng.permutation(240)):
        found = values(audited(kind, order))
        for a, b in zip(found, expected, strict=True):
            assert a == b or a == pytest.approx(b, rel=1e-12, abs=1e-12)


def test_p_values_of_another_order_are_another_draw_of_the_same_law():
    """Copies are drawn by the position of rows: p may move, but not more than chance moves it."""
    many = fa.Permutations(n=499)
    first = audited("classes", permutations=many)
    other = audited("classes", np.arange(240)[::-1], permutations=many)
    for a, b in zip(first.findings, other.findings, strict=True):
        spread = np.sqrt(2 * max(a.p_value * (1 - a.p_value), 1 / 499) / 499)
        assert abs(a.p_value - b.p_value) < 4 * spread  # 1e-4, two-sided


@pytest.mark.parametrize("kind", KINDS)
def test_another_attribute_changes_no_other_number(kind):
    two = {one.name: one for one in audited(kind).findings}
    three = {one.name: one for one in audited(kind, columns=("race", "sex", "age")).findings}
    alone = audited(kind, columns=("sex",)).findings[0]
    assert two["sex"].p_value == three["sex"].p_value == alone.p_value
    assert two["age"].p_value == three["age"].p_value
    for name in ("sex", "age"):
        assert two[name].value == pytest.approx(three[name].value, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_attributes_and_names_of_levels(kind):
    a, b = audited(kind), audited(kind, columns=("age", "sex"))
    joint = [result.findings[0] for result in (a, b)]
    assert joint[0].value == pytest.approx(joint[1].value, rel=1e-12)
    by_name = [{one.name: one.p_value for one in result.findings[1:3]} for result in (a, b)]
    assert by_name[0] == by_name[1]
    joint = [
        audited(kind, columns=columns, statistic="omnibus").findings[0]
        for columns in (("sex", "age"), ("age", "sex"))
    ]
    assert joint[0].p_value == joint[1].p_value
    score, y, frame = people(kind)
    named = frame[["sex", "age"]].replace({"sex": {"f": "woman", "m": "man"}})
    other = fa.audit(
        predictions=score,
        outcome=y,
        sensitive=named,
        permutations=COPIES,
        density="auto" if kind == "classes" else "ols",
        statistic="kpc",
    )
    for one, two in zip(a.findings, other.findings, strict=True):
        assert one.value == pytest.approx(two.value, rel=1e-12)
        if kind == "classes":
            assert one.p_value == two.p_value


@pytest.fixture
def table(tmp_path):
    score, y, frame = people("classes")
    frame.assign(p=score, y=y).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_verify_proves_it(table, tmp_path):
    saved = tmp_path / "audit.json"
    ask = ["--predictions=p", "--outcome=y", "--sensitive=sex,race,age", "--permutations=49"]
    status, _, err = run(["test", "--data", str(table), *ask, "--report", str(saved)])
    assert status in (0, 1) and err == ""
    for jobs in ("1", "2"):
        status, out, _ = run(["verify", str(saved), "--data", str(table), "--jobs", jobs])
        assert status == 0 and out.startswith("reproduced: all ")


def test_bytes_do_not_depend_on_the_process(table):
    """Neither on the seed of hashes, nor on what ran before in the process."""
    command = [
        sys.executable,
        "-m",
        "fairaudit_cli.main",
        "test",
        "--data",
        str(table),
        "--json",
        "--predictions=p",
        "--outcome=y",
        "--sensitive=sex,race,age",
        "--permutations=19",
    ]
    shown = []
    for seed in ("0", "123"):
        done = subprocess.run(
            command, capture_output=True, check=False, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        assert done.returncode in (0, 1) and done.stderr == b""
        shown.append(json.dumps(plain(json.loads(done.stdout))))
    assert shown[0] == shown[1]
