"""From a command line to what the library takes: roles, plan, copies, the model."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError
from fairaudit_cli.option_values import names_in
from fairaudit_cli.options import given_to

if TYPE_CHECKING:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.data.roles import Roles
    from fairaudit.models import Predictor
    from fairaudit.testing.permutations import Permutations

__all__ = ["load_from", "permutations_from", "plan_from", "predictor_from", "roles_from"]


def roles_from(args: argparse.Namespace) -> Roles:
    """The roles of the columns, checked as far as they can be without the data."""
    from fairaudit.data.columns import split_kinds
    from fairaudit.data.roles import Roles

    if not args.data:
        raise InputError("No data. Pass --data FILE, or put it into [tool.fairaudit].")
    given = given_to("roles", args)
    named = {
        name: names_in(given.pop(name, None)) for name in ("sensitive", "predictions", "outcome")
    }
    if not named["sensitive"]:
        raise InputError("No sensitive attribute. Pass --sensitive COLUMN[,COLUMN…].")
    if hasattr(args, "predictions") and (args.model is None) == (not named["predictions"]):
        raise InputError("Pass --model FILE, or --predictions COLUMN without a model.")
    taken: dict[str, str] = {}
    for role, names in named.items():
        for name in (split_kinds(spec)[0] for spec in names):
            if taken.setdefault(name, role) != role:
                raise InputError(
                    f"Column {name!r} is given as --{taken[name]} and as --{role}. "
                    "Give it one of the two roles."
                )
    return Roles(
        sensitive=named["sensitive"],
        outcome=named["outcome"][0] if len(named["outcome"]) == 1 else args.outcome,
        predictions=named["predictions"],
        **given,
    )


def predictor_from(args: argparse.Namespace) -> Predictor | None:
    if args.model is None:
        return None
    return load_from(args, args.model)


def load_from(args: argparse.Namespace, source: str) -> Predictor:
    """A model as the options say: which names are trusted, and what confines it."""
    from fairaudit.models import load_model
    from fairaudit.models.sandbox import Limits

    limits = args.isolate
    if limits is not None and args.sandbox is False:
        raise InputError("--no-sandbox and --isolate exclude each other. Leave one of them out.")
    sandbox = args.sandbox is not False if limits is None else Limits.parse(limits)
    return load_model(source, trust=tuple(args.trust or ()), sandbox=sandbox)


def permutations_from(args: argparse.Namespace) -> Permutations:
    from fairaudit.testing.permutations import Permutations

    settings = given_to("copies", args)
    if settings["n"] == "auto":
        del settings["n"]
        return Permutations.auto(args.alpha, **settings)
    return Permutations(**settings)


def plan_from(
    args: argparse.Namespace, roles: Roles, columns: Sequence[str] = (), **more: Any
) -> Plan:
    """The settings of the audit; `columns` are those of the table, which may hold a colon."""
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.data.columns import split_kinds

    given = {**given_to("plan", args), "threshold": args.threshold, **more}
    names = [name if name in columns else split_kinds(name)[0] for name in roles.sensitive]
    given["pairs"] = _pairs(given.get("pairs", ()), names)
    return Plan(permutations=permutations_from(args), **given)


def _pairs(texts: Iterable[str], names: list[str]) -> tuple[tuple[str, str], ...]:
    from itertools import combinations

    pairs: list[tuple[str, str]] = []
    for text in names_in(texts):
        if text == "all":
            pairs += combinations(names, 2)
            continue
        a, plus, b = text.partition("+")
        if not plus:
            raise InputError(f"--pairs {text!r} is not a pair. Write two names, as in race+sex.")
        pairs.append((a.strip(), b.strip()))
    return tuple(dict.fromkeys(pairs))
