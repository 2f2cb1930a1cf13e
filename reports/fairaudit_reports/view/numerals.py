"""Numbers as text: with a plain hyphen for logs, with a true minus sign for pages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from fairaudit._words import figures

if TYPE_CHECKING:
    from fairaudit.evidence.measured import Estimate, MeasuredValue

__all__ = [
    "chance_text",
    "count_text",
    "describe_measure",
    "estimate_text",
    "figures_after_point",
    "fixed",
    "loss_text",
    "moment_text",
    "number",
    "p_decimal",
    "p_text",
    "percent",
    "signed",
    "typeset",
]


def p_text(value: float | None) -> str:
    """A p-value with three decimals, with more where it is small.

    Examples
    --------
    >>> p_text(1.0), p_text(0.0502), p_text(0.001), p_text(None)
    ('1.000', '0.0502', '0.001', '–')
    """
    if value is None:
        return "–"
    return f"{value:.3f}" if value >= 0.1 else f"{value:.3g}"


def p_decimal(value: float | None) -> str:
    """A p-value with three significant digits, never an exponent.

    Examples
    --------
    >>> p_decimal(0.05), p_decimal(0.00001234), p_decimal(1e-9), p_decimal(None)
    ('0.05', '0.0000123', '< 0.000001', '–')
    """
    if value is None:
        return "–"
    if 0 < value < 1e-6:
        return "< 0.000001"
    return f"{float(f'{value:.3g}'):.9f}".rstrip("0").rstrip(".")


def fixed(value: float | None, digits: int = 3) -> str:
    """A number with so many decimals and commas between thousands; never ``-0.000``.

    Examples
    --------
    >>> fixed(0.0819), fixed(-0.0001), fixed(5460.2, 0), fixed(None)
    ('0.082', '0.000', '5,460', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text


def typeset(value: float | None, digits: int = 3) -> str:
    """The same on a page: commas between thousands, a true minus sign.

    Examples
    --------
    >>> typeset(-1234.5, 1), typeset(-0.0001), typeset(None)
    ('−1,234.5', '0.000', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    return fixed(value, digits).replace("-", "−")


def signed(value: float | None, digits: int = 3) -> str:
    """A difference: with its sign, unless it is 0.

    Examples
    --------
    >>> signed(0.25), signed(-0.25), signed(-0.0001), signed(None)
    ('+0.250', '-0.250', '0.000', '–')
    """
    text = fixed(value, digits)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def number(value: float, digits: int = 3) -> str:
    """Significant digits without an exponent where that stays short; a true minus sign.

    Examples
    --------
    >>> number(-0.0234567), number(1234567), number(0.05, 2), number(2.4e-14)
    ('−0.0235', '1,234,567', '0.05', '2.4e−14')
    """
    small = 0 < abs(value) < 1e-5
    large = abs(value) >= 1000
    text = f"{value:,.0f}" if large and abs(value) < 1e15 else f"{value:.{digits}g}"
    if not small and "e" in text:
        text = f"{value:.{digits + 4}f}".rstrip("0").rstrip(".")
    return text.replace("-", "−")


def percent(value: float) -> str:
    """A share: ``12.5 %``."""
    text = f"{100 * value:.1f}"
    return f"{text.removesuffix('.0')} %"


def chance_text(share: float | None) -> str:
    """A chance in percent; it is an estimate, and never 0 or 100.

    Examples
    --------
    >>> chance_text(0.914), chance_text(1.0), chance_text(0.0), chance_text(None)
    ('91 %', '> 99 %', '< 1 %', '–')
    """
    if share is None or math.isnan(share):
        return "–"
    if share > 0.99:
        return "> 99 %"
    return "< 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def count_text(count: int | None) -> str:
    """A count; one that is masked is `few`.

    Examples
    --------
    >>> count_text(1234), count_text(None)
    ('1,234', 'few')
    """
    return "few" if count is None else f"{count:,}"


def loss_text(value: float | None, name: str) -> str:
    """A share in percent; another loss with four figures.

    Examples
    --------
    >>> loss_text(0.2113, "misclassified"), loss_text(3021.4, "mean squared error")
    ('21.1 %', '3021')
    """
    if value is None:
        return "–"
    return f"{100 * value:.1f} %" if name == "misclassified" else figures(value)


def estimate_text(estimate: Estimate, digits: int = 3) -> str:
    """``0.89 [0.84, 0.93]``; numbers outside of rates get as many digits as their interval needs.

    Examples
    --------
    >>> from fairaudit.evidence.measured import Estimate
    >>> estimate_text(Estimate(value=0.8888, low=0.8381, high=0.9255, rows=180, people=180), 2)
    '0.89 [0.84, 0.93]'
    >>> estimate_text(Estimate(value=-2.4e-14, low=-7.1389, high=7.1389, rows=235, people=235))
    '0.00 [-7.14, 7.14]'
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None:
        return "–"
    if low is None or high is None:
        return fixed(value, digits) if 0 <= value <= 1 else figures(value, 3)
    if not 0 <= low <= high <= 1:
        digits = figures_after_point(min(max(abs(low), abs(high)), 5 * (high - low)))
    return f"{fixed(value, digits)} [{fixed(low, digits)}, {fixed(high, digits)}]"


def figures_after_point(largest: float) -> int:
    """So many decimals that the largest number has three figures.

    Examples
    --------
    >>> figures_after_point(4.1), figures_after_point(250.0), figures_after_point(0.02)
    (2, 0, 4)
    """
    return 3 if not largest else min(9, max(0, 2 - math.floor(math.log10(abs(largest)))))


def moment_text(created: str) -> tuple[str, str]:
    """Day and time of an ISO date; the text itself where it is none."""
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(created.replace("Z", "+00:00"))
    except ValueError:
        return created, ""
    zone = " UTC" if moment.utcoffset() is not None and not moment.utcoffset() else ""
    return f"{moment.day} {moment:%b %Y}", f"{moment:%H:%M}{zone}"


def describe_measure(measure: MeasuredValue, write: Callable[[float | None], str] = fixed) -> str:
    """What belongs to a number: its interval, what it was before centering, its note.

    Examples
    --------
    >>> from fairaudit.evidence.measured import MeasuredValue
    >>> named = {"key": "kpc", "name": "KPC", "attributes": ("age",)}
    >>> print(describe_measure(MeasuredValue(value=0.02, low=-0.01, high=0.05, raw=-0.2, **named)))
    95 %: -0.010 to 0.050; not centered: -0.200
    """
    parts = []
    if measure.low is not None and measure.high is not None:
        parts.append(f"95 %: {write(measure.low)} to {write(measure.high)}")
    if measure.raw is not None and fixed(measure.raw) != fixed(measure.value):
        parts.append(f"not centered: {write(measure.raw)}")
    return "; ".join([*parts, *([measure.note] if measure.note else [])])
