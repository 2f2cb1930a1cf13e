"""`fairaudit metrics`: how large the violation is, by every measure that fits the table."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from fairaudit_cli.exit_codes import ExitCode
from fairaudit_reports.text import Line, Measurements

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.columns import Column
    from fairaudit.metrics._rates import GroupRates
    from fairaudit.metrics.result import Measure
    from fairaudit.table import AuditTable

__all__ = ["CAUTION", "add_arguments", "as_text", "measure", "read_table", "run"]

DEFAULT_THRESHOLD = 0.5
CAUTION = (
    "The measures are sizes, not a verdict: sampling alone moves each of them away from its "
    "value under equalized odds (0, and 1 for the ratio)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", required=True, metavar="FILE", help="table as CSV with a header")
    parser.add_argument(
        "--predictions",
        required=True,
        metavar="COLUMN[,COLUMN…]",
        help="labels, scores, or one probability column per class",
    )
    parser.add_argument("--outcome", required=True, metavar="COLUMN", help="the true outcome")
    parser.add_argument(
        "--sensitive",
        required=True,
        action="append",
        metavar="COLUMN[,COLUMN…]",
        help="sensitive attributes, repeatable; a kind may follow the name, as in age:continuous",
    )
    parser.add_argument(
        "--threshold",
        type=_finite,
        metavar="NUMBER",
        help="scores at or above it count as the larger class (default: 0.5 for scores in [0, 1])",
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: argparse.Namespace) -> int:
    table = read_table(args.data, args.predictions, args.outcome, args.sensitive)
    result = measure(table, threshold=args.threshold)
    print(_as_json(table, result) if args.json else as_text(table, result))
    return ExitCode.OK


def _finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a finite number, got {text!r}")
    return value


def read_table(path: str, predictions: str, outcome: str, sensitive: Sequence[str]) -> AuditTable:
    """The audited columns of a CSV file; `sensitive` holds names, with commas or one by one."""
    from fairaudit.columns import split_kinds
    from fairaudit.errors import InputError
    from fairaudit.table import AuditTable

    roles = {
        "--predictions": _names(predictions),
        "--outcome": [outcome.strip()],
        "--sensitive": _names(",".join(sensitive)),
    }
    taken: dict[str, str] = {}
    for option, names in roles.items():
        if not names:
            raise InputError(f"{option} names no column. Pass at least one.")
        for name in (split_kinds(spec)[0] for spec in names):
            if taken.setdefault(name, option) != option:
                raise InputError(
                    f"Column {name!r} is given as {taken[name]} and as {option}. "
                    "Give it one of the two roles."
                )
    return AuditTable.from_frame(
        _read_csv(path),
        predictions=roles["--predictions"],
        outcome=roles["--outcome"][0],
        sensitive=roles["--sensitive"],
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _read_csv(path: str) -> pd.DataFrame:
    import pandas as pd

    from fairaudit.errors import InputError

    try:
        # pandas would rename a second column of the same name in silence
        header = pd.read_csv(path, header=None, nrows=1, dtype=str, encoding="utf-8-sig")
        names = header.iloc[0].tolist()
        frame = pd.read_csv(path, low_memory=False, encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"There is no file {path!r}. Check the path given as --data.") from None
    except OSError as error:
        raise InputError(f"The file {path!r} cannot be read: {error.strerror}.") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"The file {path!r} is empty. Pass a CSV file with a header.") from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise InputError(f"The file {path!r} is not a CSV table in UTF-8: {why}.") from None
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"Column {name!r} occurs twice in {path!r}. Rename or drop one.")
    if frame.empty:
        raise InputError(f"The file {path!r} has a header and no rows. Pass at least two rows.")
    return frame


def measure(table: AuditTable, *, threshold: float | None = None) -> Measurements:
    """Every measure on a table; those that do not fit it say why.

    Parameters
    ----------
    table : AuditTable
        With an outcome.
    threshold : float, optional
        Turns scores into labels. Default: 0.5 if all scores lie in [0, 1].
    """
    import fairaudit as fa

    columns, outcome = table.prediction.columns, table.require_outcome()
    table.require_varying_prediction()
    asked = [table.attributes]
    if len(table.attributes) > 1:
        asked += [(column,) for column in table.attributes]
    lines = [_line("KPC", fa.metrics.kpc, columns, chosen, outcome) for chosen in asked]
    lines.append(_line("CODEC", fa.metrics.codec, columns, table.attributes, outcome))
    if all(line.value is None for line in lines):
        raise fa.InputError(lines[0].note)
    groups = [column for column in table.attributes if column.kind.is_categorical]
    notes = _about_groups(table, groups)
    if not groups:
        return Measurements(tuple(lines), None, notes)
    if not outcome.kind.is_categorical and threshold is None:
        return _with_errors(table, groups, lines, notes)
    return _with_rates(table, groups, threshold, lines, notes)


def _line(
    name: str,
    function: Callable[..., Measure],
    columns: Sequence[Column],
    attributes: Sequence[Column],
    outcome: Column,
) -> Line:
    """A measure, or why it does not fit."""
    from fairaudit.errors import InputError

    names = tuple(column.name for column in attributes)
    try:
        return Line(name, float(function(columns, attributes, outcome)), names)
    except InputError as reason:
        return Line(name, None, names, str(reason))


def _about_groups(table: AuditTable, groups: Sequence[Column]) -> tuple[str, ...]:
    left = [column for column in table.attributes if column not in groups]
    if not left:
        return ()
    kinds = ", ".join(f"{column.name} ({column.kind})" for column in left)
    if not groups:
        return (f"No attribute is categorical, so there are no groups to compare: {kinds}.",)
    names = ", ".join(column.name for column in groups)
    return (f"Measures of groups need categories and use {names} only, without {kinds}.",)


def _with_errors(
    table: AuditTable, groups: list[Column], lines: list[Line], notes: tuple[str, ...]
) -> Measurements:
    """Add what is measured on the errors of a regression."""
    import fairaudit as fa

    try:
        errors = fa.metrics.group_errors(table.prediction.columns, groups, table.outcome)
    except fa.InputError as reason:
        return Measurements(tuple(lines), None, (*notes, f"No errors by group: {reason}"))
    names = tuple(column.name for column in groups)
    lines.append(Line("largest difference of mean errors", errors.value, names))
    return Measurements(tuple(lines), errors, notes)


def _with_rates(
    table: AuditTable,
    groups: list[Column],
    threshold: float | None,
    lines: list[Line],
    notes: tuple[str, ...],
) -> Measurements:
    """Add what is measured on labels: DEO, equalized odds, and the rates of the cells."""
    import fairaudit as fa

    columns, outcome = table.prediction.columns, table.require_outcome()
    cut = _default_threshold(table) if threshold is None else threshold
    names = tuple(column.name for column in groups)
    label_note = f"labels: scores at or above {cut:g}" if cut is not None else ""
    try:
        rates = fa.metrics.group_rates(columns, groups, outcome, threshold=cut)
    except fa.InputError as reason:
        if threshold is not None:  # the caller asked for it
            raise
        why = (
            "the scores do not lie in [0, 1]. Pass --threshold to turn them into labels."
            if cut is None and table.prediction.form == "scores"
            else reason
        )
        note = f"No DEO, equalized odds or rates by group: {why}"
        return Measurements(tuple(lines), None, (*notes, note))
    for name, function in (
        ("DEO", fa.metrics.deo),
        ("equalized-odds difference", fa.metrics.equalized_odds_difference),
        ("equalized-odds ratio", fa.metrics.equalized_odds_ratio),
    ):
        value = float(function(columns, groups, outcome, threshold=cut))
        lines.append(Line(name, value, names, label_note))
    return Measurements(tuple(lines), rates, (*notes, *_about_rates(rates)))


def _default_threshold(table: AuditTable) -> float | None:
    """0.5 for scores that can be probabilities; None for labels and for other scores."""
    if table.prediction.form == "labels":
        return None
    numbers = [column.numeric for column in table.prediction.columns]
    inside = all(x is not None and x.min() >= 0 and x.max() <= 1 for x in numbers)
    return DEFAULT_THRESHOLD if inside else None


def _about_rates(rates: GroupRates) -> tuple[str, ...]:
    missing = sum(not (cell.tpr.defined and cell.fpr.defined) for cell in rates.cells)
    if missing == 0:
        return ()
    return (
        f"{missing} of {len(rates.cells)} groups have no rows of one outcome class or of both; "
        "a rate without rows is undefined and no part of the measures.",
    )


def as_text(table: AuditTable, result: Measurements) -> str:
    from fairaudit_reports.text import cells_table, measures_rows
    from fairaudit_reports.text import table as aligned

    parts = [table.describe(), aligned(measures_rows(result))]
    if result.cells is not None:
        parts.append(cells_table(result.cells))
    parts.append("\n".join([*(f"note: {text}" for text in result.notes), f"note: {CAUTION}"]))
    return "\n\n".join(parts)


def _as_json(table: AuditTable, result: Measurements) -> str:
    from fairaudit_reports.text import json_text

    outcome = table.require_outcome()
    facts = {
        "rows": len(table),
        "prediction": table.prediction.describe(),
        "outcome": {"name": outcome.name, "kind": str(outcome.kind)},
        "sensitive": [{"name": c.name, "kind": str(c.kind)} for c in table.attributes],
        "measures": [asdict(line) for line in result.lines],
        "cells": [] if result.cells is None else result.cells.to_frame().to_dict("records"),
        "notes": [*result.notes, CAUTION],
    }
    return json_text(facts)
