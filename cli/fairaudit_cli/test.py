"""`fairaudit test`: from a model file and a table to a verdict, reports and an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit._words import quiet
from fairaudit.auditing.audit_result import SUPPRESS
from fairaudit.errors import InputError
from fairaudit_cli.config import with_config
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.options import (
    add_isolation,
    add_model_arguments,
    add_suppress,
    add_table_arguments,
    command_line,
    copies,
    count,
    finite,
    names_in,
    predictor_from,
    print_json,
    roles_from,
    size,
    sizes_in,
)

if TYPE_CHECKING:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.comparison.comparison_result import Comparison
    from fairaudit.data.roles import Roles
    from fairaudit.models import Predictor

__all__ = ["add_arguments", "deliver", "plan_from", "run", "tell_github"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 no violation found or equivalence certified, 1 violation, 2 bad input, "
        "3 inconclusive. "
        "Settings may stand in [tool.fairaudit] of pyproject.toml or in fairaudit.toml."
    )
    add_model_arguments(parser)
    add_isolation(parser)
    add_table_arguments(parser)
    parser.add_argument("--alpha", type=finite, metavar="LEVEL", help="default: 0.05")
    parser.add_argument(
        "--permutations",
        type=copies,
        metavar="N",
        help="conditional copies (default: 999); auto: each question stops when its p-value "
        "cannot become small",
    )
    parser.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="what copies and features may take, as in 2GB; sets batch sizes and no result",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="same seed, same numbers (0)")
    parser.add_argument(
        "--statistic",
        metavar="NAME",
        help="kpc (default), codec, deo, equalized_odds_difference, correlation, features, max",
    )
    parser.add_argument(
        "--density",
        metavar="NAME",
        help="law of the outcome given the attributes (default auto: exact for classes)",
    )
    parser.add_argument(
        "--adjust", choices=("holm", "fdr_bh"), help="among the questions behind the gate (holm)"
    )
    parser.add_argument(
        "--locate",
        action="store_true",
        default=None,
        help="after a rejection say where: which attribute, subgroup and range (slower)",
    )
    parser.add_argument(
        "--pairs",
        action="append",
        metavar="A+B|all",
        help="test pairs of attributes too, as in --pairs race+sex; repeatable",
    )
    parser.add_argument(
        "--tolerance",
        type=sizes_in,
        metavar="MEASURE=SIZE[,…]",
        help="a significant effect within these sizes is a note, as in kpc=0.01,deo=0.1",
    )
    parser.add_argument(
        "--certify",
        type=sizes_in,
        metavar="MEASURE=SIZE[,…]",
        help="show that deo, tpr_gap, fpr_gap, equalized_odds_difference or kpc is at most so "
        "large; otherwise inconclusive",
    )
    parser.add_argument(
        "--no-power",
        dest="power",
        action="store_false",
        default=None,
        help="do not compute the smallest violation that the audit could have found",
    )
    parser.add_argument(
        "--calibrate",
        action="store_true",
        default=None,
        help="run the test on placebos and planted violations of this table too; if it fails "
        "there, the audit is inconclusive",
    )
    parser.add_argument(
        "--report",
        action="append",
        metavar="FILE",
        help="write a report: .html, .md, .json, .xml (JUnit), .sarif, .svg (badge), .txt; "
        "repeatable",
    )
    add_suppress(parser)
    parser.add_argument(
        "--strict",
        action="store_true",
        default=None,
        help="inconclusive counts as a violation: exit status 1, a failure in JUnit",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--jobs", type=count, default=1, metavar="N", help="processes (1)")
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="keep finished copies in FILE; after an interruption the same command goes on there",
    )
    parser.add_argument(
        "--engine",
        choices=("local", "dask"),
        help="read Parquet in partitions and test in shards: here, or by Dask",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of a running Dask, as in tcp://host:8786 (default: --jobs workers on this machine)",
    )
    parser.add_argument(
        "--shards", type=count, metavar="N", help="test in N shards (default: by size)"
    )
    parser.add_argument("--config", metavar="FILE", help="settings, instead of the project's")


def run(args: argparse.Namespace) -> int:
    from fairaudit.auditing.doors import audit_frame
    from fairaudit.data.reading.files import read_tables
    from fairaudit.data.reading.write import check_writable
    from fairaudit.data.roles import needed_columns
    from fairaudit.results import format_of, known_format
    from fairaudit_cli.progress import ProgressBar

    with_config(args)
    for path in args.report or ():
        known_format(format_of(path))
        check_writable(path)
    if args.resume is not None:
        check_writable(args.resume)
    roles = roles_from(args)
    predictor = predictor_from(args)
    if args.engine is not None or args.shards is not None or args.scheduler is not None:
        result = _in_shards(args, roles, predictor)
        result = result.suppressed(SUPPRESS if args.suppress is None else args.suppress)
        return deliver(result, args)
    frame, sources = read_tables(
        args.data, lambda columns: needed_columns(columns, roles, predictor)
    )
    names = list(map(str, frame.columns))
    plan = plan_from(args, list(roles.sensitive), names)
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
    result = result.suppressed(SUPPRESS if args.suppress is None else args.suppress)
    return deliver(result, args)


def _in_shards(args: argparse.Namespace, roles: Roles, predictor: Predictor | None) -> AuditResult:
    from fairaudit.auditing.engines.entry import audit_files
    from fairaudit_cli.progress import ProgressBar

    for option in ("isolate", "resume"):
        if getattr(args, option) is not None:
            raise InputError(f"--{option} does not go with shards. Leave it out.")
    plan = plan_from(args, list(roles.sensitive), [])
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
        from fairaudit_reports.text.terminal import show_audit

        show_audit(result)
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
    from fairaudit_reports.machine.junit import render

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


def plan_from(args: argparse.Namespace, sensitive: list[str], columns: list[str]) -> Plan:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.data.columns import split_kinds
    from fairaudit.testing.permutations import Permutations

    drawn: dict[str, Any] = {"seed": args.seed, "n_jobs": args.jobs, "memory": args.memory}
    drawn = {name: value for name, value in drawn.items() if value is not None}
    if args.permutations == "auto":
        permutations = Permutations.auto(0.05 if args.alpha is None else args.alpha, **drawn)
    else:
        permutations = Permutations(n=args.permutations or 999, **drawn)
    given: dict[str, Any] = {
        "alpha": args.alpha,
        "density": args.density,
        "adjust": args.adjust,
        "tolerance": args.tolerance,
        "certify": args.certify,
        "threshold": args.threshold,
    }
    if args.statistic is not None:
        chosen = names_in(args.statistic)
        given["statistic"] = chosen[0] if len(chosen) == 1 else list(chosen)
    names = [name if name in columns else split_kinds(name)[0] for name in sensitive]
    return Plan(
        locate=bool(args.locate),
        permutations=permutations,
        pairs=_pairs(args.pairs or (), names),
        power=args.power is not False,
        calibrate=bool(args.calibrate),
        **{name: value for name, value in given.items() if value is not None},
    )


def _pairs(texts: Any, names: list[str]) -> tuple[tuple[str, str], ...]:
    from itertools import combinations

    pairs: list[tuple[str, str]] = []
    for text in names_in(texts):
        if text == "all":
            pairs += combinations(names, 2)
            continue
        a, plus, b = text.partition("+")
        if not plus:
            raise InputError(f"--pairs {text!r} is no pair. Write two names, as in race+sex.")
        pairs.append((a.strip(), b.strip()))
    return tuple(dict.fromkeys(pairs))
