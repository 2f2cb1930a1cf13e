"""What a mistyped command line probably meant."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from fairaudit.errors import InputError

__all__ = ["CommandParser", "no_command", "reject_left_over", "reject_unknown_options"]

_MODELS = (".pkl", ".pickle", ".joblib", ".skops", ".onnx", ".ubj", ".cbm", ".pt", ".keras")
_TABLES = (".csv", ".tsv", ".parquet", ".feather", ".arrow", ".xlsx")
_NEGATIVE = re.compile(r"-\.?\d")


class CommandParser(argparse.ArgumentParser):
    """What it refuses is one line, as all other errors are."""

    def error(self, message: str) -> NoReturn:
        told = message.removeprefix("argument ")
        told = told if told.startswith("-") else f"{told[0].upper()}{told[1:]}"
        raise InputError(f"{told.rstrip('.')}. '{self.prog} --help' shows examples.")


def no_command(name: str, known: Collection[str]) -> InputError:
    """For a first word that is no command."""
    near = get_close_matches(name.lower(), [*known, "--help", "--version"], n=1, cutoff=0.7)
    hint = f"Did you mean '{near[0]}'?" if near else f"Commands: {', '.join(known)}."
    return InputError(f"There is no command {name!r}. {hint}")


def reject_unknown_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Name the first word that looks like an option and is none, and the option nearest to it."""
    known = _options(parser)
    for word in words:
        if word == "--":
            return
        option = word.partition("=")[0]
        if not _looks_like_option(word) or option in known:
            continue
        near = get_close_matches(f"--{option.lstrip('-').lower()}", known, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"'{parser.prog} --help' lists them."
        raise InputError(f"'{parser.prog}' has no option {option}. {hint}")


def reject_left_over(
    parser: argparse.ArgumentParser, words: Sequence[str], left: Sequence[str]
) -> None:
    """Say where the first word belongs that no option takes."""
    if not left:
        return
    known = _options(parser)
    place = next(
        k
        for k, word in enumerate(words)
        if word == left[0] and not _takes_next(known, words[k - 1])
    )
    begin = next((k for k in range(place - 1, -1, -1) if _looks_like_option(words[k])), None)
    if begin is None:
        ending = Path(left[0]).suffix.lower()
        option = "--model" if ending in _MODELS else "--data" if ending in _TABLES else None
        hint = f"'{parser.prog} --help' lists them."
        if option in known:
            hint = f"Did you mean {option} {shlex.quote(left[0])}?"
        raise InputError(f"{left[0]!r} belongs to no option. {hint}")
    option, equals, value = words[begin].partition("=")
    action = known[option]
    if action.nargs == 0:
        raise InputError(f"{option} takes no value. Leave {left[0]!r} out.")
    values = [value] if equals else []
    for word in words[begin + 1 :]:
        if _looks_like_option(word):
            break
        values.append(word)
    if isinstance(action.metavar, str) and "," in action.metavar:
        names = ",".join(part for word in values if (part := word.strip(" ,")))
        hint = f"Several values of {option} are separated by commas: {option} {shlex.quote(names)}"
    else:
        hint = f"A value with spaces stands in quotes: {option} {shlex.quote(' '.join(values))}"
    raise InputError(f"{left[0]!r} belongs to no option. {hint}")


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {name: action for action in parser._actions for name in action.option_strings}


def _takes_next(known: dict[str, argparse.Action], word: str) -> bool:
    return word in known and known[word].nargs != 0


def _looks_like_option(word: str) -> bool:
    """As argparse has it."""
    return len(word) > 1 and word[0] == "-" and " " not in word and not _NEGATIVE.match(word)
