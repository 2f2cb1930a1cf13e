"""A remedy for people who read logs: both verdicts, what changed, and the curve."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from fairaudit_reports.terminal import COLOURS, WIDTH, clean, fixed, p_text
from fairaudit_reports.text import table

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["change_rows", "fate", "loss_text", "render", "seen_rows", "show"]


def render(result: RemedyResult) -> str:
    """Plain text of at most 96 columns."""
    verdicts = [f"{name} {told}" for name, _, told in _verdicts(result)]
    return "\n".join([*_headline(result), "", *verdicts, "", *_rest(result)]) + "\n"


def show(result: RemedyResult) -> None:
    """Print it, the outcome and the verdicts in color on a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        known = getattr(console.file, "encoding", None) or "utf-8"
        console.file.write(render(result).encode(known, "replace").decode(known))
        return
    console.print(Text("\n".join(_headline(result)), COLOURS[result.verdict]), soft_wrap=True)
    console.print()
    for name, audit, told in _verdicts(result):
        mark, _, rest = told.partition(":")
        line = Text.assemble(f"{name} ", (mark, COLOURS[audit.verdict]), f":{rest}")
        console.print(line, soft_wrap=True)
    console.print(Text("\n" + "\n".join(_rest(result))), soft_wrap=True)


def change_rows(result: RemedyResult) -> list[tuple[str, str, str]]:
    """Measure, before and after."""
    from fairaudit.remedy.remedy_result import measured

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
        for name, audit, what in (("Before:", result.before, old), ("After: ", result.after, new))
    ]


def _headline(result: RemedyResult) -> list[str]:
    return _wrapped(clean(result.headline, 800), indent="")


def fate(model: dict[Any, Any]) -> str:
    """Of a model of the curve: what became of it."""
    said = [
        name
        for name, holds in (
            ("chosen", model["chosen"]),
            ("collapsed", model["collapsed"] is not None),
            ("worse than the mixture", model["dominated"]),
        )
        if holds
    ]
    return ", ".join(said)


def seen_rows(result: RemedyResult) -> str:
    """On which rows the curve was measured."""
    if result.rows["choice"]:
        return f"the {result.rows['choice']:,} rows for choosing"
    return "the audited rows, since nothing was chosen"


def _rest(result: RemedyResult) -> list[str]:
    rows = result.rows
    curve = [[result.symbol, "loss", "KPC", "DEO", "p", "p, training rows", ""]] + [
        [
            f"{one['mu']:g}",
            loss_text(one["loss"], result.loss_name),
            fixed(one["kpc"]),
            fixed(one["deo"]),
            p_text(one["p_value"]),
            p_text(one["p_train"]),
            fate(one),
        ]
        for one in result.curve.to_dict("records")
    ]
    if all(row[3] == "–" for row in curve[1:]):
        curve = [row[:3] + row[4:] for row in curve]
    lines = [
        f"On {rows['audit']:,} rows that neither training nor a choice has seen",
        table([["", "before", "after"], *map(list, change_rows(result))], indent="  "),
        "",
        f"Curve, on {seen_rows(result)} ({rows['train']:,} to train)",
        table(curve, indent="  "),
        *_wrapped(clean(f"Chosen: {result.because}.", 1600)),
        *_detectable(result),
    ]
    if result.advice:
        lines += ["", "What would help"]
        for one in result.advice:
            lines += _wrapped(clean(one, 800), mark="- ")
    if result.notes:
        lines += ["", "Notes"]
        for note in result.notes:
            lines += _wrapped(clean(note, 800), mark="- ")
    return lines


def _detectable(result: RemedyResult) -> list[str]:
    """What the audit after the repair could have found, group by group."""
    from fairaudit_reports.power import power_rows

    power = result.after.power
    if power is None or not power.detectable:
        return []
    head, rows = power_rows(power)
    return [
        "",
        f"What the audit after the repair could have found with {100 * power.power:g} % power",
        table([head, *rows], indent="  "),
    ]


def _wrapped(text: str, *, mark: str = "", indent: str = "  ") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent + mark,
        subsequent_indent=indent + " " * len(mark),
        break_on_hyphens=False,
    )
