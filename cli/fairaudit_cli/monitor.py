"""`fairaudit monitor`: adds a batch to the evidence and says whether it is enough."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.errors import InputError
from fairaudit_cli.config import settle
from fairaudit_cli.deliver import check_outputs, deliver
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import permutations_from, predictor_from, roles_from
from fairaudit_cli.option_values import TEXT, Option, option
from fairaudit_cli.options import MODEL, ROLES, add_options

if TYPE_CHECKING:
    from fairaudit.monitoring.monitoring_result import MonitorResult

__all__ = ["OPTIONS", "add_arguments", "run"]

OPTIONS: tuple[str | Option, ...] = (
    option("state", TEXT, "FILE", "the evidence so far; begun with the first batch", required=True),
    *MODEL,
    *(name for name in ROLES if name != "weights"),
    option("label", TEXT, "TEXT", "name of the batch (default: of its file)"),
    "statistic",
    "density",
    "alpha",
    "permutations",
    "seed",
    "config",
    "report",
    "json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 no alarm so far, 1 alarm (from then on), 2 bad input or a batch that was "
        "seen, 3 this batch could not be used. Without --data the state is shown. Columns and the "
        "level may stand in [tool.fairaudit]; the data may not."
    )
    add_options(parser, "monitor", OPTIONS)


def run(args: argparse.Namespace) -> int:
    from fairaudit.monitoring.monitoring_result import MonitorResult

    check_outputs(args, MonitorResult)
    result = _show_state(args) if not args.data else _add_batch(args)
    deliver(result, args)
    return ExitCode.of(result.verdict)


def _show_state(args: argparse.Namespace) -> MonitorResult:
    from fairaudit.monitoring.fairness_monitor import result_of
    from fairaudit.monitoring.state import StateFile

    file = StateFile(args.state)
    if file.settings is None:
        raise InputError(f"There is no state {args.state!r} yet. Pass --data FILE to begin it.")
    return result_of(file)


def _add_batch(args: argparse.Namespace) -> MonitorResult:
    from fairaudit.data.reading.files import read_tables
    from fairaudit.data.reading.write import check_writable
    from fairaudit.monitoring.fairness_monitor import Monitor

    settle(args, needs_all=True)
    check_writable(args.state)
    roles = roles_from(args)
    monitor = Monitor.with_roles(
        args.state,
        roles,
        predictor_from(args),
        alpha=args.alpha,
        statistic=args.statistic,
        density=args.density,
        permutations=permutations_from(args),
    )
    frame, _ = read_tables(args.data)
    label = args.label or ", ".join(Path(name).name for name in args.data)
    return monitor.add(frame, label=label)
