"""HTML and SVG from elements: whatever is not markup already is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

__all__ = ["Markup", "join", "tag"]

_VOID = {"br", "link", "meta"}
#: Control characters, halves of surrogate pairs, ends of lines, and marks that reverse text.
_NOT_TEXT = dict.fromkeys(
    [
        *range(9),
        11,
        12,
        *range(14, 32),
        *range(127, 160),
        *range(0xD800, 0xE000),
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
    ],
    "\ufffd",
)

Attribute: TypeAlias = str | int | float | None


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


def tag(name: str, /, *inside: str | None, **attributes: Attribute) -> Markup:
    """An element; text within it and in its attributes is escaped, `Markup` is kept.

    A trailing underscore of an attribute's name is dropped, others become hyphens; None leaves
    the attribute out.

    Examples
    --------
    >>> tag("th", "<age>", tag("small", "integer"), scope="col", class_="n")
    '<th scope="col" class="n">&lt;age&gt;<small>integer</small></th>'
    """
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            text = f"{value:.6g}" if isinstance(value, float) else str(value)
            words.append(f'{key.rstrip("_").replace("_", "-")}="{_escaped(text)}"')
    start = f"<{' '.join(words)}>"
    return Markup(start if name in _VOID else f"{start}{join(inside)}</{name}>")


def join(parts: Iterable[str | None], between: str = "") -> Markup:
    """The parts one after the other, escaped where they are plain text."""
    return Markup(_escaped(between).join(_escaped(part) for part in parts if part is not None))


def _escaped(text: str) -> str:
    if isinstance(text, Markup):
        return text
    # the same to a browser; no order to the log of a CI runner that prints the page
    return escape(text.translate(_NOT_TEXT)).replace("::", ":&#58;").replace("##", "#&#35;")
