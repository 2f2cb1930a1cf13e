"""`fairaudit remedy`: trains a model towards equalized odds and audits it before and after."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from typing import Any

from fairaudit._words import quiet
from fairaudit.auditing.audit_result import SUPPRESS
from fairaudit.errors import InputError
from fairaudit_cli.config import with_config
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.options import (
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
)

__all__ = ["add_arguments", "add_level", "add_some", "filled", "run"]

_TABLE = ("data", "sensitive", "outcome", "id", "where", "missing", "positive", "classes")
#: of the project's settings; its model and data are those of the audit
_SETTINGS = (
    "sensitive",
    "outcome",
    "id",
    "where",
    "missing",
    "positive",
    "classes",
    "alpha",
    "permutations",
    "seed",
    "suppress",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 repaired, 1 the new model (or plain training, where no repair is found) "
        "violates equalized odds, 2 bad input, 3 inconclusive or collapsed. Columns and the level "
        "may stand in [tool.fairaudit]."
    )
    add_model_arguments(parser)
    add_some(parser, _TABLE)
    parser.add_argument(
        "--method",
        default="fairicp",
        metavar="NAME",
        help="fairicp (default), faircp, fdl, hgr, gerryfair, reduction; postprocess corrects "
        "--model",
    )
    parser.add_argument(
        "--mu",
        default="auto",
        metavar="VALUE|auto",
        help="weight of equalized odds in [0, 1] (hgr: lam; gerryfair: gamma; reduction: the "
        "bound). auto: the smallest loss that passes the test on rows kept for choosing; never a "
        "collapsed model or one that a random mixture with a constant beats",
    )
    parser.add_argument(
        "--kpc", type=finite, metavar="SIZE", help="instead: the smallest loss up to this KPC"
    )
    parser.add_argument(
        "--loss", type=finite, metavar="SIZE", help="instead: the smallest KPC up to this loss"
    )
    parser.add_argument("--mus", metavar="VALUE[,…]", help="values to train")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="where the new model goes, a pickle of a scikit-learn pipeline; a collapsed model, "
        "and with --mu auto one that is no repair, is not written",
    )
    parser.add_argument("--force", action="store_true", help="write --out all the same")
    parser.add_argument(
        "--report",
        action="append",
        metavar="FILE",
        help="write a report: .html, .json or .txt; repeatable",
    )
    parser.add_argument(
        "--split",
        default="0.5,0.2,0.3",
        metavar="SHARES",
        help="shares of the rows for training, choosing and auditing (0.5,0.2,0.3); with a fixed "
        "--mu the second is audited too",
    )
    parser.add_argument(
        "--drop", action="append", metavar="COLUMN[,…]", help="columns that are no features"
    )
    parser.add_argument(
        "--use-sensitive", action="store_true", help="make the sensitive attributes features"
    )
    parser.add_argument(
        "--objective", metavar="NAME", help="kernel (default) or adversarial, as in the paper"
    )
    parser.add_argument(
        "--training-loss",
        metavar="NAME",
        help="of classes: error (default: few misclassified) or cross_entropy (probabilities)",
    )
    parser.add_argument("--predictor", metavar="NAME", help="mlp (default) or linear")
    parser.add_argument(
        "--steps", type=count, metavar="N", help="length of the training, in the method's unit"
    )
    add_level(parser)
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="keep trained models and finished copies in FILE; after an interruption the same "
        "command goes on there",
    )
    add_suppress(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    from fairaudit.data.reading.files import read_tables
    from fairaudit.data.reading.write import check_writable
    from fairaudit.remedy.remedy_result import rendered, report_format
    from fairaudit.remedy.workflow import RepairInterrupted, repair
    from fairaudit.testing.permutations import Permutations
    from fairaudit_cli.progress import ProgressBar

    filled(with_config(args, _SETTINGS), needs_all="fairaudit remedy", suppress=SUPPRESS)
    for path in args.report or ():
        report_format(path)
        check_writable(path)
    for path in (args.out, args.resume):
        if path is not None:
            check_writable(path)
    roles = roles_from(
        argparse.Namespace(
            **{
                **vars(args),
                "model": "any",
                "predictions": None,
                "weights": None,
                "on": None,
                "threshold": None,
            }
        )
    )
    mus = None if args.mus is None else _numbers("--mus", args.mus)
    split = _numbers("--split", args.split)
    if args.seed < 0:
        raise InputError(f"The seed must be 0 or more. Got {args.seed}.")
    old = predictor_from(args)
    frame, sources = read_tables(args.data)
    try:
        with ProgressBar() as bar:
            result = repair(
                frame,
                roles,
                model=old,
                method=args.method,
                mu=args.mu,
                kpc=args.kpc,
                loss=args.loss,
                mus=mus,
                split=split,
                drop=names_in(args.drop),
                use_sensitive=args.use_sensitive,
                objective=args.objective,
                training_loss=args.training_loss,
                predictor=args.predictor,
                steps=args.steps,
                seed=args.seed,
                alpha=args.alpha,
                permutations=Permutations(n=args.permutations, n_jobs=args.jobs),
                out=args.out,
                force=args.force,
                resume=args.resume,
                data=sources,
                command=command_line(args.argv),
                progress=bar,
            )
    except RepairInterrupted as stopped:
        where = f" The model so far, not audited, is in {stopped.out}." if stopped.out else ""
        print(f"fairaudit: interrupted.{where}", file=sys.stderr)
        return ExitCode.INTERRUPTED
    shown = result.suppressed(args.suppress)
    from fairaudit.data.reading.write import write_text

    for path in args.report or ():
        write_text(path, rendered(shown, report_format(path)))
    if args.json:
        print_json(rendered(shown, "json"))
    else:
        from fairaudit_reports.text.terminal import show_remedy

        show_remedy(shown)
        print()
        if result.refused:
            print(quiet(f"model: not written ({result.outcome}); --force writes it to {args.out}"))
        elif args.out is not None:
            print(quiet(f"model: {args.out}"))
        for path in args.report or ():
            print(quiet(f"report: {path}"))
    return ExitCode.of(result.verdict)


def add_level(parser: argparse.ArgumentParser, *, jobs: bool = True) -> None:
    """Level, copies, seed, processes and the file of settings."""
    parser.add_argument("--alpha", type=finite, metavar="LEVEL", help="default: 0.05")
    parser.add_argument(
        "--permutations", type=copies, metavar="N", help="conditional copies (default: 999)"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="same seed, same numbers (0)")
    if jobs:
        parser.add_argument("--jobs", type=count, default=1, metavar="N", help="processes (1)")
    parser.add_argument("--config", metavar="FILE", help="settings, instead of the project's")


def filled(
    args: argparse.Namespace, *, needs_all: str | None = None, **more: Any
) -> argparse.Namespace:
    """What neither the command line nor the settings say.

    `needs_all` names a command that draws all copies and cannot stop early.
    """
    if needs_all is not None and args.permutations == "auto":
        raise InputError(
            f"permutations = auto stops drawing copies early, and {needs_all} needs all of them. "
            "Pass --permutations N, which wins over the settings."
        )
    for name, value in {"alpha": 0.05, "permutations": 999, "seed": 0, **more}.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def add_some(parser: argparse.ArgumentParser, wanted: Collection[str]) -> None:
    """Of the options about the table those that are wanted."""
    every = argparse.ArgumentParser(add_help=False)
    add_table_arguments(every)
    for action in every._actions:
        if action.dest in wanted:
            parser._add_action(action)


def _numbers(option: str, text: str) -> list[Any]:
    try:
        return [finite(part) for part in names_in(text)]
    except argparse.ArgumentTypeError:
        raise InputError(f"{option} must be numbers with commas. Got {text!r}.") from None
