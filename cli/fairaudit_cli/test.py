"""`fairaudit test`: from a model file and a table to a verdict, reports and an exit status."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairaudit.errors import InputError
from fairaudit_cli.config import settle
from fairaudit_cli.deliver import check_outputs, deliver
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import plan_from, predictor_from, roles_from
from fairaudit_cli.options import TABLE, add_options
from fairaudit_cli.shell_text import command_line

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.data.roles import Roles
    from fairaudit.models import Predictor

__all__ = ["OPTIONS", "add_arguments", "run"]

#: An audit takes all of the table; other commands name what they take.
OPTIONS = tuple(TABLE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 no violation found or equivalence certified, 1 violation, 2 bad input, "
        "3 inconclusive. "
        "Settings may stand in [tool.fairaudit] of pyproject.toml or in fairaudit.toml."
    )
    add_options(parser, "test", OPTIONS)


def run(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from fairaudit.auditing.audit_result import AuditResult

    settle(args)
    check_outputs(args, AuditResult, args.resume)
    roles = roles_from(args)
    predictor = predictor_from(args)
    result = _audit(args, roles, predictor)
    result = replace(result, capsule=replace(result.capsule, verify=_verify_command(args)))
    deliver(result, args, strict=bool(args.strict))
    return ExitCode.of(result.verdict, strict=bool(args.strict))


def _audit(args: argparse.Namespace, roles: Roles, predictor: Predictor | None) -> AuditResult:
    """Counted where that was asked for or rows are very many; in shards; or in one piece."""
    from fairaudit.auditing.engines import ENGINES
    from fairaudit.auditing.engines.count_sources import is_database
    from fairaudit.auditing.engines.counted_audit import files_are_counted
    from fairaudit.auditing.engines.entry import files_are_dealt

    counts = args.table is not None or is_database(args.data)
    if args.engine is not None:
        counts = counts or not hasattr(ENGINES.get(args.engine), "map")
    in_shards = args.engine is not None or args.shards is not None or args.scheduler is not None
    if roles.count is not None and (in_shards or counts):
        raise InputError("--counts is audited alone. Leave --engine, --table and shards out.")
    if in_shards and not counts:
        return _in_shards(args, roles, predictor)
    plan = plan_from(args, roles)
    large = args.resume is None and files_are_counted(args.data, roles, plan, predictor)
    if counts or large:
        result = _counted(args, roles, predictor)
        if result is not None:
            return result
        if counts:
            raise InputError("Counting needs classes as outcome, and this one is continuous.")
        if files_are_dealt(args.data, roles, plan):
            return _in_shards(args, roles, predictor)
    return _in_one_piece(args, roles, predictor)


def _counted(
    args: argparse.Namespace, roles: Roles, predictor: Predictor | None
) -> AuditResult | None:
    from fairaudit.auditing.engines.counted_audit import audit_counted
    from fairaudit_cli.progress import ProgressBar

    if args.resume is not None:
        raise InputError("--resume does not go with counting: copies of counts take seconds.")
    with ProgressBar() as bar:
        return audit_counted(
            args.data,
            roles,
            plan_from(args, roles),
            engine=args.engine,
            table=args.table,
            predictor=predictor,
            command=command_line(args.argv),
            progress=bar,
        )


def _in_one_piece(
    args: argparse.Namespace, roles: Roles, predictor: Predictor | None
) -> AuditResult:
    from fairaudit.auditing.doors import audit_frame
    from fairaudit.data.reading.files import read_tables
    from fairaudit.data.roles import needed_columns
    from fairaudit_cli.progress import ProgressBar

    frame, sources = read_tables(
        args.data, lambda columns: needed_columns(columns, roles, predictor)
    )
    plan = plan_from(args, roles, list(map(str, frame.columns)))
    with ProgressBar() as bar:
        return audit_frame(
            frame,
            roles,
            plan,
            predictor=predictor,
            data=sources,
            progress=bar,
            command=command_line(args.argv),
            resume=args.resume,
        )


def _in_shards(args: argparse.Namespace, roles: Roles, predictor: Predictor | None) -> AuditResult:
    from fairaudit.auditing.engines.entry import audit_files
    from fairaudit_cli.progress import ProgressBar

    if args.resume is not None:
        raise InputError("--resume does not go with shards. Leave it out.")
    plan = plan_from(args, roles)
    engine = args.engine or ("local" if args.scheduler is None else "dask")
    with ProgressBar() as bar:
        return audit_files(
            args.data,
            roles,
            plan,
            engine=engine,
            scheduler=args.scheduler,
            shards=args.shards,
            predictor=predictor,
            trust=tuple(args.trust or ()),
            command=command_line(args.argv),
            progress=bar,
        )


def _verify_command(args: argparse.Namespace) -> str | None:
    """Of the record that is written with the other reports."""
    from fairaudit.results import format_of

    record = next((path for path in args.report or () if format_of(path) == "json"), None)
    if record is None:
        return None
    words = ["verify", record]
    if args.model is not None:
        words += ["--model", args.model]
        words += [f"--trust={name}" for name in args.trust or ()]
    if args.sandbox is False:
        words.append("--no-sandbox")
    if args.isolate is not None:
        words.append(f"--isolate={args.isolate}" if args.isolate else "--isolate")
    if args.table is not None:
        words += ["--table", args.table]
    return command_line([*words, "--data", *args.data])
