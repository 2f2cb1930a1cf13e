"""`fairaudit plan`: rows that an audit needs, from a pilot table."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fairaudit.errors import InputError
from fairaudit_cli.config import settle
from fairaudit_cli.cover_options import COVER
from fairaudit_cli.deliver import check_outputs, deliver
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import predictor_from, roles_from
from fairaudit_cli.option_values import COUNT, NUMBER, SIZES, TEXTS, Option, option
from fairaudit_cli.options import MODEL, ROLES, add_options

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.data.table import AuditTable
    from fairaudit.evidence.power.power_result import SamplePlan
    from fairaudit_cli.progress import ProgressBar

__all__ = ["OPTIONS", "add_arguments", "run"]

OPTIONS: tuple[str | Option, ...] = (
    *MODEL,
    *ROLES,
    option(
        "effect",
        SIZES,
        "EFFECT=SIZE",
        "find a tpr_gap, fpr_gap, score_shift (in standard deviations), kpc or prediction_gap (in "
        "units of the outcome) of this size",
    ),
    option(
        "width",
        SIZES,
        "GAP=WIDTH",
        "know the tpr_gap, fpr_gap or prediction_gap of every group to ± this width",
    ),
    "certify",
    option("power", NUMBER, "SHARE", "default: 0.8", default=0.8),
    "alpha",
    option(
        "group",
        TEXTS,
        "NAME=LEVEL",
        "only this group against all others, as in sex=f; repeatable (default: each group)",
    ),
    "statistic",
    option("max-rows", COUNT, "N", "where the search ends (100,000)", default=100_000),
    "seed",
    "report",
    *COVER,
    "suppress",
    "json",
    "config",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 done, 2 bad input. Data, columns and the level may stand in "
        "[tool.fairaudit]."
    )
    add_options(parser, "plan", OPTIONS)


def run(args: argparse.Namespace) -> int:
    from fairaudit.data.preparation import prepare
    from fairaudit.data.reading.files import read_tables
    from fairaudit.evidence.power.power_result import SamplePlan
    from fairaudit_cli.progress import ProgressBar

    settle(args)
    check_outputs(args, SamplePlan)
    if sum(goal is not None for goal in (args.effect, args.certify, args.width)) != 1:
        raise InputError(
            "Pass --effect tpr_gap=0.05 (or another effect), or --certify deo=0.05, or --width "
            "tpr_gap=0.05."
        )
    if args.effect is not None and len(args.effect) != 1:
        raise InputError("Plan for one effect at a time, as in --effect tpr_gap=0.05.")
    if args.width is not None and len(args.width) != 1:
        raise InputError("Plan for one width at a time, as in --width tpr_gap=0.05.")
    from fairaudit.evidence.power.power_result import FEWEST_PILOT_ROWS

    roles = roles_from(args)
    frame, args.sources = read_tables(args.data)
    table = prepare(frame, roles, predictor_from(args)).table
    if len(table) < FEWEST_PILOT_ROWS:
        raise InputError(
            f"A pilot of {len(table)} rows is too small to plan from; at least {FEWEST_PILOT_ROWS}."
        )
    with ProgressBar() as bar:
        plan = _plan_sample(table, args, bar)
    deliver(plan, args)
    return ExitCode.OK


def _announce_first(bar: ProgressBar) -> Progress:
    """The first thing that is heard, an estimate of the time, is printed wherever stderr goes."""
    heard = False

    def hear(what: str, done: int, total: int) -> None:
        nonlocal heard
        if heard:
            bar(what, done, total)
        else:
            print(what, file=sys.stderr)
        heard = True

    return hear


def _plan_sample(table: AuditTable, args: argparse.Namespace, bar: ProgressBar) -> SamplePlan:
    from fairaudit.evidence.power.interval_widths import plan_width
    from fairaudit.evidence.power.planning import plan_certificate, plan_rows

    if args.certify is not None:
        return plan_certificate(
            table,
            args.certify,
            power=args.power,
            alpha=args.alpha,
            threshold=args.threshold,
            most_rows=args.max_rows,
            seed=args.seed,
            progress=bar,
        )
    if args.width is not None:
        ((measure, width),) = args.width.items()
        return plan_width(
            table,
            measure,
            width,
            power=args.power,
            alpha=args.alpha,
            threshold=args.threshold,
            most_rows=args.max_rows,
            seed=args.seed,
            progress=bar,
        )
    ((effect, size),) = args.effect.items()
    return plan_rows(
        table,
        effect,
        size,
        power=args.power,
        alpha=args.alpha,
        statistic=args.statistic,
        threshold=args.threshold,
        groups=args.group or (),
        most_rows=args.max_rows,
        seed=args.seed,
        progress=_announce_first(bar),
    )
