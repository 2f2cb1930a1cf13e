"""What the test says about placebos and planted violations, as facts and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports import html_parts as h
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.svg import histogram
from fairaudit_reports.terminal import clean, p_text

if TYPE_CHECKING:
    from fairaudit.power.result import Calibration

__all__ = ["calibration_facts", "calibration_part"]


def calibration_facts(found: Calibration, alpha: float) -> list[tuple[str, str]]:
    """Names and facts."""
    placebos = len(found.p_values)
    return [
        ("calibrated", "yes" if found.passed else clean(f"no; {found.because}")),
        ("placebo", f"{found.alarms:.1%} of {placebos} placebos have p ≤ {alpha:g}; p-values not "
                    f"too small: p = {p_text(found.uniform)}"),
        ("planted", clean(f"a violation of {found.shift:.2f} sd for {found.group} was found in "
                          f"{found.found:.0%} of the tables")),
    ]  # fmt: skip


def calibration_part(found: Calibration | None, alpha: float) -> Markup | None:
    """A part of the section about belief."""
    if found is None:
        return None
    return join([
        tag("h3", "Calibration on this table"),
        h.paragraph(
            "Placebos are the model’s own predictions, exchanged between rows with the same "
            "outcome: they carry nothing about the attributes beyond it. Their p-values must be "
            "spread evenly from 0 to 1; and a violation that is planted must be found."
        ),
        h.listing(calibration_facts(found, alpha)),
        tag("figure", histogram(
            list(found.p_values), None, title="p-values of the placebos",
            description=f"{len(found.p_values)} p-values from {min(found.p_values):.3g} to "
                        f"{max(found.p_values):.3g}.",
        ), tag("figcaption", "p-values of the placebos")),
    ])  # fmt: skip
