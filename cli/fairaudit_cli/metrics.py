"""`fairaudit metrics`: how large the violation is, by every measure that fits the table."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit.errors import InputError
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import predictor_from, roles_from
from fairaudit_cli.options import MODEL, ROLES, add_options
from fairaudit_cli.shell_text import print_json

if TYPE_CHECKING:
    from fairaudit.data.table import AuditTable
    from fairaudit.evidence.measurements import Measurements

__all__ = ["OPTIONS", "add_arguments", "run"]

OPTIONS = (*MODEL, *ROLES, "suppress", "json")
_WEIGHTED = "Weights enter rates, errors and gaps; KPC and CODEC count every row once."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "metrics", OPTIONS)


def run(args: argparse.Namespace) -> int:
    from fairaudit.data.preparation import prepare
    from fairaudit.data.reading.files import read_tables
    from fairaudit.evidence.disclosure import suppressed_measurements
    from fairaudit.evidence.measurements import measure

    roles = roles_from(args)
    frame, _ = read_tables(args.data)
    prepared = prepare(frame, roles, predictor_from(args))
    table = prepared.table
    result = measure(table, threshold=args.threshold)
    weighted = () if table.weights is None else (_WEIGHTED,)
    result = replace(result, notes=(*prepared.notes, *weighted, *result.notes))
    if all(measure.value is None for measure in result.values):
        raise InputError(result.values[0].note)
    result = suppressed_measurements(result, table, args.suppress)
    if args.json:
        print_json(_as_json(table, result))
    else:
        print(_as_text(table, result))
    return ExitCode.OK


def _as_text(table: AuditTable, result: Measurements) -> str:
    from fairaudit.evidence.measurements import caution_about
    from fairaudit_reports.text.metrics_text import groups_table, measures_table

    about = "\n".join(map(quiet, table.describe().splitlines()))
    parts = [about, measures_table(result.values)]
    if result.cells is not None:
        parts.append(groups_table(result.cells))
    notes = [*result.notes, caution_about(result.values)]
    parts.append("\n".join(quiet(f"note: {text}") for text in notes))
    return "\n\n".join(parts)


def _as_json(table: AuditTable, result: Measurements) -> str:
    from fairaudit.evidence.measurements import caution_about
    from fairaudit.results import json_text

    outcome = table.require_outcome()
    facts = {
        "rows": len(table),
        "prediction": table.prediction.describe(),
        "outcome": {"name": outcome.name, "kind": str(outcome.kind)},
        "sensitive": [{"name": c.name, "kind": str(c.kind)} for c in table.attributes],
        "measures": [asdict(value) for value in result.values],
        "cells": None if result.cells is None else asdict(result.cells),
        "notes": [*result.notes, caution_about(result.values)],
    }
    return json_text(facts)
