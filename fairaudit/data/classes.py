"""Which class of a model is which level of the outcome: matched by name, never by alphabet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._words import some_names
from fairaudit.data.columns import Column, level_text
from fairaudit.errors import InputError

__all__ = [
    "class_key",
    "classes_given",
    "column_classes",
    "in_classes_of",
    "level_named",
    "matched_levels",
    "model_levels",
    "numbered",
]

_TRUTH = {"true": "1", "false": "0"}
_WRAPPED = re.compile(r"(?:P|score)\((.*)\)", re.DOTALL)


def class_key(level: Any) -> str:
    """The name of a class, however it was typed: 1, 1.0, True and their texts are one class.

    Examples
    --------
    >>> {class_key(one) for one in (1, 1.0, True, "1", "1.0", "true")}
    {'1'}
    """
    text = level_text(level).strip()
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    try:
        return level_text(float(text))
    except ValueError:
        return text


def level_named(name: Any, levels: Sequence[Any]) -> Any:
    """The level of this name: by its exact text, else by an equivalent one; None if none is."""
    for same in (level_text, class_key):
        alike = [level for level in levels if same(level) == same(name)]
        if len(alike) == 1:
            return alike[0]
    return None


def matched_levels(names: Sequence[Any], levels: Sequence[Any]) -> list[Any] | None:
    """The level of every name (itself where there is none), if one list lies within the other."""
    matches = [level_named(name, levels) for name in names]
    known = [level for level in matches if level is not None]
    if len(set(known)) < len(known) or not known:
        return None
    if len(known) < len(names) and len(known) < len(levels):
        return None
    return [name if level is None else level for name, level in zip(names, matches, strict=True)]


def numbered(levels: Sequence[Any]) -> bool:
    """Whether the levels say themselves which is the positive one: 0 and 1, or -1 and 1."""
    keys = {class_key(level) for level in levels}
    return keys <= {"0", "1"} or keys == {"-1", "1"}


def classes_given(classes: Mapping[Any, Any] | None, name: Any) -> Any:
    """The level that the caller says a class means; the class itself where nothing is said."""
    for given, level in (classes or {}).items():
        if class_key(given) == class_key(name):
            return level
    return name


def model_levels(
    names: Sequence[Any],
    levels: Sequence[Any],
    outcome: str,
    *,
    positive: Any = None,
    classes: Mapping[Any, Any] | None = None,
) -> list[Any]:
    """The level of the outcome that each class of a model means.

    Parameters
    ----------
    names : sequence
        The classes of the model, in its own order; of two, the second is its positive class.
    levels : sequence
        The levels of the outcome.
    outcome : str
        Name of the outcome, for the message.
    positive : optional
        The level that the positive class of the model means, where names do not tell.
    classes : mapping, optional
        Class of the model → level.

    Examples
    --------
    >>> model_levels([0, 1], ["0", "1"], "y"), model_levels(["no", "yes"], ["no", "yes"], "y")
    (['0', '1'], ['no', 'yes'])
    >>> model_levels([0, 1], ["arrested", "clear"], "y", positive="arrested")
    ['clear', 'arrested']
    """
    matches = matched_levels([classes_given(classes, name) for name in names], levels)
    if matches is not None:
        return matches
    if positive is not None and not classes and len(names) == 2:
        rest = [level for level in levels if level != positive]
        return [rest[0] if len(rest) == 1 else f"not {level_text(positive)}", positive]
    each = ",".join(f"{level_text(name)}=LEVEL" for name in names[:3])
    ways = f"'classes' ({each}{',…' * (len(names) > 3)}), the level of each class"
    if len(names) == 2:
        means = f"the level that {level_text(names[1])} means"
        ways = f"'positive', {means}, or {ways}"
    raise InputError(
        f"The classes of the model ({_list_names(names)}) are not the levels of the outcome "
        f"{outcome!r} ({_list_names(levels)}), and alphabetical order does not tell "
        f"which is which. Pass {ways}.",
        argument=("positive", "classes"),
    )


def in_classes_of(
    names: Sequence[Any],
    column: Column,
    *,
    positive: Any = None,
    classes: Mapping[Any, Any] | None = None,
) -> NDArray[Any]:
    """The values of an outcome as the classes of a model, so that it can be fitted further."""
    levels = column.levels.tolist()
    chosen = None if positive is None else level_named(positive, levels)
    means = model_levels(names, levels, column.name, positive=chosen, classes=classes)
    place = {level: k for k, level in enumerate(means)}
    return np.asarray(names)[np.array([place[level] for level in levels])[column.codes]]


def column_classes(
    names: Sequence[str], levels: Sequence[Any], classes: Mapping[Any, Any] | None
) -> list[Any] | None:
    """The level that each prediction column speaks of, by its name: ``P(yes)``, ``p_yes``, yes."""
    given = [classes_given(classes, name) for name in names]
    bare = [(_WRAPPED.fullmatch(str(name)) or [name, name])[1] for name in given]
    matches = matched_levels([classes_given(classes, name) for name in bare], levels)
    if matches is not None and len(matches) == len(levels):
        return matches
    ends = [
        [level for level in levels if re.search(rf"[\W_]{re.escape(level_text(level))}$", name)]
        for name in bare
        if isinstance(name, str)
    ]
    only = [end[0] for end in ends if len(end) == 1]
    return only if len(only) == len(names) == len(set(only)) else None


def _list_names(values: Sequence[Any]) -> str:
    return some_names([level_text(value) for value in values])
