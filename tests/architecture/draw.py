"""The picture of docs/architecture.md, drawn from the imports that are there.

python tests/architecture/draw.py          # or: make architecture
"""

from __future__ import annotations

import sys
from collections import Counter
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from graph import LAYERS, imports_between_modules, unit_of
from source import ROOT

PICTURE = ROOT / "docs" / "images" / "architecture.svg"
_LEFT, _TOP, _ROW, _CELL, _WIDTH = 118.0, 50.0, 16.0, 10.8, 360.0
_SHADES = ((20, "#1b4965"), (5, "#3f7ea6"), (1, "#9cc5de"))  # imports of modules: at least


def draw() -> str:
    """Every unit is a row and a column, the roof first; a square: the row imports the column."""
    units = [unit for layer in LAYERS for unit in layer]
    pairs = ((unit_of(start), unit_of(end)) for start, end in imports_between_modules())
    counts = Counter(pair for pair in pairs if None not in pair and pair[0] != pair[1])
    parts = [*_head(units, len(counts)), *_bands()]
    for row, unit in enumerate(units):
        y = _TOP + row * _ROW
        parts.append(_text(14, y + 11.5, str(row + 1), size=8, anchor="end", fill="#555"))
        parts.append(_text(18, y + 11.5, unit.removeprefix("fairaudit."), size=9.5))
        for column, other in enumerate(units):
            count = counts[unit, other]
            if row == column:
                parts.append(_square(column, y, "#222", unit))
            elif count:
                fill = next(shade for least, shade in _SHADES if count >= least)
                parts.append(_square(column, y, fill, f"{unit} imports {other}"))
    return "\n".join([*parts, *_legend(_TOP + len(units) * _ROW + 16), "</svg>"]) + "\n"


def _head(units: list[str], pairs: int) -> list[str]:
    height = _TOP + len(units) * _ROW + 52
    told = "Which package imports which: all squares lie to the right of the diagonal"
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height:g}" role="img" '
        f'aria-label="{told}" font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{_WIDTH:g}" height="{height:g}" fill="#fff"/>',
        _text(4, 14, "A row imports the columns that are marked", size=11, weight="bold"),
        _text(4, 28, f"{len(units)} packages and modules, {pairs} pairs", size=9, fill="#555"),
        *(
            _text(
                _LEFT + (column + 0.5) * _CELL, _TOP - 4, str(column + 1), size=7.5, anchor="middle"
            )
            for column in range(len(units))
        ),
    ]


def _bands() -> list[str]:
    """A line under each layer; gray where an import would go up or sideways."""
    parts, place = [], 0
    for layer in LAYERS:
        y, width = _TOP + place * _ROW, (place + len(layer)) * _CELL
        parts.append(
            f'<rect x="{_LEFT:g}" y="{y:g}" width="{width:g}" height="{len(layer) * _ROW:g}" '
            'fill="#ececec"/>'
        )
        place += len(layer)
        line = _TOP + place * _ROW
        parts.append(f'<path d="M2 {line:g}H{_WIDTH - 4:g}" stroke="#bbb" stroke-width=".6"/>')
    return parts


def _square(column: int, y: float, fill: str, told: str) -> str:
    x = _LEFT + column * _CELL
    return (
        f'<rect x="{x + 1:g}" y="{y + 3:g}" width="{_CELL - 2:g}" height="{_ROW - 6:g}" '
        f'fill="{fill}"><title>{escape(told)}</title></rect>'
    )


def _legend(y: float) -> list[str]:
    parts = []
    words = ("20 imports or more", "5 to 19", "1 to 4", "itself", "not allowed")
    fills = (*(fill for _, fill in _SHADES), "#222", "#ececec")
    for x, word, fill in zip((4, 108, 166, 218, 266), words, fills, strict=True):
        parts.append(f'<rect x="{x}" y="{y - 8:g}" width="9" height="9" fill="{fill}"/>')
        parts.append(_text(x + 12, y, word, size=9))
    parts.append(
        _text(4, y + 18, "Lazy imports and those for types count. Lines part the layers.", size=9)
    )
    return parts


def _text(
    x: float,
    y: float,
    words: str,
    *,
    size: float,
    anchor: str = "start",
    fill: str = "#111",
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}" fill="{fill}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
