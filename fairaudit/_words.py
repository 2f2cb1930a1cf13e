"""Small helpers for text that people read."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["as_words", "clipped", "figures", "in_figure", "quiet", "round_outwards", "some_names"]


def as_words(names: Sequence[str], last_word: str = "and") -> str:
    """``race, sex and age``.

    Examples
    --------
    >>> as_words(["race", "sex", "age"]), as_words(["sex"])
    ('race, sex and age', 'sex')
    """
    *first, last = names
    return f"{', '.join(first)} {last_word} {last}" if first else last


def clipped(value: Any, most: int = 60) -> str:
    """A value in a message: quoted, on one line, and not longer than people read.

    Examples
    --------
    >>> print(clipped("two\\nlines"), clipped("x" * 1000, 8))
    'two\\nlines' 'xxxxxxx…
    """
    shown = repr(value[: most + 1] if isinstance(value, str) else value)
    return shown if len(shown) <= most + 2 else f"{shown[:most]}…"


def figures(value: float, digits: int = 4) -> str:
    """A number with so many figures, and an exponent only where it would have many zeros.

    Examples
    --------
    >>> figures(25381.7), figures(0.05), figures(2.4e-14)
    ('25380', '0.05', '2.4e-14')
    """
    return f"{float(f'{value:.{digits}g}'):.12g}"


def round_outwards(low: float, high: float) -> tuple[float, float]:
    """Round numbers that a range lies between: its ends are the values of single people.

    Examples
    --------
    >>> round_outwards(17, 90), round_outwards(0.0132, 0.9788), round_outwards(-2.48, 4.98)
    ((10.0, 90.0), (0.0, 1.0), (-3.0, 5.0))
    """
    span = (high - low) or abs(high)
    if not 0 < span < math.inf:
        return low, high
    tenth = span / 10
    power = 10.0 ** math.floor(math.log10(tenth))
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= tenth)
    ends = (math.floor(low / step) * step, math.ceil(high / step) * step)
    return float(f"{ends[0]:.12g}") + 0.0, float(f"{ends[1]:.12g}") + 0.0


def some_names(names: list[str], most: int = 12) -> str:
    """Names in a message: as they are if they are plain, the first few if they are many."""
    plain = [name if name.isprintable() and len(name) <= 60 else clipped(name) for name in names]
    return ", ".join(plain[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


def quiet(text: str) -> str:
    """One line that does nothing to a terminal or to the log of a CI runner.

    Names come from the audited table. Control characters become spaces, and what GitHub, Azure or
    TeamCity take for a command (``::add-mask::``, ``##[group]``) is broken by a space.

    Examples
    --------
    >>> quiet("a\\x1b[31m\\n::add-mask::b"), quiet("##[stop-commands]x ##vso[task]")
    ('a [31m : :add-mask: :b', '# #[stop-commands]x # #vso[task]')
    """
    line = "".join(char if char.isprintable() else " " for char in text)
    return re.sub(r"#(?=#\w*\[)", "# ", re.sub(r":(?=:)", ": ", line))


def in_figure(text: str) -> str:
    """A name that matplotlib shows as it is.

    It takes what stands between dollars for a formula, and leaves names that begin with an
    underscore out of legends.

    Examples
    --------
    >>> in_figure("$0-$50"), in_figure("_other")
    ('\\\\$0-\\\\$50', ' _other')
    """
    shown = quiet(text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
