"""Numbers at the edge of what floating point can hold: right, or refused with the reason."""

import json
import time

import numpy as np
import pandas as pd
import pytest
from tables import run

import fairaudit as fa
from fairaudit.density.conditional_density import LocationScale

N = 200
COPIES = fa.Permutations(n=39)
rng = np.random.default_rng(0)
Y = rng.integers(0, 2, N)
SEX = rng.choice(["f", "m"], N)
AGE = rng.integers(18, 80, N)
SCORE = np.round(Y + 0.4 * (SEX == "m") + rng.normal(size=N), 3)
AMOUNT = rng.normal(size=N) + 0.02 * AGE


def audited(score=SCORE, y=Y, age=AGE, **options):
    options = {"permutations": COPIES, **options}
    return fa.audit(predictions=score, outcome=y, sensitive={"sex": SEX, "age": age}, **options)


def numbers(result):
    return [(one.p_value, pytest.approx(one.value, rel=1e-9)) for one in result.findings]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-480, -60, 60, 480])
def test_a_change_of_units_changes_nothing(power):
    """Powers of two scale without rounding, so that every comparison stays as it was."""
    factor = 2.0**power
    expected = audited()
    assert numbers(audited(score=SCORE * factor)) == numbers(expected)
    assert numbers(audited(age=AGE * factor)) == numbers(expected)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-300, 300])
def test_a_change_of_units_of_the_outcome(power):
    expected = audited(y=AMOUNT, density="ols")
    found = audited(y=AMOUNT * 2.0**power, density="ols")
    assert [one.p_value for one in found.findings] == [one.p_value for one in expected.findings]


@pytest.mark.parametrize("factor", [1e300, 1e160, 1e-160, 1e-300])
@pytest.mark.parametrize("role", ["score", "y"])
def test_what_cannot_be_squared_is_refused(role, factor):
    given = {"score": SCORE, "y": AMOUNT}[role] * factor
    with pytest.raises(fa.InputError, match=r"beyond what can be squared\. Multiply it"):
        audited(**{role: given})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-1050, -990, 990, 1017])
def test_attributes_of_any_size(power):
    """They are standardized before anything is squared; 2^-1050 has lost digits of its own."""
    found, expected = audited(age=AGE * 2.0**power), audited()
    assert [one.p_value for one in found.findings] == [one.p_value for one in expected.findings]


def test_a_small_spread_on_a_large_level():
    """Near-duplicates: neighbors are told apart as far as the numbers themselves are."""
    steps = np.arange(N) % 7
    for score in (1.0 + steps * 2.0**-52, 1e15 + steps, -1e-140 * steps):
        result = audited(score=score)
        assert result.p_value is not None and np.isfinite(result.findings[0].value)
        plain = audited(score=np.sign(score[1] - score[0]) * steps)
        assert result.findings[0].value == pytest.approx(plain.findings[0].value, abs=1e-6)


@pytest.mark.parametrize("kind", ["float16", "float32", "int8", "uint8", "bool"])
def test_narrow_types(kind):
    """They are widened once, at the door."""
    score = (SCORE > 0.5) if kind == "bool" else np.clip(SCORE * 10, 0, 100)
    narrow = score.astype(kind)
    expected = numbers(audited(score=narrow.astype(float)))
    assert numbers(audited(score=narrow)) == expected
    assert numbers(audited(age=AGE.astype("uint8"))) == numbers(audited())


def test_heavy_ties():
    score = np.where(np.arange(N) == 3, 1.0, 0.0)  # all but one
    result = audited(score=score, y=np.where(np.arange(N) < 100, 0, 1))
    assert result.p_value is not None and np.isfinite(result.findings[0].value)
    doubled = audited(score=np.repeat([0.0, 1.0], N // 2))
    assert doubled.p_value is not None


# Ids

IDS = {
    "int64": np.arange(N) // 2 + 2**62,
    "uint64": (np.arange(N) // 2).astype(np.uint64) + np.uint64(2**63),
    "beyond": [2**70 + k // 2 for k in range(N)],
    "negative": -(np.arange(N) // 2) - 2**62,
    "text": [f"{k // 2:,}" for k in range(N)],
    "date": [f"2020-01-{k // 2:03d}" for k in range(N)],
}
PAIRS = {"sex": np.repeat(SEX[: N // 2], 2), "age": np.repeat(AGE[: N // 2], 2)}


@pytest.mark.parametrize("name", IDS)
def test_no_two_people_become_one(name):
    def people(ids):
        return fa.audit(
            predictions=SCORE,
            outcome=np.repeat(Y[: N // 2], 2),
            sensitive=PAIRS,
            ids=ids,
            permutations=COPIES,
            statistic="kpc",  # whose value does not depend on the copies
        )

    found, expected = people(IDS[name]), people(np.arange(N) // 2)
    assert found.table.people == N // 2
    assert found.findings[0].value == expected.findings[0].value


def test_ids_that_were_rounded_are_refused():
    with pytest.raises(fa.InputError, match="floating-point numbers beyond 2\\^53"):
        audited(ids=np.arange(N) + 2.0**60)
    with pytest.raises(fa.InputError, match="'age' holds whole numbers beyond 2\\^53"):
        audited(age=AGE + 2**62)
    assert audited(age=AGE * 2**55).p_value == audited().p_value  # these are told apart
    result = audited(age=[2**70 + int(k) for k in AGE % 3], kinds={"age": "categorical"})
    assert len(result.table.attributes[1].levels) == 3


def test_ids_in_files(tmp_path):
    frame = pd.DataFrame({"p": SCORE, "y": np.repeat(Y[: N // 2], 2), **PAIRS})
    ask = ["--predictions=p", "--outcome=y", "--sensitive=sex,age", "--permutations=19", "--id=id"]
    path = tmp_path / "t.csv"
    for start in (2**53, 2**62, 2**63 + 5, 2**70):
        frame.assign(id=[start + k // 2 for k in range(N)]).to_csv(path, index=False)
        status, out, err = run(["test", "--data", str(path), *ask, "--json"])
        assert status in (0, 1) and json.loads(out)["table"]["people"] == N // 2, err
    # one missing id makes pandas read floats, in which neighbors are equal
    ids = pd.Series([2**62 + k // 2 for k in range(N)], dtype="Int64")
    ids[4] = pd.NA
    frame.assign(id=ids).to_csv(path, index=False)
    status, _, err = run(["test", "--data", str(path), *ask, "--missing", "drop"])
    assert status == 2 and "beyond 2^53" in err and err.count("\n") == 1


def test_a_million_ids():
    n = 1_000_000
    some = np.random.default_rng(1)
    start = time.process_time()
    table = fa.AuditTable.of(
        some.random(n),
        {"sex": some.integers(0, 2, n)},
        some.integers(0, 2, n),
        ids=[f"person {k}" for k in range(n)],
    )
    assert table.ids is not None and len(table.ids.levels) == n
    assert time.process_time() - start < 30


# Densities


def test_densities_of_zero_and_no_densities():
    def banded(y, a):
        """Zero where the outcome is far from the attribute: −inf."""
        return np.where(np.abs(y - 0.02 * a[:, 1]) < 9, 0.0, -np.inf)

    found = fa.equalized_odds_test(
        SCORE,
        y_true=AMOUNT,
        sensitive={"sex": SEX, "age": AGE},
        density=banded,
        permutations=COPIES,
    )
    assert 0 < found.p_value <= 1
    for bad in (np.nan, np.inf):
        with pytest.raises(fa.InputError, match="oracle density returned NaN or infinity"):
            fa.equalized_odds_test(
                SCORE,
                y_true=AMOUNT,
                sensitive={"age": AGE},
                density=lambda y, a, bad=bad: y * 0 + bad,
            )


class Broken:
    """A density whose fit came to nothing."""

    name = "broken"

    def __init__(self, scale):
        self.scale = scale

    def fit(self, y, a, seed):
        return self

    def pairs(self, y, a):
        return LocationScale(y, np.zeros(len(y)), np.full(len(y), self.scale))


@pytest.mark.parametrize("scale", [np.nan])
def test_a_fit_that_came_to_nothing(scale):
    with pytest.raises(fa.InputError, match="density of the outcome is NaN or infinite at"):
        fa.equalized_odds_test(SCORE, y_true=AMOUNT, sensitive={"age": AGE}, density=Broken(scale))
