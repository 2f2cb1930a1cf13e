"""`fairaudit monitor`: adds a batch to the evidence and says whether it is enough."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.errors import InputError
from fairaudit_cli.config import with_config
from fairaudit_cli.deliver import check_outputs, deliver
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.options import add_model_arguments, predictor_from, roles_from
from fairaudit_cli.remedy import add_level, add_some, filled

if TYPE_CHECKING:
    from fairaudit.monitoring.monitoring_result import MonitorResult

__all__ = ["add_arguments", "run"]

_TABLE = (
    "data",
    "sensitive",
    "outcome",
    "predictions",
    "id",
    "where",
    "missing",
    "on",
    "threshold",
    "positive",
    "classes",
)
_SETTINGS = ("model", *_TABLE[1:], "alpha", "statistic", "density", "permutations", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 no alarm so far, 1 alarm (from then on), 2 bad input or a batch that was "
        "seen, 3 this batch could not be used. Without --data the state is shown. Columns and the "
        "level may stand in [tool.fairaudit]; the data may not."
    )
    parser.add_argument(
        "--state",
        metavar="FILE",
        required=True,
        help="the evidence so far; begun with the first batch",
    )
    add_model_arguments(parser)
    add_some(parser, _TABLE)
    parser.add_argument("--label", metavar="TEXT", help="name of the batch (default: of its file)")
    parser.add_argument(
        "--statistic", metavar="NAME", help="kpc (default), codec, features, correlation, deo"
    )
    parser.add_argument(
        "--density",
        metavar="NAME",
        help="law of the outcome given the attributes (default auto: exact for classes)",
    )
    add_level(parser, jobs=False)
    parser.add_argument(
        "--report",
        action="append",
        metavar="FILE",
        help="write a report: .html, .md, .json or .txt; repeatable",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    from fairaudit.monitoring.monitoring_result import MonitorResult

    check_outputs(args, MonitorResult)
    result = _shown(args) if not args.data else _added(args)
    deliver(result, args)
    return ExitCode.of(result.verdict)


def _shown(args: argparse.Namespace) -> MonitorResult:
    from fairaudit.monitoring.fairness_monitor import result_of
    from fairaudit.monitoring.state import StateFile

    file = StateFile(args.state)
    if file.settings is None:
        raise InputError(f"There is no state {args.state!r} yet. Pass --data FILE to begin it.")
    return result_of(file)


def _added(args: argparse.Namespace) -> MonitorResult:
    from fairaudit.data.reading.files import read_tables
    from fairaudit.data.reading.write import check_writable
    from fairaudit.monitoring.fairness_monitor import Monitor
    from fairaudit.testing.permutations import Permutations

    filled(
        with_config(args, _SETTINGS), needs_all="fairaudit monitor", statistic="kpc", density="auto"
    )
    check_writable(args.state)
    roles = roles_from(argparse.Namespace(**{**vars(args), "weights": None}))
    monitor = Monitor.with_roles(
        args.state,
        roles,
        predictor_from(args),
        alpha=args.alpha,
        statistic=args.statistic,
        density=args.density,
        permutations=Permutations(n=args.permutations, seed=args.seed),
    )
    frame, _ = read_tables(args.data)
    label = args.label or ", ".join(Path(name).name for name in args.data)
    return monitor.add(frame, label=label)
