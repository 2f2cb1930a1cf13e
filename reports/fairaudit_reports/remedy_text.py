"""A remedy for people who read logs: both verdicts, what changed, and the curve."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fairaudit_reports.terminal import COLOURS, WIDTH, clean, fixed, p_text
from fairaudit_reports.text import table

if TYPE_CHECKING:
    from fairaudit.remedy.workflow import RemedyResult
    from fairaudit.result import AuditResult

__all__ = ["change_rows", "loss_text", "render", "show"]


def render(result: RemedyResult) -> str:
    """Plain text of at most 96 columns."""
    verdicts = [f"{name} {told}" for name, _, told in _verdicts(result)]
    return "\n".join([*verdicts, "", *_rest(result)]) + "\n"


def show(result: RemedyResult) -> None:
    """Print it, the verdicts in colour on a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        known = getattr(console.file, "encoding", None) or "utf-8"
        console.file.write(render(result).encode(known, "replace").decode(known))
        return
    for name, audit, told in _verdicts(result):
        mark, _, rest = told.partition(":")
        line = Text.assemble(f"{name} ", (mark, COLOURS[audit.verdict]), f":{rest}")
        console.print(line, soft_wrap=True)
    console.print(Text("\n" + "\n".join(_rest(result))), soft_wrap=True)


def change_rows(result: RemedyResult) -> list[tuple[str, str, str]]:
    """Measure, before and after."""
    from fairaudit.remedy.workflow import measured

    before, after = result.before, result.after
    rows = [
        ("verdict", str(before.verdict), str(after.verdict)),
        ("joint test, p", p_text(before.p_value), p_text(after.p_value)),
        ("KPC", fixed(before.joint.kpc), fixed(after.joint.kpc)),
    ]
    for key, name in (("deo", "DEO"), ("mean_error_difference", "mean errors (calibration)")):
        sizes = [measured(one, key) for one in (before, after)]
        if any(size is not None for size in sizes):
            digits = 3 if key == "deo" else 1
            rows.append((name, fixed(sizes[0], digits), fixed(sizes[1], digits)))
    shown = [loss_text(value, result.loss_name) for value in result.loss]
    return [*rows, (result.loss_name, shown[0], shown[1])]


def loss_text(value: float | None, name: str) -> str:
    """A share in percent; another loss with four figures.

    Examples
    --------
    >>> loss_text(0.2113, "misclassified"), loss_text(3021.4, "mean squared error")
    ('21.1 %', '3021')
    """
    if value is None:
        return "–"
    return f"{100 * value:.1f} %" if name == "misclassified" else f"{value:.4g}"


def _verdicts(result: RemedyResult) -> list[tuple[str, AuditResult, str]]:
    old = "plain training" if result.old is None else result.old
    new = f"{result.method}, {result.symbol} = {result.mu:g}"
    return [
        (name, audit, f"{str(audit.verdict).upper()}: {clean(what)}")
        for name, audit, what in (
            ("Before:", result.before, old), ("After: ", result.after, new)
        )
    ]  # fmt: skip


def _rest(result: RemedyResult) -> list[str]:
    rows = result.rows
    curve = [[result.symbol, "loss", "KPC", "DEO", "p", "p, training rows", ""]] + [
        [
            f"{one['mu']:g}", loss_text(one["loss"], result.loss_name), fixed(one["kpc"]),
            fixed(one["deo"]), p_text(one["p_value"]), p_text(one["p_train"]),
            "chosen" if one["chosen"] else "",
        ]
        for one in result.curve.to_dict("records")
    ]  # fmt: skip
    if all(row[3] == "–" for row in curve[1:]):
        curve = [row[:3] + row[4:] for row in curve]
    lines = [
        f"On {rows['audit']:,} rows that neither training nor the choice has seen",
        table([["", "before", "after"], *map(list, change_rows(result))], indent="  "),
        "",
        f"Curve, on the {rows['choice']:,} rows for choosing ({rows['train']:,} to train)",
        table(curve, indent="  "),
        *_wrapped(f"Chosen: {result.because}."),
    ]
    if result.notes:
        lines += ["", "Notes"]
        for note in result.notes:
            lines += _wrapped(clean(note, 800), "- ")
    return lines


def _wrapped(text: str, mark: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent="  " + mark, subsequent_indent="  " + " " * len(mark),
        break_on_hyphens=False,
    )  # fmt: skip
