"""Options that commands share: the model, the table, and which column is what."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fairaudit._words import quiet
from fairaudit.errors import InputError
from fairaudit.results import SUPPRESS

if TYPE_CHECKING:
    from fairaudit.data.roles import Roles
    from fairaudit.models import Predictor

__all__ = [
    "add_isolation",
    "add_model_arguments",
    "add_suppress",
    "add_table_arguments",
    "command_line",
    "copies",
    "count",
    "finite",
    "levels_in",
    "names_in",
    "predictor_from",
    "print_json",
    "roles_from",
    "size",
    "sizes_in",
]


#: A name in double quotes (doubled within), or up to the next comma.
_NAME = re.compile(r'\s*"((?:[^"]|"")+)"\s*(?=,|$)|([^,]+)')


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        metavar="FILE",
        help="a fitted model: .pkl, .joblib, .skops, .onnx, or package.module:function",
    )
    parser.add_argument(
        "--trust",
        action="append",
        metavar="NAME",
        help="allow this class or function in a pickle (module.name), repeatable",
    )


def add_isolation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--isolate",
        nargs="?",
        const="",
        metavar="LIMITS",
        help="load and ask the model in a process without network, with limits (8GB,300s)",
    )


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        action="extend",
        nargs="+",
        metavar="FILE",
        help="CSV, Parquet or Arrow; several files or a pattern; - for standard input",
    )
    parser.add_argument(
        "--sensitive",
        action="append",
        metavar="COLUMN[,COLUMN…]",
        help="sensitive attributes, repeatable; a kind may follow the name, as in age:continuous",
    )
    parser.add_argument(
        "--outcome",
        metavar="COLUMN",
        help="the true outcome (default: the one column left over, or one called y, label, "
        "target or outcome)",
    )
    parser.add_argument(
        "--predictions",
        metavar="COLUMN[,COLUMN…]",
        help="instead of a model: labels, scores, or one probability column per class",
    )
    parser.add_argument("--weights", metavar="COLUMN", help="weights of the rows, for the rates")
    parser.add_argument("--id", metavar="COLUMN", help="ids of people who have several rows")
    parser.add_argument(
        "--where", metavar="CONDITION", help='audit these rows only, as in "age > 18"'
    )
    parser.add_argument(
        "--missing",
        choices=("auto", "error", "category", "drop"),
        help="missing sensitive values: a category of their own (auto: an error in a continuous "
        "column), an error, or rows to drop",
    )
    parser.add_argument(
        "--on", choices=("scores", "labels"), help="what is audited (default: scores)"
    )
    parser.add_argument(
        "--threshold",
        type=finite,
        metavar="NUMBER",
        help="scores at or above it count as positive (default: 0.5 for scores in [0, 1])",
    )
    parser.add_argument(
        "--positive",
        metavar="LEVEL",
        help="the outcome level that counts as positive (default: the larger of two), and that "
        "the model's positive class or high scores mean where names do not tell; of more levels, "
        "rates compare it with the rest",
    )
    parser.add_argument(
        "--classes",
        type=levels_in,
        metavar="CLASS=LEVEL[,…]",
        help="what the classes of the model are called in the outcome, as in 0=clear,1=arrested",
    )


def add_suppress(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--suppress",
        type=int,
        metavar="K",
        help=f"mask groups of fewer than K people in all output (default: {SUPPRESS}; 0: none)",
    )


def command_line(words: Iterable[str]) -> str:
    r"""`fairaudit` with these words, as a shell reads them; on one line, whatever they hold.

    Examples
    --------
    >>> print(command_line(["test", "--model", "my model.pkl", "--outcome", "a\nb"]))
    fairaudit test --model 'my model.pkl' --outcome $'a\x0ab'
    """
    return " ".join(["fairaudit", *map(_quoted, words)])


def _quoted(word: str) -> str:
    import shlex

    if quiet(word) == word:
        return shlex.quote(word)
    orders = {"::": r"\x3a:", "##": r"\x23#"}  # to the log of a CI runner
    parts = (
        char.replace("\\", r"\\").replace("'", r"\'")
        if char.isprintable()
        else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
        for char in word
    )
    text = re.sub("::|##", lambda found: orders[found[0]], "".join(parts))
    return f"$'{text}'"


def count(text: str) -> int:
    """A whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return value


def copies(text: str) -> int | str:
    """A whole number of at least 1, or ``auto``."""
    return text if text == "auto" else count(text)


def size(text: str) -> int:
    """Bytes, as in 2GB or 512MB.

    Examples
    --------
    >>> size("2GB"), size("1.5 kB")
    (2000000000, 1500)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(k|M|G|T)i?B?\s*", text, re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"must be a size such as 2GB, got {text!r}")
    return int(float(found[1]) * 1000 ** (1 + "kmgt".index(found[2].lower())))


def finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a finite number, got {text!r}")
    return value


def names_in(texts: Iterable[str] | str | None) -> tuple[str, ...]:
    """Names given one by one, with commas, or both; double quotes keep commas in a name.

    Examples
    --------
    >>> names_in(['race, sex', '"income, net",age'])
    ('race', 'sex', 'income, net', 'age')
    """
    parts = [texts] if isinstance(texts, str) else list(texts or ())
    found = [name for part in parts for name in re.findall(_NAME, part)]
    return tuple(
        quoted.replace('""', '"') or plain.strip()
        for quoted, plain in found
        if quoted or plain.strip()
    )


def sizes_in(text: str) -> dict[str, float]:
    """``kpc=0.01,deo=0.1`` as a mapping."""
    limits = {}
    for part in names_in(text):
        name, equals, number = part.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"must be measure=size, got {part!r}")
        limits[name.strip()] = finite(number)
    return limits


def levels_in(text: str) -> dict[str, str]:
    """``0=clear,1=arrested`` as a mapping.

    Examples
    --------
    >>> levels_in('0=clear, 1=arrested')
    {'0': 'clear', '1': 'arrested'}
    """
    found: dict[str, str] = {}
    for part in names_in(text):
        name, equals, level = (one.strip() for one in part.partition("="))
        if not equals or not name or not level or name in found:
            raise argparse.ArgumentTypeError(f"must be class=level[,class=level…], got {text!r}")
        found[name] = level
    if not found:
        raise argparse.ArgumentTypeError(f"must be class=level[,class=level…], got {text!r}")
    return found


def print_json(text: str) -> None:
    """JSON to standard output, with escapes where the terminal or a log would stumble."""
    import json
    import sys

    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)
    # the same to a reader of JSON; runners look for commands in the middle of a line too
    text = text.replace("##", "#\\u0023")
    strange = {char for char in set(text) if not char.isprintable()} - {"\n"}
    for char in strange:
        text = text.replace(char, json.dumps(char)[1:-1])
    print(text.rstrip("\n"))


def roles_from(args: argparse.Namespace) -> Roles:
    """The roles of the columns, checked as far as they can be without the data."""
    from fairaudit.data.columns import split_kinds
    from fairaudit.data.roles import Roles

    if not args.data:
        raise InputError("No data. Pass --data FILE, or put it into [tool.fairaudit].")
    roles = {
        "--sensitive": names_in(args.sensitive),
        "--predictions": names_in(args.predictions),
        "--outcome": names_in(args.outcome),
    }
    if not roles["--sensitive"]:
        raise InputError("No sensitive attribute. Pass --sensitive COLUMN[,COLUMN…].")
    model = getattr(args, "model", None)
    if (model is None) == (not roles["--predictions"]):
        raise InputError("Pass --model FILE, or --predictions COLUMN without a model.")
    taken: dict[str, str] = {}
    for option, names in roles.items():
        for name in (split_kinds(spec)[0] for spec in names):
            if taken.setdefault(name, option) != option:
                raise InputError(
                    f"Column {name!r} is given as {taken[name]} and as {option}. "
                    "Give it one of the two roles."
                )
    given: dict[str, Any] = {
        "weights": args.weights,
        "ids": args.id,
        "where": args.where,
        "missing": args.missing,
        "on": args.on,
        "threshold": args.threshold,
        "positive": args.positive,
        "classes": args.classes,
    }
    return Roles(
        sensitive=roles["--sensitive"],
        outcome=roles["--outcome"][0] if len(roles["--outcome"]) == 1 else args.outcome,
        predictions=roles["--predictions"],
        **{name: value for name, value in given.items() if value is not None},
    )


def predictor_from(args: argparse.Namespace) -> Predictor | None:
    if args.model is None:
        return None
    trust = tuple(args.trust or ())
    if getattr(args, "isolate", None) is not None:
        from fairaudit.models.isolation import Limits, isolated_model

        return isolated_model(args.model, trust=trust, limits=Limits.parse(args.isolate))
    from fairaudit.models import load_model

    return load_model(args.model, trust=trust)
