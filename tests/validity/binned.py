"""Size and power of the test on bins of the score, beside the test without bins.

    python tests/validity/binned.py --replications 1000 --out binned.jsonl
    python tests/validity/binned.py --show binned.jsonl
    python tests/validity/binned.py --kept

`default` is what audits do: 256 bins of the score, 64 of an attribute; a number is for both.
`--kept` needs no copies: how much of what the statistic looks at is left between bins. That is the
share of rows whose evidence is left: an audit with .99 finds what one of 99 % of the rows finds.

The same tables of 2,000 rows; race (3), sex and age (40 levels), or a continuous attribute that is
cut into bins too; 39 copies, level .05. `rows` is the test on rows, without bins; numbers are
those of bins (the first and the last are halved four times more). Beside each the difference to
`rows` on the same tables, with its standard error.

Nulls: binary (balanced classes), rare (5 % positive, probabilities near 0), four (classes), income
(a continuous attribute that depends on the outcome). Alternatives: sex and age shift the score; a
product of race and sex does; sex changes the spread; sex matters in the upper twentieth of the
scores only; income acts as a wave; sex shifts the scores of a rare event (5 %), and those of the
positives of a rarer one (.5 %, 20,000 rows).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri

import fairaudit as fa
from fairaudit._types import Index
from fairaudit.data.counted_table import bin_columns
from fairaudit.geometry.block_sums import BlockSpace, CoarseBlocks
from fairaudit.testing.block_evaluation import evaluate_sums
from fairaudit.testing.choice_of_law import ChoiceOfLaw
from fairaudit.testing.core import prepare_copies
from fairaudit.testing.count_evaluation import CountedBlocks
from fairaudit.testing.evaluation import Evaluation, Scope, make_evaluation
from fairaudit.testing.omnibus import Omnibus
from fairaudit.testing.p_value import Null
from fairaudit.testing.product_parts import raise_residuals

ROWS, COPIES = 2_000, 39
BINS = ("16", "64", "default", "256", "1024")
NULLS = ("binary", "rare", "four", "income")
ALTERNATIVES = {
    "sex": 0.15,
    "age": 0.09,
    "product": 0.16,
    "spread": 0.18,
    "tail": 2.5,
    "wave": 0.19,
    "rare sex": 0.15,
    "rarer sex": 0.9,
}


def draw(setting: str, seed: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Score, outcome and attributes."""
    rng = np.random.default_rng([seed, sum(map(ord, setting))])
    rarer = "rarer" in setting
    n = 10 * ROWS if rarer else ROWS
    share = 0.005 if rarer else 0.05 if "rare" in setting else 0.5
    y = rng.integers(0, 4, n) if setting == "four" else (rng.random(n) < share).astype(int)
    sex = (rng.random(n) < 0.4 + 0.1 * (y > 0)).astype(int)
    race = rng.integers(0, 3, n)
    age = np.clip(rng.integers(20, 60, n) + 3 * (y > 0), 20, 59)
    income = rng.normal(size=n) + 0.5 * (y > 0)
    z, effect = rng.normal(size=n), ALTERNATIVES.get(setting, 0.0)
    if setting in ("sex", "rare sex"):
        z = z + effect * sex
    elif rarer:
        z = z + effect * sex * y
    elif setting == "age":
        z = z + effect * (age - 40) / 12
    elif setting == "product":
        z = z + effect * np.where((race == 0) == (sex == 1), 1, -1) / 2 * 1.4
    elif setting == "spread":
        z = z * (1 + effect * sex)
    elif setting == "tail":
        z = np.where((z > 1.64) & (sex == 1), z + effect, z)
    elif setting == "wave":
        z = z + effect * np.sin(3 * income)
    logit = 1.2 * z + 2 * y - 5 if "rare" in setting else z + y
    score = 1 / (1 + np.exp(-logit))
    if setting in ("income", "wave"):
        return score, y, pd.DataFrame({"sex": sex, "income": income})
    if rarer:
        return score, y, pd.DataFrame({"race": race.astype(str), "sex": sex})
    return score, y, pd.DataFrame({"race": race.astype(str), "sex": sex, "age": age})


def test_rows(evaluation: Evaluation) -> float:
    return _find_p(evaluation.observed[0], evaluation.values(range(COPIES))[0])


def test_bins(table: fa.AuditTable, bins: str, copies: Index, seed: int) -> float:
    """The test on bins, with attributes exchanged by the same permutations."""
    binned = bin_columns(table, find_count(bins), None)[0]
    binned = replace(binned, times=np.ones(len(table), dtype=np.intp))
    counted = CountedBlocks(binned)
    question = CoarseBlocks(counted.space, [column.name for column in table.attributes], None)
    form = Omnibus().over_blocks([question], counted.seen, seed=seed)
    observed = counted.sum_data(form.columns)
    bound, columns = form.bind(observed[0]), counted.make_columns(form.columns)
    block = BlockSpace.of(binned.require_outcome(), binned.attributes, binned.times)[1]
    tables = _count_copies(counted, binned, block, copies)
    (data,), (drawn,) = (
        evaluate_sums(bound, sums) for sums in (observed, counted.sum_tables(tables, columns))
    )
    return _find_p(data[0], drawn)


def _count_copies(
    counted: CountedBlocks, table: fa.AuditTable, block: Index, copies: Index
) -> list[list[Index]]:
    codes = table.require_outcome().codes
    by_class = []
    for own in counted.classes:
        rows = np.flatnonzero(codes == own.code)
        place = np.zeros(len(rows), dtype=np.intp)
        for column in table.prediction.columns:
            place = np.unique(place * len(column.levels) + column.codes[rows], return_inverse=True)[
                1
            ]
        height, width = own.table.shape
        moved = (block[copies[:, rows]] - own.blocks.start) * width + place
        by_class.append(
            [np.bincount(m, minlength=height * width).reshape(height, width) for m in moved]
        )
    return [list(tables) for tables in zip(*by_class, strict=True)]


def _find_p(observed: np.ndarray, copies: np.ndarray) -> float:
    return Null(observed, copies, Omnibus().weights).p_value()


def run(settings: list[str], seeds: range, bins: list[str], rows: bool, out: Path) -> None:
    with out.open("a") as file:
        for seed in seeds:
            for setting in settings:
                score, y, attributes = draw(setting, seed)
                table = fa.AuditTable.of(score, attributes, y)
                permutations = fa.Permutations(n=COPIES, seed=seed)
                fitted = prepare_copies(table, ChoiceOfLaw(), permutations)
                copies = fitted.sampler.block(range(COPIES))
                found = {count: test_bins(table, count, copies, seed) for count in bins}
                if rows:
                    evaluation = make_evaluation([Scope(table)], fitted, [Omnibus()], permutations)
                    found["rows"] = test_rows(evaluation)
                file.write(json.dumps({"setting": setting, "seed": seed, **found}) + "\n")
                file.flush()


def show(path: Path) -> None:
    """Shares of p ≤ .05, each way over the tables that it was run on."""
    hits: dict[tuple[str, str], dict[int, bool]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        record = json.loads(line)
        setting, seed = record.pop("setting"), record.pop("seed")
        for way, p in record.items():
            hits[setting, way][seed] = p <= 0.05
    ways = ["rows", *(way for way in BINS if any(own == way for _, own in hits))]
    print(f"| setting | {' | '.join(ways)} | tables |")
    print("|---" * (len(ways) + 2) + "|")
    for setting in (*NULLS, *ALTERNATIVES):
        rows = hits[setting, "rows"]
        if any(hits[setting, way] for way in ways):
            told = [_tell(hits[setting, way], rows if way != "rows" else {}) for way in ways]
            counts = sorted({len(hits[setting, way]) for way in ways} - {0})
            print(f"| {setting} | {' | '.join(told)} | {', '.join(map(str, counts))} |")


def _tell(own: dict[int, bool], rows: dict[int, bool]) -> str:
    """A share, and on the tables that both have its difference to that of rows."""
    if not own:
        return ""
    both = sorted(own.keys() & rows.keys())
    share = f"{np.mean(list(own.values())):.3f}"
    if not both:
        return share
    differ = np.array([float(own[seed]) - float(rows[seed]) for seed in both])
    return f"{share} ({differ.mean():+.3f} ± {differ.std() / np.sqrt(len(both)):.3f})"


def find_count(bins: str) -> int | None:
    return None if bins == "default" else int(bins)


def find_kept(share: float, bins: str, n: int = 1_000_000) -> list[float]:
    """Of level, spread and skewness within the positives: the variance between bins."""
    rng = np.random.default_rng(7)
    y = (np.arange(n) < share * n).astype(int)
    logit = 1.2 * rng.normal(size=n) + 2 * y + np.log(share / (1 - share))
    table = fa.AuditTable.of(1 / (1 + np.exp(-logit)), {"sex": y}, y)
    place = bin_columns(table, find_count(bins), None)[0].prediction.columns[0].codes
    level = ndtri((logit.argsort().argsort() + 0.5) / n)[y == 1]
    level = (level - level.mean()) / level.std()
    sizes = np.maximum(np.bincount(place[y == 1]), 1)
    columns = [level, *raise_residuals(level).values()]
    means = [(np.bincount(place[y == 1], column) / sizes)[place[y == 1]] for column in columns]
    return [float(mean.var() / column.var()) for mean, column in zip(means, columns, strict=True)]


def show_kept() -> None:
    print(f"| positives | of the variance of | {' | '.join(BINS)} |")
    print("|---" * (len(BINS) + 2) + "|")
    for share in (0.5, 0.05, 0.005, 0.0005):
        kept = [find_kept(share, bins) for bins in BINS]
        for k, name in enumerate(("level", "spread", "skewness")):
            told = " | ".join(f"{own[k]:.4f}" for own in kept)
            print(f"| {100 * share:g} % | {name} | {told} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default=",".join((*NULLS, *ALTERNATIVES)))
    parser.add_argument("--bins", default=",".join(BINS))
    parser.add_argument("--no-rows", action="store_true")
    parser.add_argument("--out", default="binned.jsonl")
    parser.add_argument("--show")
    parser.add_argument("--kept", action="store_true")
    args = parser.parse_args()
    if args.kept:
        show_kept()
        return
    if args.show:
        show(Path(args.show))
        return
    seeds = range(args.first, args.first + args.replications)
    run(args.only.split(","), seeds, args.bins.split(","), not args.no_rows, Path(args.out))


if __name__ == "__main__":
    main()
