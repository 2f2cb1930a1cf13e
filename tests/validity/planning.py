"""Planned sample sizes and detectable violations against direct simulation:
`python tests/validity/planning.py --replications 200`.

Prints a Markdown table. The plan sees a pilot without a violation. New tables are then drawn from
laws that *have* one of the planned size, and tested as a user would; a probit curve through the
shares found at five sizes gives the rows that are truly needed. Ratio: planned / needed. With a
continuous outcome the tests use the law `local`, which fits no density.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.evidence.power.planning import plan_rows  # noqa: E402

PILOT = 20_000  # with few rows its own rates are uncertain, and the plan with them
FACTORS = (0.75, 0.87, 1.0, 1.15, 1.3)


@dataclass(frozen=True)
class Case:
    """What is planned for, and a law that has it: n, generator, size → scores, y, attributes."""

    effect: str
    size: float
    statistic: str
    group: str
    draw: Callable[..., tuple]


def draw_pair(n, rng, effect=None, size=0.0, share=0.5):
    """Two binary attributes; the violation is for sex = m against the others."""
    y = (rng.random(n) < share).astype(int)
    sex, race = rng.choice(["f", "m"], n, p=[0.6, 0.4]), rng.choice(["a", "b"], n, p=[0.7, 0.3])
    score = violate(_scores(y, rng), y, sex == "m", effect, size, rng)
    return score, y, {"sex": sex, "race": race}


def draw_margins(n, rng, effect=None, size=0.0):
    """Log-odds as scores; three attributes, the outcome is rare and goes with age; for race = b."""
    age = rng.normal(size=n)
    race = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    y = (rng.random(n) < 1 / (1 + np.exp(1 - 0.5 * age))).astype(int)
    score = 1.5 * y + rng.normal(size=n) + size * (race == "b")
    return score, y, {"race": race, "sex": rng.choice(["f", "m"], n), "age": age}


def draw_rare(n, rng, effect=None, size=0.0):
    return draw_pair(n, rng, effect, size, share=0.2)


def draw_three(n, rng, effect=None, size=0.0):
    """Attributes that go together and with the outcome; the violation is for race = b."""
    age = rng.integers(20, 70, n)
    race = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    sex = np.where(rng.random(n) < 0.4 + 0.2 * (race == "b"), "f", "m")
    y = (rng.random(n) < 0.3 + 0.006 * (age - 20)).astype(int)
    score = violate(_scores(y, rng), y, race == "b", effect, size, rng)
    return score, y, {"race": race, "sex": sex, "age": age}


def draw_numbers(n, rng, effect=None, size=0.0):
    """A normal outcome that depends on both attributes; the violation is for sex = m."""
    sex, age = rng.choice(["f", "m"], n, p=[0.6, 0.4]), rng.normal(size=n)
    y = 4 + 0.8 * (sex == "m") + 0.5 * age + rng.normal(size=n)
    return 0.7 * y + rng.normal(size=n) + size * (sex == "m"), y, {"sex": sex, "age": age}


def draw_incomes(n, rng, effect=None, size=0.0):
    """A skew outcome; predictions bend along it and vary more where it is large; for race = b."""
    race, sex = rng.choice(["a", "b", "c"], n, p=[0.5, 0.25, 0.25]), rng.choice(["f", "m"], n)
    y = np.exp(0.6 * rng.normal(size=n) + 0.3 * (race == "b") - 0.2 * (sex == "f"))
    score = 2 * np.sqrt(y) + (0.4 + 0.2 * y) * rng.normal(size=n)
    return score + size * (race == "b"), y, {"race": race, "sex": sex}


def violate(score, y, member, effect, size, rng):
    """Scores of Beta laws with the effect for members against the others."""
    share = member.mean()
    if effect == "score_shift":
        spread = np.sqrt(10 / (49 * 8))  # of Beta(2, 5) and Beta(5, 2)
        return score + size * spread * (member - share)
    if effect is None:
        return score
    outcome = int(effect == "tpr_gap")
    rows = np.flatnonzero(y == outcome)
    pool = _scores(np.full(50_000, outcome), rng)
    above, below = pool[pool >= 0.5], pool[pool < 0.5]
    rate = len(above) / len(pool) + (-1) ** outcome * size * (member[rows] - share)
    label = rng.random(len(rows)) < rate
    score = score.copy()
    score[rows] = np.where(label, rng.choice(above, len(rows)), rng.choice(below, len(rows)))
    return score


def _scores(y, rng):
    return np.where(y == 1, rng.beta(5, 2, len(y)), rng.beta(2, 5, len(y)))


CASES = (
    Case("score_shift", 0.3, "kpc", "sex=m", draw_pair),
    Case("tpr_gap", 0.1, "kpc", "sex=m", draw_pair),
    Case("score_shift", 0.4, "omnibus", "race=b", draw_margins),
    Case("score_shift", 0.3, "features", "race=b", draw_margins),
    Case("tpr_gap", 0.15, "omnibus", "race=b", draw_three),
    Case("fpr_gap", 0.1, "omnibus", "sex=m", draw_rare),
    Case("prediction_gap", 0.35, "omnibus", "sex=m", draw_numbers),
    Case("prediction_gap", 0.25, "correlation", "sex=m", draw_numbers),
    Case("prediction_gap", 0.2, "omnibus", "race=b", draw_incomes),
)
#: Beta scores raised by a constant: plans ask for too many rows.
EDGES = (
    Case("score_shift", 0.3, "correlation", "sex=m", draw_pair),
    Case("score_shift", 0.4, "omnibus", "sex=m", draw_rare),
    Case("score_shift", 0.4, "omnibus", "race=b", draw_three),
)


def found(n: int, seed: int, case: Case) -> bool:
    rng = np.random.default_rng([10_000 + seed, n])
    score, y, attributes = case.draw(n, rng, case.effect, case.size)
    result = fa.equalized_odds_test(
        score,
        y_true=y,
        sensitive=attributes,
        statistic=case.statistic,
        law="local" if case.effect == "prediction_gap" else "auto",
        permutations=fa.Permutations(n=199, seed=seed),
    )
    return result.p_value <= 0.05


def needed(planned: int, shares: list[float], replications: int) -> float:
    """Rows at which the measured power is .8."""
    from scipy.optimize import minimize
    from scipy.stats import norm

    x = np.log(np.array(FACTORS))
    hits = np.array(shares) * replications

    def loss(line):
        p = np.clip(norm.cdf(line[0] + line[1] * x), 1e-9, 1 - 1e-9)
        return -(hits * np.log(p) + (replications - hits) * np.log1p(-p)).sum()

    a, b = minimize(loss, [0.8, 1.5], method="Nelder-Mead").x
    return planned * float(np.exp((norm.ppf(0.8) - a) / b))


def confirm(case: Case, replications: int, jobs: int = 1):
    """Planned rows, needed rows, and the power measured with the planned rows."""
    from joblib import Parallel, delayed

    score, y, attributes = case.draw(PILOT, np.random.default_rng(1))
    table = fa.AuditTable.of(score, attributes, y)
    plan = plan_rows(table, case.effect, case.size, statistic=case.statistic, groups=[case.group])
    sizes = [int(plan.rows * factor) for factor in FACTORS]
    shares = [
        float(
            np.mean(
                Parallel(n_jobs=jobs)(delayed(found)(n, seed, case) for seed in range(replications))
            )
        )
        for n in sizes
    ]
    return plan.rows, needed(plan.rows, shares, replications), shares[FACTORS.index(1.0)]


def detectable(rows: int, replications: int) -> tuple[float, float]:
    """A shift that audits say they could have found (mean of six), and how often it is found."""
    said = []
    for seed in range(2, 8):
        score, y, attributes = draw_pair(rows, np.random.default_rng([seed, rows]))
        audit = fa.audit(predictions=score, outcome=y, sensitive=attributes)
        said += [group.shift for group in audit.power.detectable if group.group == "sex = m"]
    case = Case("score_shift", float(np.mean(said)), "omnibus", "sex=m", draw_pair)
    shares = [found(rows, seed, case) for seed in range(replications)]
    return case.size, float(np.mean(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="leave out the cases before")
    args = parser.parse_args()
    print("| effect | statistic | planned rows | needed rows | ratio | power with planned rows |")
    print("|---|---|---|---|---|---|", flush=True)
    for case in (*CASES, *EDGES)[args.first :]:
        planned, truth, power = confirm(case, args.replications, args.jobs)
        print(
            f"| {case.effect} {case.size}, {case.group}, {case.draw.__name__} | {case.statistic} "
            f"| {planned:,} | {truth:,.0f} | "
            f"{planned / truth:.2f} | {power:.2f} |",
            flush=True,
        )
    print("\n| rows | an audit could have found a shift of | share found |")
    print("|---|---|---|", flush=True)
    for rows in (500, 2000):
        shift, share = detectable(rows, args.replications)
        print(f"| {rows:,} | {shift:.2f} sd | {share:.2f} |", flush=True)


if __name__ == "__main__":
    main()
