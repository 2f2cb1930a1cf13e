"""`fairaudit plan`: rows that an audit needs, from a pilot table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit.auditing.audit_result import SUPPRESS
from fairaudit.errors import InputError
from fairaudit_cli.config import with_config
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.options import (
    add_model_arguments,
    add_suppress,
    add_table_arguments,
    count,
    finite,
    names_in,
    predictor_from,
    print_json,
    roles_from,
    sizes_in,
)

if TYPE_CHECKING:
    from fairaudit.data.table import AuditTable
    from fairaudit.evidence.power.power_result import SamplePlan
    from fairaudit_cli.progress import ProgressBar

__all__ = ["add_arguments", "run"]

_SETTINGS = (
    "model",
    "data",
    "sensitive",
    "outcome",
    "predictions",
    "weights",
    "id",
    "where",
    "missing",
    "on",
    "threshold",
    "positive",
    "classes",
    "alpha",
    "statistic",
    "seed",
    "suppress",
)
_FORMATS = ("html", "json", "md", "png", "svg", "txt")
FEWEST_ROWS = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 done, 2 bad input. Data, columns and the level may stand in "
        "[tool.fairaudit]."
    )
    add_model_arguments(parser)
    add_table_arguments(parser)
    parser.add_argument(
        "--effect",
        type=sizes_in,
        metavar="EFFECT=SIZE",
        help="find a tpr_gap, fpr_gap, score_shift (in standard deviations) or kpc of this size",
    )
    parser.add_argument(
        "--certify",
        type=sizes_in,
        metavar="MEASURE=SIZE[,…]",
        help="instead: certify a model that satisfies equalized odds, as fairaudit test --certify",
    )
    parser.add_argument("--power", type=finite, default=0.8, metavar="SHARE", help="default: 0.8")
    parser.add_argument("--alpha", type=finite, metavar="LEVEL", help="default: 0.05")
    parser.add_argument(
        "--group",
        action="append",
        metavar="NAME=LEVEL",
        help="only this group against all others, as in sex=f; repeatable (default: each group)",
    )
    parser.add_argument("--statistic", metavar="NAME", help="of the test (default: kpc)")
    parser.add_argument(
        "--max-rows",
        type=count,
        default=100_000,
        metavar="N",
        help="where the search ends (100,000)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="same seed, same numbers (0)")
    parser.add_argument(
        "--report",
        action="append",
        metavar="FILE",
        help="write the plan: .html, .md, .json, .txt, or its curve: .svg, .png; repeatable",
    )
    add_suppress(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--config", metavar="FILE", help="settings, instead of the project's")


def run(args: argparse.Namespace) -> int:
    from fairaudit.data.reading.files import read_tables
    from fairaudit.data.reading.write import check_writable
    from fairaudit.data.roles import prepare
    from fairaudit_cli.progress import ProgressBar
    from fairaudit_reports.by_format import PLAN, render_as

    with_config(args, _SETTINGS)
    for path in args.report or ():
        if _form(path) not in _FORMATS:
            raise InputError(f"{path!r} has no known format. Use one of: {', '.join(_FORMATS)}.")
        check_writable(path)
    if (args.effect is None) == (args.certify is None):
        raise InputError("Pass --effect tpr_gap=0.05 (or another effect), or --certify deo=0.05.")
    if args.effect is not None and len(args.effect) != 1:
        raise InputError("Plan for one effect at a time, as in --effect tpr_gap=0.05.")
    roles = roles_from(args)
    frame, _ = read_tables(args.data)
    table = prepare(frame, roles, predictor_from(args)).table
    if len(table) < FEWEST_ROWS:
        raise InputError(
            f"A pilot of {len(table)} rows is too small to plan from; at least {FEWEST_ROWS}."
        )
    with ProgressBar() as bar:
        plan = _planned(table, args, bar)
    plan = plan.suppressed(SUPPRESS if args.suppress is None else args.suppress)
    for path in args.report or ():
        _write(plan, path)
    if args.json:
        print_json(render_as("json", PLAN, plan))
    else:
        print(render_as("txt", PLAN, plan), end="")
        for path in args.report or ():
            print(quiet(f"report: {path}"))
    return ExitCode.OK


def _planned(table: AuditTable, args: argparse.Namespace, bar: ProgressBar) -> SamplePlan:
    from fairaudit.evidence.power.planning import plan_certificate, plan_rows

    alpha = 0.05 if args.alpha is None else args.alpha
    seed = 0 if args.seed is None else args.seed
    if args.certify is not None:
        return plan_certificate(
            table,
            args.certify,
            power=args.power,
            alpha=alpha,
            threshold=args.threshold,
            most_rows=args.max_rows,
            seed=seed,
            progress=bar,
        )
    ((effect, size),) = args.effect.items()
    statistic = "kpc" if args.statistic is None else list(names_in(args.statistic))
    return plan_rows(
        table,
        effect,
        size,
        power=args.power,
        alpha=alpha,
        statistic=statistic,
        threshold=args.threshold,
        groups=args.group or (),
        most_rows=args.max_rows,
        seed=seed,
        progress=bar,
    )


def _form(path: str) -> str:
    return Path(path).suffix.lower().lstrip(".")


def _write(plan: SamplePlan, path: str) -> None:
    from fairaudit.data.reading.write import write_bytes, write_text
    from fairaudit_reports.by_format import PLAN, render_as
    from fairaudit_reports.machine.plan_picture import render_png

    if _form(path) == "png":
        write_bytes(Path(path), render_png(plan))
    else:
        write_text(path, render_as(_form(path), PLAN, plan))
