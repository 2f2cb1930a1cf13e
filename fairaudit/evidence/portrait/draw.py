"""From a table to its portrait."""

from __future__ import annotations

import numpy as np

from fairaudit.data.columns import level_text
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.evidence.localization.claims import Curve
from fairaudit.evidence.localization.effect_curves import curves_of
from fairaudit.evidence.portrait.binned import (
    PredictionBins,
    ScoreBins,
    bin_predictions,
    bin_scores,
)
from fairaudit.evidence.portrait.compare_people import compare_people
from fairaudit.evidence.portrait.contrast import Contrast, Portrait, largest_possible
from fairaudit.evidence.portrait.groupings import list_groupings, of_attribute
from fairaudit.evidence.portrait.quantities import MOST_CLASSES, list_quantities, read_score

__all__ = ["NAMING", "draw_portrait"]

#: Of alpha: the chance that anybody is named where nobody is treated differently.
NAMING = 0.02
MOST_KEPT = 40  # contrasts, beside those of single attributes
MOST_PAIRS = 20  # contrasts of two groups


def draw_portrait(
    table: AuditTable, *, alpha: float, seed: int, threshold: float | None, curves: bool
) -> Portrait:
    """Compare people, and count what pictures are drawn from; `curves` over numbers if asked."""
    confidence, naming = 1 - alpha, NAMING * alpha
    compared = compare_people(
        table,
        list_groupings(table),
        list_quantities(table, threshold),
        confidence=confidence,
        naming=naming,
        seed=seed,
    )
    score, (quantity, at_most) = read_score(table), largest_possible(compared.contrasts)
    return Portrait(
        confidence=confidence,
        naming=naming,
        critical=compared.critical,
        quantity=quantity,
        at_most=at_most,
        unit=0.0 if score is None else float(f"{score.std():.1g}"),
        contrasts=_keep(compared.contrasts),
        pairs=compared.pairs[:MOST_PAIRS],
        scores=_bin_scores(table, threshold),
        predictions=_bin_predictions(table),
        curves=_draw_curves(table, confidence, seed) if curves else (),
    )


def _keep(contrasts: tuple[Contrast, ...]) -> tuple[Contrast, ...]:
    """The clearest, and those of single attributes by which pictures go."""
    return tuple(
        contrast
        for place, contrast in enumerate(contrasts)
        if place < MOST_KEPT or (len(contrast.attributes) == 1 and contrast.quantity != "score")
    )[: 2 * MOST_KEPT]


def _bin_scores(table: AuditTable, threshold: float | None) -> tuple[ScoreBins, ...]:
    outcome, score = table.require_outcome(), read_score(table)
    if score is None or not outcome.kind.is_categorical or len(outcome.levels) > MOST_CLASSES:
        return ()
    two = len(outcome.levels) == 2
    cut = default_threshold(table) if threshold is None else threshold
    bins = []
    for column in table.attributes:
        grouping = of_attribute(column, 4)
        bins.append(
            bin_scores(
                column.name,
                [levels[0] for levels in grouping.levels],
                grouping.codes,
                scores=score,
                outcome=outcome.codes,
                classes=[level_text(level) for level in outcome.levels],
                positive=level_text(table.positive) if two else None,
                threshold=cut if two else None,
            )
        )
    return tuple(bins)


def _bin_predictions(table: AuditTable) -> tuple[PredictionBins, ...]:
    outcome, score = table.require_outcome(), read_score(table)
    if score is None or outcome.kind.is_categorical:
        return ()
    known = np.asarray(outcome.numeric)
    groupings = [of_attribute(column, 4) for column in table.attributes]
    return tuple(
        bin_predictions(
            grouping.attributes[0],
            [levels[0] for levels in grouping.levels],
            grouping.codes,
            predictions=score,
            outcome=known,
        )
        for grouping in groupings
    )


def _draw_curves(table: AuditTable, confidence: float, seed: int) -> tuple[Curve, ...]:
    fitted = curves_of(table, confidence=confidence, seed=seed, by_groups=False)
    return tuple(curve for curves in fitted for curve in curves.curves)
