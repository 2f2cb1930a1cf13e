"""`fairaudit missing`: what can be said where attributes are missing or uncertain."""

from __future__ import annotations

import argparse

from fairaudit.errors import InputError
from fairaudit_cli.config import settle
from fairaudit_cli.cover_options import COVER
from fairaudit_cli.deliver import check_outputs, deliver
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import permutations_from, predictor_from, roles_from
from fairaudit_cli.option_values import COUNT, TEXTS, Option, names_in, option
from fairaudit_cli.options import MODEL, ROLES, add_options

__all__ = ["OPTIONS", "add_arguments", "run"]

OPTIONS: tuple[str | Option, ...] = (
    *MODEL,
    *ROLES,
    option(
        "probabilities",
        TEXTS,
        "NAME=COLUMN,COLUMN[,…]",
        "an attribute known as probabilities, one column per level, as in race=p_black,p_white; "
        "repeatable",
    ),
    option("imputations", COUNT, "N", "default: 20", default=20),
    "alpha",
    "permutations",
    "seed",
    "report",
    *COVER,
    "suppress",
    "json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 done, 1 an imputed attribute violates equalized odds, 2 bad input."
    )
    add_options(parser, "missing", OPTIONS)


def run(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from fairaudit.data.reading.files import read_tables
    from fairaudit.evidence.incompleteness.incomplete_audit import incomplete_frame
    from fairaudit.evidence.incompleteness.incompleteness_result import IncompleteResult

    settle(args, needs_all=True)
    check_outputs(args, IncompleteResult)
    probabilities = dict(_read_probabilities(text) for text in args.probabilities or ())
    given = bool(args.sensitive)
    if not given and probabilities:
        args.sensitive = [name for columns in probabilities.values() for name in columns]
    roles = roles_from(args)
    frame, args.sources = read_tables(args.data)
    result = incomplete_frame(
        frame,
        roles if given else replace(roles, sensitive=()),
        probabilities,
        predictor=predictor_from(args),
        alpha=args.alpha,
        imputations=args.imputations,
        permutations=permutations_from(args),
        suppress=args.suppress,
    )
    deliver(result, args)
    violated = any(answer.significant for answer in result.imputed)
    return ExitCode.VIOLATION if violated else ExitCode.OK


def _read_probabilities(text: str) -> tuple[str, tuple[str, ...]]:
    name, equals, columns = text.partition("=")
    names = names_in(columns)
    if not equals or not name.strip() or len(names) < 2:
        raise InputError(
            f"--probabilities {text!r} must be a name and two columns or more, as in "
            "race=p_black,p_white."
        )
    return name.strip(), names
