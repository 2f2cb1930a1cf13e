"""Planned sample sizes and detectable violations against direct simulation:
`python tests/validity/planning.py --replications 1000`.

Prints a Markdown table. The plan sees a pilot without a violation and says how many rows have
power .80. New tables of so many rows are then drawn from laws that *have* one of the planned
size, and tested as a user would: the share found is the power that the plan has. With `--rows` four
further sizes are tested, and a probit curve through the shares gives the rows that are truly
needed; ratio: planned / needed. With a continuous outcome the tests use the law `local`, which fits
no density.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.evidence.power.planning import plan_rows  # noqa: E402
from fairaudit.evidence.power.plant import Group, field_of  # noqa: E402

PILOT = 20_000  # with few rows its own rates are uncertain, and the plan with them
FACTORS = (0.75, 0.87, 1.0, 1.15, 1.3)
SAYING = 30  # audits of which each says what it could have found
MANY = 100_000  # rows by which the size of a violation is known


@dataclass(frozen=True)
class Case:
    """What is planned for, and a law that has it: n, generator, effect, amount → a table."""

    effect: str
    size: float
    statistic: str
    group: str
    draw: Callable[..., tuple]


def draw_pair(n, rng, effect=None, amount=0.0, share=0.5):
    """Two binary attributes; the violation is for sex = m against the others."""
    y = (rng.random(n) < share).astype(int)
    sex, race = rng.choice(["f", "m"], n, p=[0.6, 0.4]), rng.choice(["a", "b"], n, p=[0.7, 0.3])
    score = violate(_scores(y, rng), y, sex == "m", effect, amount, rng)
    return score, y, {"sex": sex, "race": race}


def draw_pair_constant(n, rng, effect=None, amount=0.0):
    return draw_pair(n, rng, effect and "constant", amount)


def draw_rare_constant(n, rng, effect=None, amount=0.0):
    return draw_rare(n, rng, effect and "constant", amount)


def draw_three_constant(n, rng, effect=None, amount=0.0):
    return draw_three(n, rng, effect and "constant", amount)


def draw_margins(n, rng, effect=None, amount=0.0):
    """Log-odds as scores; three attributes, the outcome is rare and goes with age; for race = b."""
    age = rng.normal(size=n)
    race = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    y = (rng.random(n) < 1 / (1 + np.exp(1 - 0.5 * age))).astype(int)
    score = 1.5 * y + rng.normal(size=n) + amount * (race == "b")
    return score, y, {"race": race, "sex": rng.choice(["f", "m"], n), "age": age}


def draw_rare(n, rng, effect=None, amount=0.0):
    return draw_pair(n, rng, effect, amount, share=0.2)


def draw_three(n, rng, effect=None, amount=0.0):
    """Attributes that go together and with the outcome; the violation is for race = b."""
    age = rng.integers(20, 70, n)
    race = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    sex = np.where(rng.random(n) < 0.4 + 0.2 * (race == "b"), "f", "m")
    y = (rng.random(n) < 0.3 + 0.006 * (age - 20)).astype(int)
    score = violate(_scores(y, rng), y, race == "b", effect, amount, rng)
    return score, y, {"race": race, "sex": sex, "age": age}


def draw_numbers(n, rng, effect=None, amount=0.0):
    """A normal outcome that depends on both attributes; the violation is for sex = m."""
    sex, age = rng.choice(["f", "m"], n, p=[0.6, 0.4]), rng.normal(size=n)
    y = 4 + 0.8 * (sex == "m") + 0.5 * age + rng.normal(size=n)
    return 0.7 * y + rng.normal(size=n) + amount * (sex == "m"), y, {"sex": sex, "age": age}


def draw_incomes(n, rng, effect=None, amount=0.0):
    """A skew outcome; predictions bend along it and vary more where it is large; for race = b."""
    race, sex = rng.choice(["a", "b", "c"], n, p=[0.5, 0.25, 0.25]), rng.choice(["f", "m"], n)
    y = np.exp(0.6 * rng.normal(size=n) + 0.3 * (race == "b") - 0.2 * (sex == "f"))
    score = 2 * np.sqrt(y) + (0.4 + 0.2 * y) * rng.normal(size=n)
    return score + amount * (race == "b"), y, {"race": race, "sex": sex}


def violate(score, y, member, effect, amount, rng):
    """Scores of Beta laws with the effect for members against the others."""
    if effect == "constant":  # leaves the edge of the law
        return score + amount * member
    if effect == "score_shift":
        return _raise_odds(score, amount * member)
    if effect is None:
        return score
    share, outcome = member.mean(), int(effect == "tpr_gap")
    rows = np.flatnonzero(y == outcome)
    pool = _scores(np.full(50_000, outcome), rng)
    above, below = pool[pool >= 0.5], pool[pool < 0.5]
    rate = len(above) / len(pool) + (-1) ** outcome * amount * (member[rows] - share)
    label = rng.random(len(rows)) < rate
    score = score.copy()
    score[rows] = np.where(label, rng.choice(above, len(rows)), rng.choice(below, len(rows)))
    return score


def _raise_odds(score, by):
    odds = score / (1 - score) * np.exp(by)
    return odds / (1 + odds)


@lru_cache
def shifts_of(draw: Callable, group: str) -> tuple[np.ndarray, np.ndarray]:
    """Amounts by which a law raises log-odds or scores, and the shifts that many rows then have."""
    name, level = group.split("=")
    amounts = np.linspace(0.0, 0.9, 10)
    shifts = []
    for amount in amounts:
        score, y, attributes = draw(MANY, np.random.default_rng(2), "score_shift", amount)
        field = field_of(fa.AuditTable.of(score, attributes, y), None)
        shifts.append(field.shift(np.arange(MANY), Group(group, attributes[name] == level)))
    return amounts, np.array(shifts) - shifts[0]  # by chance


def amount_of(case: Case) -> float:
    """By how much for a shift of the wanted size."""
    if case.effect != "score_shift":
        return case.size  # a gap is what it is
    amounts, shifts = shifts_of(case.draw, case.group)
    assert case.size < shifts[-1]
    return float(np.interp(case.size, shifts, amounts))


def _scores(y, rng):
    return np.where(y == 1, rng.beta(5, 2, len(y)), rng.beta(2, 5, len(y)))


CASES = (
    Case("score_shift", 0.3, "kpc", "sex=m", draw_pair),
    Case("score_shift", 0.3, "correlation", "sex=m", draw_pair),
    Case("score_shift", 0.4, "omnibus", "sex=m", draw_rare),
    Case("score_shift", 0.4, "omnibus", "race=b", draw_three),
    Case("tpr_gap", 0.1, "kpc", "sex=m", draw_pair),
    Case("score_shift", 0.4, "omnibus", "race=b", draw_margins),
    Case("score_shift", 0.3, "features", "race=b", draw_margins),
    Case("tpr_gap", 0.15, "omnibus", "race=b", draw_three),
    Case("fpr_gap", 0.1, "omnibus", "sex=m", draw_rare),
    Case("prediction_gap", 0.35, "omnibus", "sex=m", draw_numbers),
    Case("prediction_gap", 0.25, "correlation", "sex=m", draw_numbers),
    Case("prediction_gap", 0.2, "omnibus", "race=b", draw_incomes),
)
#: Beta scores raised by a constant: plans ask for more rows than it takes.
EDGES = (
    Case("score_shift", 0.3, "correlation", "sex=m", draw_pair_constant),
    Case("score_shift", 0.4, "omnibus", "sex=m", draw_rare_constant),
    Case("score_shift", 0.4, "omnibus", "race=b", draw_three_constant),
)


def law_of(draw: Callable) -> str:
    return "local" if draw in (draw_numbers, draw_incomes) else "auto"


def found(n: int, seed: int, case: Case) -> bool:
    rng = np.random.default_rng([10_000 + seed, n])
    score, y, attributes = case.draw(n, rng, case.effect, amount_of(case))
    result = fa.equalized_odds_test(
        score,
        y_true=y,
        sensitive=attributes,
        statistic=case.statistic,
        law=law_of(case.draw),
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


def confirm(case: Case, replications: int, jobs: int = 1, factors=FACTORS, first: int = 0):
    """Planned rows, and the power measured with these times each factor."""
    from joblib import Parallel, delayed

    score, y, attributes = case.draw(PILOT, np.random.default_rng(1))
    table = fa.AuditTable.of(score, attributes, y)
    plan = plan_rows(table, case.effect, case.size, statistic=case.statistic, groups=[case.group])
    shares = [
        float(
            np.mean(
                Parallel(n_jobs=jobs)(
                    delayed(found)(int(plan.rows * factor), seed, case)
                    for seed in range(first, first + replications)
                )
            )
        )
        for factor in factors
    ]
    return plan.rows, shares


#: What audits could have found: rows, group, law, and which shifts it has.
AUDITS = (
    (500, "sex=m", draw_pair, "log-odds"),
    (500, "sex=m", draw_pair_constant, "scores"),
    (1000, "sex=m", draw_rare, "log-odds"),
    (800, "race=b", draw_three, "log-odds"),
    (600, "race=b", draw_margins, "scores"),
    (500, "sex=m", draw_numbers, "scores"),
)


def detectable(
    rows: int, group: str, draw: Callable, replications: int, first: int
) -> tuple[float, float, float]:
    """Shifts that audits say they could have found: mean, spread, and how often each is found.

    Every audit's own size is looked for in as many new tables, by 199 copies as it was planned.
    """
    said: list[float] = []
    for seed in range(first, first + SAYING):
        score, y, attributes = draw(rows, np.random.default_rng([seed, rows, 1]))
        audit = fa.audit(
            predictions=score, outcome=y, sensitive=attributes, law=law_of(draw), locate=False
        )
        said += [one.shift for one in audit.power.detectable if one.group.replace(" ", "") == group]
    hits = [
        found(rows, first + k, Case("score_shift", said[k % len(said)], "omnibus", group, draw))
        for k in range(replications)
    ]
    return float(np.mean(said)), float(np.std(said)), float(np.mean(hits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="lines in which this pattern is found")
    parser.add_argument("--first", type=int, default=0, help="seed of the first replication")
    parser.add_argument("--rows", action="store_true", help="also the rows that are needed")
    parser.add_argument("--audits", action="store_true", help="only what audits could have found")
    args = parser.parse_args()
    if args.audits:
        print_audits(args)
    else:
        print_plans(args)


def print_plans(args: argparse.Namespace) -> None:
    factors = FACTORS if args.rows else (1.0,)
    print("| effect | law | statistic | planned rows | power | needed rows | ratio |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for case in (*CASES, *EDGES):
        law = case.draw.__name__.removeprefix("draw_").replace("_", ", ")
        line = f"| {case.effect} {case.size}, {case.group} | {law} | {case.statistic} |"
        if not re.search(args.only, line):
            continue
        planned, shares = confirm(case, args.replications, args.jobs, factors, args.first)
        truth, ratio = "", ""
        if args.rows:
            rows = needed(planned, shares, args.replications)
            truth, ratio = f"{rows:,.0f}", f"{planned / rows:.2f}"
        power = shares[factors.index(1.0)]
        print(f"{line} {planned:,} | {power:.3f} | {truth} | {ratio} |", flush=True)


def print_audits(args: argparse.Namespace) -> None:
    print("| law | rows | group | shift of | an audit could have found | share found |")
    print("|---|---|---|---|---|---|", flush=True)
    for rows, group, draw, name in AUDITS:
        law = draw.__name__.removeprefix("draw_").removesuffix("_constant")
        line = f"| {law} | {rows:,} | {group} | {name} |"
        if not re.search(args.only, line):
            continue
        shift, spread, share = detectable(rows, group, draw, args.replications, args.first)
        print(f"{line} {shift:.3f} ± {spread:.3f} sd | {share:.3f} |", flush=True)


if __name__ == "__main__":
    main()
