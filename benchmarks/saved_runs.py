"""Runs of the benchmarks of the remedy: one line of JSON each, kept as soon as it is finished."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["SavedRuns", "add_splits", "list_splits", "run_splits"]


class SavedRuns:
    """Records in a file; those of a run that is found there are not made again.

    Parameters
    ----------
    path : file
    keys : names of the fields that tell runs apart
    """

    def __init__(self, path: str, keys: Sequence[str]) -> None:
        self.path, self.keys = Path(path), keys
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.records: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self.done = {tuple(record[key] for key in keys) for record in self.records}

    def add(self, key: tuple[Any, ...], make: Callable[[], Iterable[dict[str, Any]]]) -> None:
        """The records of one run, unless they are there."""
        if key in self.done:
            return
        found = list(make())
        self.records += found
        self.done.add(key)
        with self.path.open("a") as file:
            file.writelines(json.dumps(record) + "\n" for record in found)


def add_splits(parser: argparse.ArgumentParser, *, tasks: str, splits: int, save: str) -> None:
    """The options that say which splits of which tables are run."""
    parser.add_argument("--tasks", default=tasks)
    parser.add_argument("--splits", type=int, default=splits)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--save", default=save)


def list_splits(args: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Every table of one split, then of the next."""
    for number in range(args.first, args.first + args.splits):
        for task in args.tasks.split(","):
            yield task, number


def run_splits(
    args: argparse.Namespace, run: Callable[[str, int], Iterable[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """All records, of the file and of the splits that were not there."""
    runs = SavedRuns(args.save, ("task", "split"))
    for task, number in list_splits(args):
        runs.add((task, number), lambda task=task, number=number: run(task, number))
    return runs.records
