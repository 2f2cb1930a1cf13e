"""What is said of the violations that an audit could have found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.view.numerals import fixed
from fairaudit_reports.view.sections import Section
from fairaudit_reports.view.wording import clean

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import Power

__all__ = ["build_power_section"]


def build_power_section(power: Power | None) -> Section | None:
    """One row per group; None where nothing was computed."""
    if power is None:
        return None
    rows = [
        [
            clean(smallest.group),
            "hidden" if smallest.rows is None else f"{smallest.rows:,}",
            "nothing" if smallest.shift is None else f"{fixed(smallest.shift, 2)} sd",
            fixed(smallest.tpr_gap),
            fixed(smallest.fpr_gap),
            fixed(smallest.kpc),
        ]
        for smallest in power.detectable
    ]
    return Section(
        title="Could have been found",
        head=["group", "rows", "score shift", "TPR gap", "FPR gap", "KPC"],
        rows=rows,
        right=frozenset(range(1, 6)),
        lines=(_explain_power(power),),
    )


def _explain_power(power: Power) -> str:
    """What the rows say."""
    return (
        f"A violation of this size between the group and all others would have been found in "
        f"{100 * power.power:g} % of such tables, a smaller one less often. Sizes of one and the "
        "same violation: mean scores given the outcome, in standard deviations on the normal scale "
        "of their ranks, and what that means for the rates and for KPC. From "
        f"{power.planted:,} tables with planted violations."
    )
