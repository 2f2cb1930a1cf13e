"""`fairaudit remedy`: trains a model towards equalized odds and audits it before and after."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError
from fairaudit_cli import known_names
from fairaudit_cli.config import settle
from fairaudit_cli.cover_options import COVER
from fairaudit_cli.deliver import check_outputs, deliver
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import permutations_from, predictor_from, roles_from
from fairaudit_cli.option_values import (
    COUNT,
    NUMBER,
    ON,
    TEXT,
    TEXTS,
    Option,
    finite,
    names_in,
    option,
)
from fairaudit_cli.options import MODEL, ROLES, add_options
from fairaudit_cli.shell_text import command_line

if TYPE_CHECKING:
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["OPTIONS", "add_arguments", "run"]

#: What `fairaudit.repair` takes under the same name.
_OWN = (
    option(
        "method",
        TEXT,
        "NAME",
        "{names}. search, the default: boosted trees like --model, with and without a randomized "
        "last stage; the default is fairicp where --mu, --mus, --steps or a setting of networks "
        "is given. postprocess, derived and thresholds correct --model",
        names=known_names.methods,
    ),
    option(
        "goal",
        TEXT,
        "GOAL",
        'pass (default): the smallest loss that will pass the audit; "certify kpc=0.01" (or '
        'another measure of --certify): the smallest loss whose certificates hold; "kpc<=0.01": '
        'the smallest loss up to this KPC; "loss<=0.25": the smallest KPC up to this loss. Never '
        "a collapsed model or one that a random mixture with a constant beats",
    ),
    option(
        "pass-probability",
        NUMBER,
        "SHARE",
        "the predicted chance to pass the coming audit that a search asks for (0.8)",
        default=0.8,
    ),
    option(
        "audit-rows", COUNT, "N", "rows of the coming audit (default: as many as were trained on)"
    ),
    option(
        "mu",
        TEXT,
        "VALUE|auto",
        "instead of a goal, this weight of equalized odds in [0, 1] (hgr: lam; gerryfair: gamma; "
        "reduction: the bound; derived and thresholds: the strength)",
        default="auto",
    ),
    option("kpc", NUMBER, "SIZE", 'as --goal "kpc<=SIZE"'),
    option("loss", NUMBER, "SIZE", 'as --goal "loss<=SIZE"'),
    option("mus", TEXT, "VALUE[,…]", "values to train"),
    option(
        "out",
        TEXT,
        "FILE",
        "where the new model goes, a pickle; a collapsed model, and with a goal of the audit "
        "(pass, certify) one that is no repair, is not written",
    ),
    option("force", ON, None, "write --out all the same", default=False),
    option(
        "split",
        TEXT,
        "SHARES",
        "shares of the rows for training, choosing and auditing (0.5,0.2,0.3); a search chooses by "
        "cross-fitting on the first two, and with a fixed --mu the second is audited too",
        default="0.5,0.2,0.3",
    ),
    option("drop", TEXTS, "COLUMN[,…]", "columns that are not features"),
    option(
        "use-sensitive",
        ON,
        None,
        "allow a model that must know the sensitive attributes to predict",
        default=False,
    ),
    option("objective", TEXT, "NAME", "kernel (default) or adversarial, as in the paper"),
    option(
        "training-loss",
        TEXT,
        "NAME",
        "of classes: error (default: few misclassified) or cross_entropy (probabilities)",
    ),
    option("predictor", TEXT, "NAME", "mlp (default) or linear"),
    option("steps", COUNT, "N", "length of the training, in the method's unit"),
)
_DETERMINISTIC = option(
    "deterministic", ON, None, "let a search take no model whose answers are drawn", default=False
)
OPTIONS: tuple[str | Option, ...] = (
    *MODEL,
    *(name for name in ROLES if name not in ("predictions", "on", "threshold")),
    *_OWN,
    _DETERMINISTIC,
    "report",
    *COVER,
    "alpha",
    "tolerance",
    "certify",
    "permutations",
    "seed",
    "jobs",
    "config",
    "resume",
    "suppress",
    "json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 repaired, 1 the new model (or the nearest one, where no repair is found) "
        "violates equalized odds, 2 bad input, 3 inconclusive or collapsed. Columns and the level "
        "may stand in [tool.fairaudit]."
    )
    add_options(parser, "remedy", OPTIONS)


def run(args: argparse.Namespace) -> int:
    from fairaudit.remedy.remedy_result import RemedyResult
    from fairaudit.remedy.workflow import RepairInterrupted

    settle(args, needs_all=True)
    check_outputs(args, RemedyResult, args.out, args.resume)
    try:
        result = _repair_model(args)
    except RepairInterrupted as stopped:
        where = f" The model so far, not audited, is in {stopped.out}." if stopped.out else ""
        print(f"fairaudit: interrupted.{where}", file=sys.stderr)
        return ExitCode.INTERRUPTED
    last_lines = [""]
    if result.refused:
        last_lines.append(f"model: not written ({result.outcome}); --force writes it to {args.out}")
    elif args.out is not None:
        last_lines.append(f"model: {args.out}")
    deliver(result, args, last_lines=last_lines)
    return ExitCode.of(result.verdict)


def _repair_model(args: argparse.Namespace) -> RemedyResult:
    from fairaudit.data.reading.files import read_tables
    from fairaudit.remedy.workflow import repair
    from fairaudit_cli.progress import ProgressBar

    roles = roles_from(args)
    given = {entry.dest: getattr(args, entry.dest) for entry in _OWN}
    given["mus"] = None if args.mus is None else _numbers("--mus", args.mus)
    given["split"] = _numbers("--split", args.split)
    given["drop"] = names_in(args.drop)
    given["randomize"] = not args.deterministic
    if args.seed < 0:
        raise InputError(f"--seed must be 0 or more. Got {args.seed}.")
    old = predictor_from(args)
    frame, sources = read_tables(args.data)
    with ProgressBar() as bar:
        return repair(
            frame,
            roles,
            model=old,
            seed=args.seed,
            alpha=args.alpha,
            tolerance=args.tolerance,
            certify=args.certify,
            permutations=permutations_from(args),
            resume=args.resume,
            data=sources,
            command=command_line(args.argv),
            progress=bar,
            **given,
        )


def _numbers(option: str, text: str) -> list[Any]:
    try:
        return [finite(part) for part in names_in(text)]
    except argparse.ArgumentTypeError:
        raise InputError(f"{option} must be numbers separated by commas. Got {text!r}.") from None
