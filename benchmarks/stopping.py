"""Copies that rules of early stopping draw, and how often they decide as all copies would.

    python benchmarks/stopping.py rules      # by true p-value: exact, nothing is drawn
    python benchmarks/stopping.py streams    # 20,000 null streams: size, one statistic and three
    python benchmarks/stopping.py power      # what holding copies out costs a combination
    python benchmarks/stopping.py models     # fair and unfair models: copies drawn by each rule

rules     each cell: copies on average / share rejected at the level / share that decides as all n
          copies would. The number of copies that reach the data is a walk; its law is computed.
          all copies; Besag and Clifford (20); curtailment (stop when the decision at n cannot
          change); the aggressive bet and the binomial mixture (c = 0.9 of the level, given up at a
          wealth below the level) of Fischer and Ramdas (2025), rejected at a wealth of 1/level; the
          stops of that mixture with the exact p-value; `settle_at` (lines six copies apart)
streams   P(p <= level) where the data are one more copy
power     four dependent statistics, one of them shifted: smallest p calibrated on all 999 copies,
          against the first 99 held out and `settle_at`
models    tables of 1,000 rows, two classes, three attributes; a score that depends on sex by
          `effect` standard deviations; the gate and all questions
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.stats import beta, binom, chi2, gumbel_r, lognorm, norm

import fairaudit as fa
from fairaudit.testing.p_value import Null, PValue
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.stopping import OnceSettled, Tally

SHARES = (0.001, 0.01, 0.03, 0.05, 0.08, 0.2, 0.5)
UNIFORM = -1.0


class Rule:
    """Stop at `below` or fewer, at `above` or more; `alone`: rejected only by a stop below."""

    def __init__(self, n: int, below: np.ndarray, above: np.ndarray, alone: bool = False) -> None:
        self.n, self.below, self.above, self.alone = n, below, above, alone

    def walk(self, p: float) -> list[tuple[int, int, int, float]]:
        """Stops as (side, drawn, reached, chance), the most extreme first."""
        reached = np.arange(self.n + 2)
        chance = np.zeros(self.n + 2)
        chance[0] = 1.0
        stops = []
        for drawn in range(1, self.n + 1):
            hit = chance * ((1 + reached) / (drawn + 1) if p == UNIFORM else p)
            chance = chance - hit
            chance[1:] += hit[:-1]
            side = (reached >= self.above[drawn]) * 1 - (reached <= self.below[drawn])
            done = np.flatnonzero((chance > 0) & ((side != 0) | (drawn == self.n)))
            stops += [(int(side[r]), drawn, int(r), float(chance[r])) for r in done]
            chance[done] = 0.0
        order = {-1: lambda t, r: t, 0: lambda t, r: r, 1: lambda t, r: -t}
        return sorted(stops, key=lambda s: (s[0], order[s[0]](s[1], s[2]), s[2]))

    def rejected(self, level: float) -> set[tuple[int, int]]:
        stops = self.walk(UNIFORM)
        if self.alone:
            return {(drawn, reached) for side, drawn, reached, _ in stops if side < 0}
        p = np.cumsum([chance for *_, chance in stops])
        return {stop[1:3] for stop, value in zip(stops, p, strict=True) if value <= level + 1e-12}


def make_rules(level: float, n: int) -> dict[str, Rule]:
    drawn = np.arange(n + 1)
    never, always = np.full(n + 1, -1), np.full(n + 1, n + 2)
    most = int(level * (n + 1) + 1e-9) - 1
    wealth = lambda t, r: beta.cdf(0.9 * level, r + 1, t - r + 1) / (0.9 * level)  # noqa: E731
    mixture = [_limits(lambda r, t=t: wealth(t, r), t, level) for t in drawn[1:]]
    below, above = np.array([(-1, n + 2), *mixture]).T
    settled = OnceSettled(n, level, level).limits(drawn)
    return {
        "all copies": Rule(n, never, always),
        "Besag and Clifford": Rule(n, never, np.full(n + 1, 20)),
        "curtailment": Rule(n, most - (n - drawn), np.full(n + 1, most + 1)),
        "aggressive bet": Rule(
            n, np.where(drawn + 1 >= 1 / level - 1e-9, 0, -1), np.ones(n + 1, int), alone=True
        ),
        "binomial mixture": Rule(n, below, above, alone=True),
        "its stops, exact p": Rule(n, below, above),
        "settle_at": Rule(n, *settled),
    }


def _limits(wealth: Callable[[np.ndarray], np.ndarray], drawn: int, level: float) -> tuple:
    reached = np.arange(drawn + 1)
    value = wealth(reached)
    rich, poor = np.flatnonzero(value >= 1 / level), np.flatnonzero(value <= level)
    return (rich.max() if len(rich) else -1, poor.min() if len(poor) and drawn > 1 else drawn + 2)


def show_rules(level: float, n: int) -> None:
    print(f"\nlevel {level:g}, n = {n}")
    print("| rule | " + " | ".join(f"p = {p:g}" for p in SHARES) + " | uniform |")
    print("|---|" + "---|" * (len(SHARES) + 1))
    most = int(level * (n + 1) + 1e-9) - 1
    for name, rule in make_rules(level, n).items():
        rejected, cells = rule.rejected(level), []
        for p in (*SHARES, UNIFORM):
            copies = share = same = 0.0
            for _, drawn, reached, chance in rule.walk(p):
                yes = (drawn, reached) in rejected
                copies, share = copies + chance * drawn, share + chance * yes
                if p != UNIFORM:
                    later = binom.cdf(most - reached, n - drawn, p)
                    same += chance * (later if yes else 1 - later)
            agreed = "" if p == UNIFORM else f" / {same:.3f}"
            cells.append(f"{copies:.0f} / {share:.3f}{agreed}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def show_streams(streams: int) -> None:
    rng = np.random.default_rng(0)
    plan = Permutations.auto(0.05)
    for count in (1, 3):
        found = []
        for _ in range(streams):
            values = rng.normal(size=(1000, 1)) + rng.normal(size=(1000, count))
            values[:, 0] = np.exp(values[:, 0])
            found.append(draw_tally(values, plan))
        p, copies = np.array(found).T
        shares = {a: round(float(np.mean(p <= a)), 4) for a in (0.01, 0.02, 0.05, 0.1)}
        print(
            f"{count} statistic(s), {streams} streams: P(p <= level) {shares}, copies "
            f"{np.mean(copies):.0f}"
        )


def draw_tally(values: np.ndarray, plan: Permutations) -> tuple[float, int]:
    """p of the first row among the others, and the copies that it took."""
    count = values.shape[1]
    held_out, boundary = plan.held_out(count), plan.boundary(count)
    tally = Tally(values[0], boundary, held_out)
    for start in range(1, len(values), 20):
        tally.add(values[start : start + 20])
        if tally.stopped:
            break
    drawn = tally.values
    null = Null(values[0], drawn[held_out:])
    value, own = null.combined(drawn[:held_out] if held_out else None)
    return PValue.of(value, own, boundary=boundary).value, len(drawn)


def show_power(runs: int) -> None:
    tails = {
        "chi2(3)": chi2(3).ppf,
        "chi2(20)": chi2(20).ppf,
        "normal": norm.ppf,
        "Gumbel": gumbel_r.ppf,
        "lognormal": lognorm(1.2).ppf,
    }
    print("| statistics | shifted | level | all 999 copies | settle_at |")
    print("|---|---|---|---|---|")
    for names in (("chi2(3)", "chi2(20)", "normal", "Gumbel"), ("lognormal", "normal")):
        for guilty, name in enumerate(names):
            rng = np.random.default_rng(guilty)
            found = []
            for _ in range(runs):
                size = (1000, len(names))
                normal = np.sqrt(0.5) * (rng.normal(size=(1000, 1)) + rng.normal(size=size))
                normal[0, guilty] += 2.5
                columns = zip(names, norm.cdf(normal).T, strict=True)
                values = np.column_stack([tails[tail](u) for tail, u in columns])
                p = [draw_tally(values, Permutations(settle_at=a))[0] <= a for a in (0.05, 0.01)]
                full = Null(values[0], values[1:]).p_value()
                found.append([full <= 0.05, full <= 0.01, *p])
            power = np.mean(found, axis=0)
            for k, level in enumerate((0.05, 0.01)):
                print(
                    f"| {', '.join(names)} | {name} | {level} | {power[k]:.3f} | "
                    f"{power[k + 2]:.3f} |",
                    flush=True,
                )


def show_models(tables: int) -> None:
    rules = {
        "all": Permutations(),
        "stop_after=20": Permutations(stop_after=20),
        "auto": Permutations.auto(0.05),
    }
    print("| effect | statistic | rule | gate: copies | gate rejected | all questions: copies |")
    print("|---|---|---|---|---|---|")
    for effect in (0.0, 0.15, 0.3, 1.0):
        for statistic in ("correlation", ["correlation", "features"]):
            for name, plan in rules.items():
                gate, rejected, every = [], [], []
                for seed in range(tables):
                    rng = np.random.default_rng(seed)
                    sex, y = rng.integers(0, 2, (2, 1_000))
                    score = y + effect * sex + rng.normal(size=1_000)
                    people = {"sex": sex, "race": rng.integers(0, 4, 1_000)}
                    people["age"] = rng.integers(18, 80, 1_000)
                    result = fa.audit(
                        predictions=score,
                        outcome=y,
                        sensitive=people,
                        statistic=statistic,
                        permutations=plan,
                        power=False,
                        with_r=False,
                    )
                    held_out = plan.held_out(1 if isinstance(statistic, str) else 2)
                    gate.append(result.joint.copies + held_out)
                    rejected.append(result.joint.p_value <= 0.05)
                    every.append(sum(f.copies + held_out for f in result.findings))
                kind = statistic if isinstance(statistic, str) else "two combined"
                print(
                    f"| {effect} | {kind} | {name} | {np.mean(gate):.0f} | "
                    f"{np.mean(rejected):.2f} | {np.mean(every):.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("rules", "streams", "power", "models"))
    parser.add_argument("--runs", type=int, default=None)
    given = parser.parse_args()
    if given.what == "rules":
        for level, n in ((0.05, 999), (0.01, 1999)):
            show_rules(level, n)
    elif given.what == "streams":
        show_streams(given.runs or 20_000)
    elif given.what == "power":
        show_power(given.runs or 1_000)
    else:
        show_models(given.runs or 40)
