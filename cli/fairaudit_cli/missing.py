"""`fairaudit missing`: what can be said where attributes are missing or uncertain."""

from __future__ import annotations

import argparse

from fairaudit._words import quiet
from fairaudit.auditing.audit_result import SUPPRESS
from fairaudit.errors import InputError
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

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 done, 1 an imputed attribute violates equalized odds, 2 bad input."
    )
    add_model_arguments(parser)
    add_table_arguments(parser)
    parser.add_argument(
        "--probabilities",
        action="append",
        metavar="NAME=COLUMN,COLUMN[,…]",
        help="an attribute known as probabilities, one column per level, as in "
        "race=p_black,p_white; repeatable",
    )
    parser.add_argument("--imputations", type=count, default=20, metavar="N", help="default: 20")
    parser.add_argument("--alpha", type=finite, default=0.05, metavar="LEVEL", help="default: 0.05")
    parser.add_argument("--permutations", type=count, default=999, metavar="N", help="copies (999)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same numbers")
    parser.add_argument(
        "--report",
        action="append",
        metavar="FILE",
        help="write .html, .md, .json or .txt; repeatable",
    )
    parser.add_argument(
        "--suppress",
        type=int,
        default=SUPPRESS,
        metavar="K",
        help=f"leave groups of fewer than K people out of the gaps (default: {SUPPRESS}; 0: none)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from fairaudit.data.reading.files import read_tables
    from fairaudit.data.reading.write import check_writable, write_text
    from fairaudit.evidence.incompleteness.incomplete_audit import incomplete_frame
    from fairaudit.results import format_of
    from fairaudit.testing.permutations import Permutations
    from fairaudit_reports.by_format import INCOMPLETE, render_as

    for path in args.report or ():
        check_writable(path)
        if format_of(path) not in INCOMPLETE:
            raise InputError(f"--report {path!r} must end in .{', .'.join(INCOMPLETE)}.")
    probabilities = dict(_named(text) for text in args.probabilities or ())
    given = bool(args.sensitive)
    if not given and probabilities:
        args.sensitive = [name for columns in probabilities.values() for name in columns]
    roles = roles_from(args)
    frame, _ = read_tables(args.data)
    result = incomplete_frame(
        frame,
        roles if given else replace(roles, sensitive=()),
        probabilities,
        predictor=predictor_from(args),
        alpha=args.alpha,
        imputations=args.imputations,
        permutations=Permutations(n=args.permutations, seed=args.seed),
        suppress=args.suppress,
    )
    for path in args.report or ():
        write_text(path, render_as(format_of(path), INCOMPLETE, result))
    if args.json:
        print_json(render_as("json", INCOMPLETE, result))
    else:
        print(render_as("txt", INCOMPLETE, result), end="")
        for path in args.report or ():
            print(quiet(f"report: {path}"))
    violated = any(one.significant for one in result.imputed)
    return ExitCode.VIOLATION if violated else ExitCode.OK


def _named(text: str) -> tuple[str, tuple[str, ...]]:
    name, equals, columns = text.partition("=")
    names = names_in(columns)
    if not equals or not name.strip() or len(names) < 2:
        raise InputError(
            f"--probabilities {text!r} must be a name and two columns or more, as in "
            "race=p_black,p_white."
        )
    return name.strip(), names
