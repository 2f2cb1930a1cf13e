"""What a repair is asked for: its method, its goal, its audits and its columns, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairaudit.data.roles import Roles, column_names
from fairaudit.errors import InputError
from fairaudit.remedy.goal import Goal
from fairaudit.remedy.methods import METHODS, Method
from fairaudit.testing.permutations import Permutations

if TYPE_CHECKING:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.models import Predictor

__all__ = ["check_correction", "goal_of", "method_for", "plan_of", "roles_of"]


def method_for(method: Any, *, mu: Any, given: Sequence[Any]) -> Method | None:
    """The method; None is a search."""
    if method is None:
        method = "search" if mu == "auto" and all(value is None for value in given) else "fairicp"
    if method != "search":
        chosen: Method = METHODS.get(method)
        return chosen
    if mu != "auto" or any(value is not None for value in given):
        raise InputError(
            "A search has no value or setting of one method. Name a 'method', or leave 'mu', "
            "'mus', 'steps', 'objective', 'training_loss' and 'predictor' out.",
            argument=("method", "mu", "mus", "steps", "objective", "training_loss", "predictor"),
        )
    return None


def goal_of(goal: str | None, kpc: float | None, loss: float | None) -> Goal | None:
    if sum(wish is not None for wish in (goal, kpc, loss)) > 1:
        raise InputError(
            "Choose by one of 'mu', 'goal', 'kpc' and 'loss', and leave the others out.",
            argument=("mu", "goal", "kpc", "loss"),
        )
    if goal is not None:
        return Goal.parse(goal)
    return None if kpc is None and loss is None else Goal(kpc=kpc, loss=loss)


def plan_of(permutations: Permutations | int, seed: int, **settings: Any) -> Plan:
    from fairaudit.auditing.audit_plan import Plan

    copies = Permutations(n=permutations) if isinstance(permutations, int) else permutations
    settings.setdefault("locate", False)
    return Plan(permutations=replace(copies, seed=seed), power=False, with_r=False, **settings)


def check_correction(
    method: Method | None, old: Predictor | None, *, drop: Sequence[str], use_sensitive: bool
) -> None:
    if method is None or not method.corrects:
        return
    unseen = use_sensitive and "use_sensitive" not in method.takes
    if old is None or unseen or drop:
        neither = "and neither 'use_sensitive' nor 'drop'" if unseen else "and not 'drop'"
        raise InputError(
            f"The method {method.name} corrects a model: pass 'model', {neither}.",
            argument=("model", "use_sensitive", "drop"),
        )


def roles_of(roles: Roles | None, sensitive: Any, outcome: str | None, **others: Any) -> Roles:
    if roles is not None:
        return roles
    names = column_names(sensitive or ())
    if not names:
        raise InputError(
            "No sensitive attribute. Pass 'sensitive', names of columns.", argument="sensitive"
        )
    return Roles(sensitive=names, outcome=outcome, **others)
