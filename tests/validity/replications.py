"""Replications of a test on simulated tables, kept in a file of JSON lines.

`continuous_size.py` and `gate_power.py` are made of it.
A way to test is written as `default`, as the name of a statistic, or as keywords of
`fairaudit.equalized_odds_test` joined by plus signs: `statistic=features+density=mixture`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

__all__ = ["laws", "parser", "replicate", "replicate_ways", "run", "shares"]

LEVEL = 0.05
BATCH = 10  # replications between two writes


def keywords(way: str) -> dict[str, str]:
    """`"default"`, `"kpc"` or `"statistic=kpc+density=ols"` as keywords of the test."""
    if way == "default":
        return {}
    if "=" not in way:
        return {"statistic": way}
    return dict(part.split("=", 1) for part in way.split("+"))


def replicate(model, way: str, copies: int, seed: int) -> dict:
    """One test of one table."""
    import fairaudit as fa

    prediction, y, frame, ids = _draw(model, seed)
    start = time.process_time()
    result = fa.equalized_odds_test(
        prediction,
        y_true=y,
        sensitive=frame,
        groups=ids,
        permutations=fa.Permutations(n=copies, seed=seed),
        **keywords(way),
    )
    return _keep(result, seed, time.process_time() - start)


def replicate_ways(model, ways: Sequence[str], copies: int, seed: int) -> dict[str, dict]:
    """Tests of one table; statistics share the copies, which are what costs most, and CPU counts
    them once."""
    from fairaudit.data.table import AuditTable
    from fairaudit.testing.choice_of_law import ChoiceOfLaw, prepare_copies
    from fairaudit.testing.core import Scope, run_tests
    from fairaudit.testing.permutations import Permutations
    from fairaudit.testing.statistic import statistic_named

    if len(ways) == 1 or any("=" in way for way in ways):
        return {way: replicate(model, way, copies, seed) for way in ways}
    prediction, y, frame, ids = _draw(model, seed)
    permutations = Permutations(n=copies, seed=seed)
    start = time.process_time()
    table = AuditTable.of(prediction, frame, y, ids=ids)
    fitted = prepare_copies(table, ChoiceOfLaw(), permutations)
    found = {}
    for way in ways:
        statistics = statistic_named(keywords(way).get("statistic", "omnibus"))
        (result,) = run_tests([Scope(table)], fitted, statistics, permutations)
        found[way] = _keep(result, seed, time.process_time() - start)
        fitted, start = replace(fitted, witness=None), time.process_time()
    return found


def _draw(model, seed: int):
    key = zlib.crc32(f"{model.name}, n = {model.rows}".encode())
    return model.draw(np.random.default_rng([seed, key]))


def _keep(result, seed: int, seconds: float) -> dict:
    return {
        "seed": seed,
        "p": float(result.p_value),
        "inconclusive": result.inconclusive is not None,
        "law": result.diagnostics.law,
        "parts": {name: float(p) for name, p in result.parts.items()},
        "cpu": round(seconds, 4),
    }


class Lines:
    """What earlier runs found, by model, way to test and copies."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.found: dict[tuple, dict[int, dict]] = {}
        if path and os.path.exists(path):
            with open(path) as lines:
                for line in map(json.loads, lines):
                    self.found.setdefault(tuple(line.pop("of")), {})[line["seed"]] = line

    def add(self, key: tuple, line: dict) -> None:
        self.found.setdefault(key, {})[line["seed"]] = line
        if self.path:
            with open(self.path, "a") as lines:
                lines.write(json.dumps({"of": key, **line}) + "\n")


def run(models: Mapping[str, object], args: argparse.Namespace):
    """Yields (name, model, {way: results}) for every model that the arguments name."""
    from joblib import Parallel, delayed

    lines, commit = Lines(args.out), _commit()
    seeds = range(args.first, args.first + args.replications)
    for name, model in models.items():
        if not re.search(args.only, name):
            continue
        keys = {way: (name, way, args.copies) for way in args.test}
        left = [
            seed
            for seed in seeds
            if any(seed not in lines.found.get(key, {}) for key in keys.values())
        ]
        for start in range(0, len(left), BATCH):
            batch = Parallel(n_jobs=args.jobs)(
                delayed(replicate_ways)(model, args.test, args.copies, seed)
                for seed in left[start : start + BATCH]
            )
            for found in batch:
                for way, line in found.items():
                    lines.add(keys[way], {**line, "commit": commit})
        results = {way: [lines.found[key][seed] for seed in seeds] for way, key in keys.items()}
        yield name, model, results
    used = {line.get("commit") for found in lines.found.values() for line in found.values()}
    if len(used) > 1:
        print(f"\nReplications of several commits: {', '.join(sorted(map(str, used)))}")


def _commit() -> str:
    """The commit that is tested, with a plus sign if files were changed since."""
    git = ["git", "-C", str(Path(__file__).parent)]
    found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    dirty = subprocess.run(
        [*git, "status", "--porcelain", "-uno", "--", ":/fairaudit"], capture_output=True, text=True
    )
    return found.stdout.strip() + ("+" if dirty.stdout.strip() else "")


def shares(results: list[dict], part: str | None = None) -> tuple[float, float, float]:
    """Rejected among the answered, rejected and answered among all, inconclusive."""
    p = np.array([line["p"] if part is None else line["parts"][part] for line in results])
    answered = ~np.array([line["inconclusive"] for line in results], dtype=bool)
    rejected = (p <= LEVEL) & answered
    size = rejected.sum() / answered.sum() if answered.any() else np.nan
    return float(size), float(rejected.mean()), float(1 - answered.mean())


def laws(results: list[dict]) -> str:
    """Which laws of copies answered, the most frequent first."""
    count = Counter(line["law"] for line in results)
    if len(count) == 1:
        return next(iter(count))
    return ", ".join(f"{law} {number / len(results):.2f}" for law, number in count.most_common())


def parser(description: str | None, *, replications: int) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--replications", type=int, default=replications)
    made.add_argument("--copies", type=int, default=99)
    made.add_argument("--only", default="", help="models in whose name this pattern is found")
    made.add_argument("--test", nargs="+", default=["default"], help="ways to test")
    made.add_argument("--first", type=int, default=0, help="seed of the first replication")
    made.add_argument("--jobs", type=int, default=1)
    made.add_argument("--out", help="file of JSON lines; what it has is not computed again")
    return made
