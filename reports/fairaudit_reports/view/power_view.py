"""What is said of the violations that an audit could have found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.view.numerals import fixed, number
from fairaudit_reports.view.sections import Section
from fairaudit_reports.view.wording import clean

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import Power

__all__ = ["build_power_section"]


def build_power_section(power: Power | None) -> Section | None:
    """One row per group; None where nothing was computed."""
    if power is None:
        return None
    numbers = any(smallest.prediction_gap is not None for smallest in power.detectable)
    rates = any(smallest.tpr_gap is not None for smallest in power.detectable)
    rows = [
        [
            clean(smallest.group),
            "hidden" if smallest.rows is None else f"{smallest.rows:,}",
            "nothing" if smallest.shift is None else f"{fixed(smallest.shift, 2)} sd",
            *([_show_gap(smallest.prediction_gap)] if numbers else []),
            *([fixed(smallest.tpr_gap), fixed(smallest.fpr_gap)] if rates else []),
            fixed(smallest.kpc),
        ]
        for smallest in power.detectable
    ]
    gaps = [*(["prediction gap"] if numbers else []), *(["TPR gap", "FPR gap"] if rates else [])]
    return Section(
        title="Could have been found",
        head=["group", "rows", "score shift", *gaps, "KPC"],
        rows=rows,
        right=frozenset(range(1, 4 + len(gaps))),
        lines=(_explain_power(power, gaps),),
    )


def _show_gap(gap: float | None) -> str:
    return "–" if gap is None else number(gap)


def _explain_power(power: Power, gaps: list[str]) -> str:
    """What the rows say."""
    said = {
        "prediction gap": "predictions in the outcome’s units and ",
        "TPR gap": "the rates and ",
    }
    what = "".join(said.get(name, "") for name in gaps)
    return (
        f"A violation of this size between the group and all others would have been found in at "
        f"least {100 * power.power:g} % of such tables, a smaller one less often. Sizes of one and "
        "the same violation: mean scores given the outcome, in standard deviations on the normal "
        f"scale of their ranks, and what that means for {what}KPC. From "
        f"{power.planted:,} tables with planted violations."
    )
