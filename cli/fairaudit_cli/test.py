"""`fairaudit test`: from a model file and a table to a verdict, reports and an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError
from fairaudit.result import SUPPRESS
from fairaudit_cli.config import with_config
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.options import (
    add_model_arguments,
    add_table_arguments,
    count,
    finite,
    names_in,
    predictor_from,
    print_json,
    roles_from,
)

if TYPE_CHECKING:
    from fairaudit.auditing import Plan
    from fairaudit.result import AuditResult

__all__ = ["add_arguments", "deliver", "plan_from", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 no violation found, 1 violation, 2 bad input, 3 inconclusive. "
        "Settings may stand in [tool.fairaudit] of pyproject.toml or in fairaudit.toml."
    )
    add_model_arguments(parser)
    parser.add_argument(
        "--isolate",
        nargs="?",
        const="",
        metavar="LIMITS",
        help="load and ask the model in a process without network, with limits (8GB,300s)",
    )
    add_table_arguments(parser)
    parser.add_argument("--alpha", type=finite, metavar="LEVEL", help="default: 0.05")
    parser.add_argument(
        "--permutations", type=count, metavar="N", help="conditional copies (default: 999)"
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
        type=_tolerance,
        metavar="MEASURE=SIZE[,…]",
        help="a significant effect within these sizes is a note, as in kpc=0.01,deo=0.1",
    )
    parser.add_argument(
        "--report",
        action="append",
        metavar="FILE",
        help="write a report: .html, .md, .json, .xml (JUnit), .sarif, .txt; repeatable",
    )
    parser.add_argument(
        "--suppress",
        type=int,
        metavar="K",
        help=f"mask groups of fewer than K people in all output (default: {SUPPRESS}; 0: none)",
    )
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
    parser.add_argument("--config", metavar="FILE", help="settings, instead of the project's")


def run(args: argparse.Namespace) -> int:
    from fairaudit.auditing import audit_frame
    from fairaudit.files import check_writable, read_tables
    from fairaudit.result import format_of, known_format
    from fairaudit_cli.progress import ProgressBar

    with_config(args)
    for path in args.report or ():
        known_format(format_of(path))
        check_writable(path)
    if args.resume is not None:
        check_writable(args.resume)
    roles = roles_from(args)
    frame, sources = read_tables(args.data)
    names = list(map(str, frame.columns))
    plan = plan_from(args, list(roles.sensitive), names)
    predictor = predictor_from(args)
    with ProgressBar() as bar:
        result = audit_frame(
            frame, roles, plan, predictor=predictor, data=sources, progress=bar,
            command=_command(args.argv), resume=args.resume,
        )  # fmt: skip
    result = result.suppressed(SUPPRESS if args.suppress is None else args.suppress)
    return deliver(result, args)


def deliver(result: AuditResult, args: argparse.Namespace) -> int:
    """Print, write the reports, and give the exit status."""
    from fairaudit.files import write_text
    from fairaudit.result import format_of

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
            print(f"report: {path}")
        _tell_github(result)
    return ExitCode.of(result.verdict, strict=strict)


def _junit(result: AuditResult, strict: bool) -> str:
    from fairaudit_reports.junit import render

    return render(result, strict=strict)


def _tell_github(result: AuditResult) -> None:
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
    from fairaudit.auditing import Plan
    from fairaudit.columns import split_kinds
    from fairaudit.testing.permutations import Permutations

    drawn: dict[str, Any] = {"n": args.permutations, "seed": args.seed, "n_jobs": args.jobs}
    given: dict[str, Any] = {
        "alpha": args.alpha, "density": args.density, "adjust": args.adjust,
        "tolerance": args.tolerance, "threshold": args.threshold,
    }  # fmt: skip
    if args.statistic is not None:
        chosen = names_in(args.statistic)
        given["statistic"] = chosen[0] if len(chosen) == 1 else list(chosen)
    names = [name if name in columns else split_kinds(name)[0] for name in sensitive]
    return Plan(
        locate=bool(args.locate),
        permutations=Permutations(**{k: v for k, v in drawn.items() if v is not None}),
        pairs=_pairs(args.pairs or (), names),
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


def _tolerance(text: str) -> dict[str, float]:
    limits = {}
    for part in names_in(text):
        name, equals, number = part.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"must be measure=size, got {part!r}")
        limits[name.strip()] = finite(number)
    return limits


def _command(argv: list[str]) -> str:
    import shlex

    return shlex.join(["fairaudit", *argv])
