"""`fairaudit test`: from a model file and a table to a verdict, reports and an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit.errors import InputError
from fairaudit_cli.config import settle
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import plan_from, predictor_from, roles_from
from fairaudit_cli.options import TABLE, add_options
from fairaudit_cli.shell_text import command_line, print_json

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.comparison.comparison_result import Comparison
    from fairaudit.data.roles import Roles
    from fairaudit.models import Predictor

__all__ = ["OPTIONS", "add_arguments", "deliver", "run", "tell_github"]

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
    from fairaudit.auditing.doors import audit_frame
    from fairaudit.data.reading.files import read_tables
    from fairaudit.data.reading.write import check_writable
    from fairaudit.data.roles import needed_columns
    from fairaudit.results import format_of, known_format
    from fairaudit_cli.progress import ProgressBar

    settle(args)
    for path in args.report or ():
        known_format(format_of(path))
        check_writable(path)
    if args.resume is not None:
        check_writable(args.resume)
    roles = roles_from(args)
    predictor = predictor_from(args)
    if args.engine is not None or args.shards is not None or args.scheduler is not None:
        result = _in_shards(args, roles, predictor)
        result = result.suppressed(args.suppress)
        return deliver(result, args)
    frame, sources = read_tables(
        args.data, lambda columns: needed_columns(columns, roles, predictor)
    )
    plan = plan_from(args, roles, list(map(str, frame.columns)))
    with ProgressBar() as bar:
        result = audit_frame(
            frame,
            roles,
            plan,
            predictor=predictor,
            data=sources,
            progress=bar,
            command=command_line(args.argv),
            resume=args.resume,
        )
    result = result.suppressed(args.suppress)
    return deliver(result, args)


def _in_shards(args: argparse.Namespace, roles: Roles, predictor: Predictor | None) -> AuditResult:
    from fairaudit.auditing.engines.entry import audit_files
    from fairaudit_cli.progress import ProgressBar

    for option in ("isolate", "resume"):
        if getattr(args, option) is not None:
            raise InputError(f"--{option} does not go with shards. Leave it out.")
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


def deliver(result: AuditResult, args: argparse.Namespace) -> int:
    """Print, write the reports, and give the exit status."""
    from dataclasses import replace

    from fairaudit.data.reading.write import write_text
    from fairaudit.results import format_of

    result = replace(result, capsule=replace(result.capsule, verify=_verify_command(args)))
    strict = bool(args.strict)
    for path in args.report or ():
        form = format_of(path)
        write_text(path, _junit(result, strict) if form == "xml" else result.render(form))
    if args.json:
        print_json(result.render("json"))
    else:
        from fairaudit_reports.terminal import show

        show(result)
        for path in args.report or ():
            print(quiet(f"report: {path}"))
        tell_github(result)
    return ExitCode.of(result.verdict, strict=strict)


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
    if args.isolate is not None:
        words.append(f"--isolate={args.isolate}" if args.isolate else "--isolate")
    return command_line([*words, "--data", *args.data])


def _junit(result: AuditResult, strict: bool) -> str:
    from fairaudit_reports.junit import render

    return render(result, strict=strict)


def tell_github(result: AuditResult | Comparison) -> None:
    """Annotations, and the report as summary of the step, where GitHub runs the command."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    print(result.render("github"), end="")
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(result.render("md"))
        except OSError as error:  # the verdict stands without it
            print(f"fairaudit: no summary: {summary}: {error.strerror}", file=sys.stderr)
