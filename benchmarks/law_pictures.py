"""How a copy is made under each law: docs/images/laws.svg, drawn from real copies of 20 rows.

python benchmarks/law_pictures.py > docs/images/laws.svg
"""

from __future__ import annotations

import numpy as np

from fairaudit.data.table import AuditTable
from fairaudit.permute.laws import LAWS

WIDTH, HEIGHT, ROWS = 250, 190, 20
PANELS = (
    ("exact", "classes: anybody with the same outcome"),
    ("icp", "anybody, with the odds of q(y | a)"),
    ("local", "neighbors in the outcome"),
    ("prediction", "predictions move, with q(y | prediction)"),
    ("monotone", "predictions swap within pairs"),
)


def table(classes: bool) -> AuditTable:
    rng = np.random.default_rng(4)
    y = np.arange(ROWS) % 2 if classes else np.sort(rng.normal(size=ROWS))
    a = y + rng.normal(size=ROWS) * 0.7
    return AuditTable.of(y + rng.normal(size=ROWS) * 0.5, a, y)


def copy_of(law: str, drawn: AuditTable) -> np.ndarray:
    chosen = LAWS.get(law)
    if hasattr(chosen, "folds") and law != "exact":
        chosen = type(chosen)(density="ols", folds=1)
    fitted = chosen.prepare(
        drawn.outcome, drawn.attributes, steps=5, seed=1, prediction=drawn.prediction.matrix()
    )
    return fitted.sampler.block(range(1))[0]


def panel(law: str, words: str, left: int) -> list[str]:
    drawn = table(law == "exact")
    moved = (
        drawn.prediction.matrix()[:, 0]
        if law in ("prediction", "monotone")
        else np.asarray(drawn.attributes[0].numeric)
    )
    y = drawn.outcome.codes if law == "exact" else np.asarray(drawn.outcome.numeric)
    jitter = np.random.default_rng(0).uniform(-0.2, 0.2, ROWS) if law == "exact" else 0.0
    x = left + 20 + (WIDTH - 40) * _unit(np.asarray(y, float) + jitter)
    height = 150 - 95 * _unit(moved)
    copy = copy_of(law, drawn)
    side = "prediction" if law in ("prediction", "monotone") else "attribute"
    lines = [
        f'<text x="{left + 12}" y="18" font-size="13" font-weight="bold">{law}</text>',
        f'<text x="{left + 12}" y="34" font-size="10" fill="#555">{words}</text>',
        f'<text x="{left + WIDTH / 2:.0f}" y="178" font-size="10" fill="#555" '
        f'text-anchor="middle">outcome →</text>',
        f'<text x="{left + 9}" y="110" font-size="10" fill="#555" text-anchor="middle" '
        f'transform="rotate(-90 {left + 9} 110)">{side} →</text>',
    ]
    for row, source in enumerate(copy):
        if row != source:
            lines.append(
                f'<path d="M{x[source]:.1f} {height[source]:.1f} L{x[row]:.1f} '
                f'{height[source]:.1f}" stroke="#c60" stroke-width="1" marker-end="url(#tip)"/>'
            )
    points = zip(x, height, strict=True)
    lines += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.6" fill="#036"/>' for a, b in points]
    return lines


def _unit(values: np.ndarray) -> np.ndarray:
    return (values - values.min()) / np.ptp(values)


def main() -> None:
    total = WIDTH * len(PANELS)
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {HEIGHT}" '
        'font-family="sans-serif"><defs><marker id="tip" viewBox="0 0 6 6" refX="5" refY="3" '
        'markerWidth="5" markerHeight="5" orient="auto"><path d="M0 0L6 3L0 6z" fill="#c60"/>'
        f'</marker></defs><rect width="{total}" height="{HEIGHT}" fill="#fff"/>'
    )
    for number, (law, words) in enumerate(PANELS):
        print("\n".join(panel(law, words, number * WIDTH)))
    print("</svg>")


if __name__ == "__main__":
    main()
