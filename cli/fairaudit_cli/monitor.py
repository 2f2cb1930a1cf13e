"""`fairaudit monitor`: adds a batch to the evidence and says whether it is enough."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.errors import InputError
from fairaudit_cli.config import settle
from fairaudit_cli.cover_options import COVER
from fairaudit_cli.deliver import check_outputs, deliver
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import permutations_from, predictor_from, roles_from
from fairaudit_cli.option_values import TEXT, Option, option
from fairaudit_cli.options import MODEL, ROLES, add_options
from fairaudit_cli.vouching import records_may_lie

if TYPE_CHECKING:
    from fairaudit.monitoring.monitoring_result import MonitorResult

__all__ = ["OPTIONS", "add_arguments", "run"]

OPTIONS: tuple[str | Option, ...] = (
    option("state", TEXT, "FILE", "the evidence so far; begun with the first batch", required=True),
    option(
        "anchor",
        TEXT,
        "FILE|HEAD",
        "check that the state contains this head, or all heads of this file, to which the new one "
        "is added; keep it elsewhere than the state",
    ),
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
    *COVER,
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
    said = _check_anchor(args)
    with records_may_lie(args.state):  # what was rehashed may be anything, before a batch too
        result = _read_state(args)
    if args.data:
        result = _add_batch(args)
    if result is None:
        raise InputError(f"There is no state {args.state!r} yet. Pass --data FILE to begin it.")
    if said is not None:
        result = result.with_note(said)
    _keep_head(args)
    last_lines = [] if args.anchor is None else [f"head: {result.head}"]
    with records_may_lie(args.state):
        deliver(result, args, last_lines=last_lines)
    return ExitCode.of(result.verdict)


def _check_anchor(args: argparse.Namespace) -> str | None:
    """What an anchor says of the state, before anything is added to it."""
    if args.anchor is None:
        return None
    from fairaudit.data.reading.write import check_writable
    from fairaudit.monitoring.anchor import Anchor
    from fairaudit.monitoring.state import StateFile

    anchor = Anchor(args.anchor)
    if anchor.path is not None:
        if anchor.path.resolve() == Path(args.state).resolve():
            raise InputError("--anchor is the state itself. Keep the heads in another file.")
        check_writable(anchor.path)
    return anchor.check(StateFile(args.state))


def _keep_head(args: argparse.Namespace) -> None:
    if args.anchor is None:
        return
    from fairaudit.monitoring.anchor import Anchor
    from fairaudit.monitoring.state import StateFile

    Anchor(args.anchor).keep(StateFile(args.state))


def _read_state(args: argparse.Namespace) -> MonitorResult | None:
    from fairaudit.monitoring.fairness_monitor import result_of
    from fairaudit.monitoring.state import StateFile

    file = StateFile(args.state)
    return None if file.settings is None else result_of(file)


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
    frame, args.sources = read_tables(args.data)
    label = args.label or ", ".join(Path(name).name for name in args.data)
    return monitor.add(frame, label=label)
