"""Words and names in reports: on one line, counted, joined."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit._words import as_words, quiet

__all__ = [
    "LONGEST",
    "LONGEST_NOTE",
    "capitalize",
    "clean",
    "end_sentence",
    "join_names",
    "list_values",
    "raise_start",
    "several",
]

LONGEST = 400  # characters of one cell or sentence
LONGEST_NOTE = 1_600


def clean(text: str, most: int = LONGEST) -> str:
    """One line that no log takes for a command, cut at `most` characters.

    Examples
    --------
    >>> clean("a\\x1b[31m\\n b"), clean("abcdef", 4), clean("")
    ('a [31m b', 'abc…', '(empty)')
    """
    line = " ".join(quiet(text).split())
    if len(line) > most:
        line = line[: most - 1] + "…"
    return line or "(empty)"


def several(count: int, singular: str, plural: str | None = None) -> str:
    """A count and its noun.

    Examples
    --------
    >>> several(1, "copy", "copies"), several(1200, "copy", "copies"), several(2, "more group")
    ('1 copy', '1,200 copies', '2 more groups')
    """
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def join_names(names: Sequence[str]) -> str:
    """``race, sex and age``; a dash where there is none."""
    return as_words(names) if names else "–"


def list_values(values: Sequence[str], most: int) -> str:
    """The first values with commas, and how many more there are."""
    more = len(values) - most
    return ", ".join(values[:most]) + (f", … and {more:,} more" if more > 0 else "")


def capitalize(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]


def end_sentence(text: str) -> str:
    """With a large first letter and a period.

    Examples
    --------
    >>> end_sentence("yes: 3 of 4"), end_sentence("No.")
    ('Yes: 3 of 4.', 'No.')
    """
    return capitalize(text) if text.endswith(".") else f"{capitalize(text)}."


def raise_start(because: str) -> str:
    """The reason of a verdict with its first words, up to the colon, in capitals.

    Examples
    --------
    >>> raise_start("Not less fair: the gap goes from 0.1 to 0.1.")
    'NOT LESS FAIR: the gap goes from 0.1 to 0.1.'
    """
    start, _, rest = clean(because, LONGEST_NOTE).partition(": ")
    return f"{start.upper()}: {rest}"
