"""What vouches for a saved record: its digest, its signature, the command that it names."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairaudit.errors import FairAuditError, InputError
from fairaudit.records.canonical import has_digest
from fairaudit_cli.hints import CommandParser
from fairaudit_cli.shell_text import split_line

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["command_differences", "describe_origin", "list_unchecked", "records_may_lie"]

#: Settings of a run that decide nothing; they are not compared.
_OF_THE_RUN = ("jobs", "memory")


@contextmanager
def records_may_lie(path: str) -> Iterator[None]:
    """One line about a saved record whose values cannot all be right, wherever that shows."""
    try:
        yield
    except (FairAuditError, OSError, MemoryError):
        raise
    except Exception as error:  # whatever numbers and texts that do not fit make of any code
        why = " ".join(str(error).split())[:200] or "no words"
        raise InputError(
            f"The record {path!r} cannot be used: its values do not fit each other "
            f"({type(error).__name__}: {why}). Repeat the audit; if fairaudit wrote this file as "
            "it is, please report it."
        ) from error


def describe_origin(record: Mapping[str, Any], key: str | None) -> str:
    """What a page says that is made from a saved record."""
    if key is not None:
        from fairaudit.records.signing import check_signature

        return (
            f"Made from a saved record that the key {check_signature(record, key)[:16]}… has "
            "signed: nothing was changed since, and who holds the key vouches for it."
        )
    if has_digest(record):
        return (
            "Made from a saved record that was not verified. Its digest fits, which shows "
            "accidents and careless changes only: fairaudit verify repeats the audit, and a "
            "signature names who vouches for it."
        )
    return (
        "Made from a saved record without a digest (of fairaudit 0.1, or it was taken out): "
        "nothing vouches for its content. fairaudit verify repeats an audit."
    )


def list_unchecked(record: AuditResult, again: AuditResult, *, signed: bool) -> Iterator[str]:
    """What a repeated audit cannot show, in words."""
    computed = {measure.key for measure in again.measures}
    for measure in record.measures:
        if measure.key not in computed:
            yield f"not checked: {measure.name} {measure.value}; what computes it is not installed"
    capsule = record.capsule
    by_whom = "the signature vouches for it" if signed else "only a signature can vouch for it"
    yield (
        f"not checked: the date {capsule.created}, the {record.seconds:,.1f} CPU seconds, Python "
        f"{capsule.python}, the platform and the versions of packages then; {by_whom}"
    )
    if capsule.command is None:
        yield "not checked: how the audit was called; the record names no command"
    if capsule.data or capsule.model is not None:
        yield "not checked: where the files lay then; their SHA-256 are those of today's"


def command_differences(
    record: AuditResult, add_verify_arguments: Callable[[argparse.ArgumentParser], None]
) -> list[str]:
    """Where the commands of a record contradict its settings, as ``command: …``."""
    from fairaudit_cli.test import add_arguments

    capsule = record.capsule
    typed = _typed(capsule.command, "test", add_arguments)
    found = []
    if capsule.command is not None and typed is None:
        found.append("command: it is not one of fairaudit test")
    again = _typed(capsule.verify, "verify", add_verify_arguments)
    if capsule.verify is not None and again is None:
        found.append("capsule.verify: it is not one of fairaudit verify")
    if again is not None and set(again.trust or ()) - set(getattr(typed, "trust", None) or ()):
        found.append("capsule.verify: it trusts what the audit did not")
    try:
        return found if typed is None else [*found, *_contradictions(typed, record)]
    except InputError as error:
        return [*found, f"command: {error}"]


def _typed(
    line: str | None, command: str, add_arguments: Callable[[argparse.ArgumentParser], None]
) -> argparse.Namespace | None:
    """What was typed, if this is one such command and nothing else."""
    words = None if line is None else split_line(line)
    if words is None or words[:1] != [command]:
        return None
    parser = CommandParser(prog=f"fairaudit {command}", add_help=False, allow_abbrev=False)
    add_arguments(parser)
    try:
        args = parser.parse_args(words[1:])
    except InputError:
        return None
    args.argv = words
    return args


def _contradictions(args: argparse.Namespace, record: AuditResult) -> Iterator[str]:
    """What was typed beside what was recorded; settings of a project are not typed."""
    from dataclasses import asdict

    from fairaudit.auditing.descriptions import recorded as describe
    from fairaudit.density import CONTINUOUS
    from fairaudit.permute.laws import LAWS
    from fairaudit.testing.statistic import STATISTICS
    from fairaudit_cli.library_calls import permutations_from, plan_from, roles_from

    typed = [
        entry
        for entry in args.options
        if entry.goes_to and entry.name not in _OF_THE_RUN and getattr(args, entry.dest) is not None
    ]
    capsule, options = record.capsule, record.capsule.options
    for name, then in (("--model", capsule.model), ("--data", capsule.data)):
        said = getattr(args, name[2:])
        if said is not None and not then:
            yield f"command: it has {name}, and the record none"
    if not args.sensitive or not args.data or (args.model is None) == (not args.predictions):
        return  # the rest stood in the settings of the project
    for entry in args.options:
        if getattr(args, entry.dest) is None:
            setattr(args, entry.dest, entry.default)
    roles = roles_from(args)
    copies = permutations_from(args)
    columns = [column.name for column in record.table.attributes]
    plan = plan_from(args, roles, columns)
    now = {
        **asdict(roles),
        **plan.record(),
        "statistic": describe(STATISTICS, plan.statistic),
        "density": describe(CONTINUOUS, plan.density),
        "law": describe(LAWS, plan.law),
        "n": copies.n,
        "seed": copies.seed,
    }
    recorded = {**options, "n": capsule.copies, "seed": capsule.seed}
    for entry in typed:
        name = entry.parameter
        if name in now and name in recorded and _plain(now[name]) != _plain(recorded[name]):
            yield (
                f"command: {entry.flag} says {_plain(now[name])!r}, and the record "
                f"{_plain(recorded[name])!r}"
            )


def _plain(value: Any) -> Any:
    import json

    return json.loads(json.dumps(value, default=str))
