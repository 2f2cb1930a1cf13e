"""What a reader must be warned of before the numbers: a table that answers another question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit.data.columns import Column, level_text
from fairaudit.data.counted_table import count_rows
from fairaudit.data.table import AuditTable

__all__ = ["FEW", "cautions", "warnings_about"]

FEW = 10  # people of a group; no count is told, since groups of so few are masked
_MOST_NAMED = 5


def cautions(
    table: AuditTable, features: Sequence[str] = (), regressor: str | None = None
) -> tuple[str, ...]:
    """Warnings about an outcome that is an input, tiny groups, and a model of another kind.

    `regressor` is the kind of a model that predicts numbers.
    """
    outcome = table.require_outcome()
    twice = [
        column.name
        for column in table.attributes
        if column.name == outcome.name or _same_values(column, outcome)
    ]
    of_classes = outcome.kind.is_categorical and table.prediction.form == "scores"
    return warnings_about(
        outcome.name,
        features,
        twice=twice,
        few=_few_people(table),
        regressor=regressor if of_classes else None,
    )


def warnings_about(
    outcome: str,
    features: Sequence[str],
    *,
    twice: Sequence[str] = (),
    few: Sequence[str] = (),
    regressor: str | None = None,
) -> tuple[str, ...]:
    """The sentences; `twice` are attributes that are the outcome, `few` are tiny groups."""
    warnings = []
    if outcome in features:
        warnings.append(
            f"The outcome {outcome!r} is also a feature of the model, so the model sees what it "
            "has to predict. Take it out of the model, or name another outcome."
        )
    warnings += [
        f"The outcome {outcome!r} is also a sensitive attribute ({name}). Given the outcome it "
        "does not vary, so nothing can be learned about it."
        for name in twice
    ]
    if few:
        more = f" and {len(few) - _MOST_NAMED} more" if len(few) > _MOST_NAMED else ""
        warnings.append(
            f"Groups of very few people, down to one person: {', '.join(few[:_MOST_NAMED])}{more}. "
            "What is said about them rests on these few; join them with others, or leave them out."
        )
    if regressor is not None:
        warnings.append(
            f"The model ({regressor}) is a regressor and the outcome {outcome!r} has classes: its "
            "predictions are neither labels nor probabilities of them. They are tested as scores; "
            "rates take them at a threshold."
        )
    return tuple(warnings)


def _same_values(column: Column, outcome: Column) -> bool:
    """Every value of the column goes with one value of the outcome, and the other way round."""
    if len(column.levels) != len(outcome.levels) or len(column.levels) < 2:
        return False
    if len(column.levels) == len(column):  # values that are all different go with anything
        reverse = len(column) - 1 - outcome.codes
        return any(np.array_equal(column.codes, codes) for codes in (outcome.codes, reverse))
    goes_with = np.zeros(len(column.levels), dtype=np.intp)
    goes_with[column.codes] = outcome.codes
    one_to_one = len(np.unique(goes_with)) == len(outcome.levels)
    return one_to_one and bool((goes_with[column.codes] == outcome.codes).all())


def _few_people(table: AuditTable) -> list[str]:
    """Levels of attributes that very few people have."""
    warnings = []
    for column in table.attributes:
        if not column.kind.is_categorical:
            continue
        codes = column.codes
        if table.ids is not None:
            people = len(table.ids.levels)
            codes = np.unique(codes * people + table.ids.codes) // people
        counts = np.bincount(codes, table.times, len(column.levels))
        warnings += [
            f"{column.name} = {level_text(level)}"
            for level, count in zip(column.levels, counts, strict=True)
            if count < min(FEW, count_rows(table) / 4)
        ]
    return warnings
