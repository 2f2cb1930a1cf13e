"""The report of a remedy as one HTML page: before and after, the curve, the groups."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

from fairaudit._words import quiet
from fairaudit_reports import html_parts as h
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.power import power_section
from fairaudit_reports.remedy_groups import groups
from fairaudit_reports.remedy_text import change_rows, fate, loss_text, seen_rows
from fairaudit_reports.svg import Point, far_away, histogram, icon, number, plane, reaching

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.findings import Capsule
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["TONES", "page", "render"]

SECTIONS = {
    "change": "What changed",
    "curve": "The trade-off",
    "groups": "Groups",
    "evidence": "Evidence",
    "power": "What could have been found",
    "notes": "Notes",
    "repeat": "How to repeat it",
}
LIMIT = (
    "The audit found what it says in these rows. Other people, later data or another outcome are "
    "other questions, and a test that finds nothing does not show that there is nothing."
)
TONES = {
    "violation": "violation",
    "no violation found": "none",
    "inconclusive": "open",
    "equivalent within tolerance": "shown",
}
_STYLE = """
.outcome { margin-bottom: 1.25rem; }
.pair { display: grid; gap: 1.25rem; margin: 0 0 1.5rem; }
.pair > * { min-width: 0; }
.pair .banner { align-content: start; }
.banner .was { margin: 0.125rem 0 0; color: var(--verdict); font-size: 1.75rem; font-weight: 700;
  letter-spacing: -0.01em; line-height: 1.15; }
.pair .banner .was::first-letter { text-transform: uppercase; }
.pair .banner .because { font-size: 1rem; }
.pair .banner .icon { width: 3.25rem; height: 3.25rem; }
.pair h3 { margin-top: 0; }
.verdict { color: var(--verdict); font-weight: 650; }
.path { stroke: var(--link); stroke-width: 2; }
.trivial { stroke: var(--muted); stroke-width: 1.5; stroke-dasharray: 5 4; }
.chosen { fill: var(--page); stroke: var(--none); stroke-width: 4; }
.curve { --verdict: var(--none); }
.ring { fill: var(--page); stroke: var(--muted); stroke-width: 2; }
.moved { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 2 2; }
.thin { opacity: 0.55; }
.key .k-dash { width: 1.75rem; height: 0; background: none; border-top: 2px dashed var(--muted);
  vertical-align: 0.25rem; }
.key .k-path { width: 1.75rem; height: 2px; background: var(--link); vertical-align: 0.25rem; }
.key .k-chosen { width: 0.9rem; height: 0.9rem; border-radius: 50%; background: var(--page);
  border: 4px solid var(--none); }
.key .k-ring { width: 0.7rem; height: 0.7rem; border-radius: 50%; background: var(--page);
  border: 2px solid var(--muted); vertical-align: 0; }
@media print, (min-width: 48rem) { .pair { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
"""


def page(title: str, about: str, capsule: Capsule, *inside: str | None) -> str:
    """One HTML document in the look of the audit's report."""
    head = h.head(title, capsule.version, _STYLE)
    left = join([tag("strong", "fairaudit"), f" {about}"])
    brand = h.paragraph(
        tag("span", left), tag("span", f"version {capsule.version}"), class_="brand"
    )
    day, time = h.when(capsule.created)
    footer = tag(
        "footer",
        h.paragraph(LIMIT, class_="limit"),
        h.paragraph(f"fairaudit {capsule.version}, {day} {time}".rstrip()),
    )
    body = tag("body", tag("header", brand), tag("main", *inside), footer)
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def render(result: RemedyResult) -> str:
    """The report as one HTML document."""
    names = h.names(result.after.joint.attributes)
    return page(
        f"{h.capital(str(result.outcome))}: equalized odds of {names} – fairaudit",
        "remedy towards equalized odds",
        result.after.capsule,
        _headline(result),
        _banners(result),
        _facts(result),
        _contents(),
        _change(result),
        _curve(result),
        _section("groups", groups(result)),
        _evidence(result),
        power_section(result.after),
        _notes(result),
        _repeat(result),
    )


def _section(key: str, *inside: str | None) -> Markup:
    head = tag("h2", SECTIONS[key], id=f"{key}-title")
    return tag("section", head, join(inside), id=key, aria_labelledby=f"{key}-title")


def _chosen(result: RemedyResult) -> str:
    return f"{result.method}, {result.symbol} = {result.mu:g}"


def _headline(result: RemedyResult) -> Markup:
    """The outcome: what may be said of the repair as a whole."""
    words = tag(
        "div",
        h.paragraph("Outcome of the repair", class_="kicker name"),
        tag("h1", str(result.outcome), id="verdict"),
    )
    told = join(
        [
            h.paragraph(result.headline, class_="because name"),
            tag("p", "What would help:", class_="because") if result.advice else None,
            tag("ul", *(tag("li", one) for one in result.advice)) if result.advice else None,
        ]
    )
    verdict = str(result.verdict)
    return tag(
        "div",
        icon(verdict),
        words,
        tag("div", told, class_="because"),
        class_=f"banner outcome {TONES[verdict]}",
    )


def _banners(result: RemedyResult) -> Markup:
    old = "plain training" if result.old is None else result.old
    both = []
    for name, what, audit in (
        ("Before", old, result.before),
        ("After", _chosen(result), result.after),
    ):
        verdict = str(audit.verdict)
        words = tag(
            "div",
            h.paragraph(f"{name}: {what}", class_="kicker name"),
            h.paragraph(verdict, class_="was"),
        )
        because = h.paragraph(audit.because, class_="because name")
        kind = f"banner {TONES[verdict]}"
        both.append(tag("div", icon(verdict), words, because, class_=kind))
    return tag("div", *both, class_="pair")


def _facts(result: RemedyResult) -> Markup:
    table, rows = result.after.table, result.rows
    facts = [
        ("Audited rows", f"{rows['audit']:,}", "used for nothing else"),
        ("Rows to train", f"{rows['train']:,}", ""),
        ("Rows to choose", f"{rows['choice']:,}", ""),
        ("Sensitive attributes", ", ".join(one.name for one in table.attributes), ""),
        ("Outcome", table.outcome.name, table.outcome.kind),
        ("Method", result.method, f"{result.symbol} = {result.mu:g}"),
        ("Level α", number(result.after.alpha), ""),
    ]
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", value, tag("small", note) if note else None))
            for name, value, note in facts
        ),
        class_="facts",
    )


def _contents() -> Markup:
    links = (tag("li", tag("a", title, href=f"#{key}")) for key, title in SECTIONS.items())
    return tag("nav", tag("ul", *links), aria_label="Sections")


def _change(result: RemedyResult) -> Markup:
    rows = []
    for name, before, after in change_rows(result):
        told = [text.replace("-", "−") for text in (before, after)]
        if name == "verdict":
            told = [tag("span", text, class_=f"verdict {TONES[text]}") for text in told]
        about = _ABOUT.get(name)
        head = h.row_head(h.capital(name), tag("small", about) if about else None)
        rows.append(h.row(head, h.cell(told[0], "Before"), h.cell(told[1], "After")))
    return _section(
        "change",
        h.paragraph(
            f"Both models on the same {result.rows['audit']:,} rows, which neither training nor "
            "a choice has seen, and by the same copies.",
            class_="lead",
        ),
        h.table(
            "Before and after",
            [("Measure", None), ("Before", None), ("After", None)],
            [h.body(rows)],
        ),
    )


_ABOUT = {
    "joint test, p": "Small: evidence against equalized odds.",
    "KPC": "Size of the dependence on the attributes given the outcome; 0 is none.",
    "DEO": "Distances of the groups’ rates from the common rate, summed.",
    "misclassified": "Share of rows with a wrong label.",
}


def _curve(result: RemedyResult) -> Markup:
    rows = result.curve.to_dict("records")
    symbol = result.symbol
    unit, y_name = (
        (100, "misclassified, %") if result.loss_name == "misclassified" else (1, result.loss_name)
    )
    points = [
        Point(f"{symbol} {one['mu']:g}", one["kpc"], unit * one["loss"], one["chosen"])
        for one in rows
    ]
    mixed = [Point("", one["kpc"], unit * one["loss"]) for one in result.mixture.to_dict("records")]
    chosen = next(one for one in rows if one["chosen"])
    description = (
        f"{h.several(len(rows), 'model')}, from {symbol} = {rows[0]['mu']:g} with KPC "
        f"{h.fixed(rows[0]['kpc'])} and loss {number(rows[0]['loss'])} to {symbol} = "
        f"{rows[-1]['mu']:g} with KPC {h.fixed(rows[-1]['kpc'])} and loss "
        f"{number(rows[-1]['loss'])}. Chosen: {symbol} = {chosen['mu']:g}. The table has the "
        "numbers."
    )
    keys = [
        ("k-path", f"models, by {symbol}"),
        ("k-chosen", "the chosen one"),
        ("k-dash", "plain training mixed with a constant"),
    ]
    figure = tag(
        "figure",
        tag("ul", *(tag("li", tag("i", class_=kind), text) for kind, text in keys), class_="key"),
        plane(
            points,
            mixed,
            x_name="KPC →",
            y_name=f"↑ {y_name}",
            title=f"Loss against KPC on {seen_rows(result)}",
            description=description,
        ),
        tag(
            "figcaption",
            "Lower is more accurate. KPC is 0 under equalized odds; estimates from "
            "few rows can fall below.",
        ),
        class_="curve",
    )
    head = [
        ("Model", None),
        (h.capital(result.loss_name), "n"),
        ("KPC", "n"),
        ("DEO", "n"),
        ("p", "n"),
        ("p, training rows", "n"),
        ("Choice", None),
    ]
    with_deo = any(math.isfinite(one["deo"]) for one in rows)
    body = (_model(one, result, with_deo) for one in rows)
    return _section(
        "curve",
        h.paragraph(
            f"Every model was trained on {result.rows['train']:,} rows and measured on "
            f"{seen_rows(result)}. Chosen: {result.because}.",
            class_="lead name",
        ),
        figure,
        h.paragraph(
            "The dashed line is what anybody can have: give a random share of people the plain "
            "model’s answer and the rest a constant. It lowers the dependence by throwing "
            "information away. A repair is worth its price only below that line. A collapsed model "
            "gives nearly one answer, or its ranking is lost."
        ),
        h.table(
            f"The models on {seen_rows(result)}",
            [one for one in head if with_deo or one[0] != "DEO"],
            [h.body(body)],
        ),
    )


def _model(one: dict[Any, Any], result: RemedyResult, with_deo: bool) -> Markup:
    cells = [
        h.row_head(f"{result.symbol} = {one['mu']:g}"),
        h.cell(loss_text(one["loss"], result.loss_name), h.capital(result.loss_name), "n"),
        h.cell(h.fixed(one["kpc"]), "KPC", "n"),
        *([h.cell(h.fixed(one["deo"]), "DEO", "n")] if with_deo else []),
        *(
            h.cell(h.chance(one[name]) if one[name] == one[name] else "–", label, "n")
            for name, label in (("p_value", "p"), ("p_train", "p, training rows"))
        ),
        h.cell(_fate(one), "Choice"),
    ]
    return h.row(*cells)


def _fate(one: dict[Any, Any]) -> Markup | str | None:
    if not one["chosen"]:
        return fate(one) or None
    mark = tag("span", class_="mark", aria_hidden="true")
    return tag("span", mark, fate(one), class_="good")


# ---------------------------------------------------------------- evidence


def _evidence(result: RemedyResult) -> Markup:
    both = (("Before", result.before), ("After", result.after))
    return _section(
        "evidence",
        h.paragraph(
            "Bars: the statistic on copies of the audited table in which equalized odds holds. "
            "Line: the table as it is. Far to the right of the bars is evidence of a violation.",
            class_="lead",
        ),
        tag("div", *(_null(name, audit) for name, audit in both), class_="pair"),
    )


def _null(name: str, audit: AuditResult) -> Markup:
    joint, tone = audit.joint, TONES[audit.verdict.value]
    null = [value for value in audit.null if value is not None and math.isfinite(value)]
    head = tag("h3", f"{name}: p = {h.chance(joint.p_value)}")
    if not null:
        return tag("div", head, h.paragraph("There are no copies to draw."), class_=tone)
    told = "The observed value is undefined."
    if joint.value is not None:
        told = (
            f"The observed value is {number(joint.value)}; {reaching(null, joint.value):,} of "
            f"{h.several(len(null), 'copy', 'copies')} reach it."
        )
    broken = " The axis is broken." if far_away(null, joint.value) else ""
    chart = histogram(
        null,
        joint.value,
        title=f"{name}: histogram of the statistic {joint.statistic} on copies",
        description=f"The copies range from {number(min(null))} to {number(max(null))}. {told}",
    )
    trust = (
        "" if audit.quality.trustworthy else f" The copies are doubtful: {audit.quality.because}."
    )
    return tag(
        "div", head, tag("figure", chart, tag("figcaption", told + broken + trust)), class_=tone
    )


def _notes(result: RemedyResult) -> Markup:
    before, after = result.before.notes, result.after.notes
    notes = [
        *result.notes,
        *(note for note in after if note in before),
        *(f"Before: {note}" for note in before if note not in after),
        *(f"After: {note}" for note in after if note not in before),
    ]
    if not notes:
        return _section("notes", h.paragraph("There are none."))
    return _section("notes", tag("ul", *(tag("li", note) for note in notes), class_="name"))


def _repeat(result: RemedyResult) -> Markup:
    capsule, saved = result.after.capsule, result.saved
    command = (
        join(
            [
                h.paragraph("The command that was run, in the folder in which its paths begin:"),
                tag("pre", tag("code", quiet(result.command))),
            ]
        )
        if result.command
        else h.paragraph(
            "The remedy was called from Python. No command repeats it, because the objects that it "
            "was given are in no file; its seed and its split are below."
        )
    )
    day, time = h.when(capsule.created)
    versions = {"fairaudit": capsule.version, "Python": capsule.python, **capsule.packages}
    shares = ", ".join(h.percent(share) for share in result.split)
    return _section(
        "repeat",
        command,
        _later(result, saved.path) if saved.path is not None else None,
        _unwritten(result) if result.refused else None,
        h.listing(
            [
                ("Created", f"{day} {time}".strip()),
                ("Seed", f"{result.seed}: the split, the training and the copies"),
                ("Split", f"{shares} to train, to choose and to audit"),
                (
                    "Features",
                    f"{len(result.features):,}: {', '.join(result.features[:40])}"
                    + (", …" if len(result.features) > 40 else ""),
                ),
                ("Copies", f"{capsule.copies:,} in both audits"),
                ("New model", _file(saved.path, saved.kind, saved.sha256)),
                *(("Data", _file(one.path, one.kind, one.sha256)) for one in capsule.data),
                ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
                ("Platform", capsule.platform),
            ]
        ),
    )


def _unwritten(result: RemedyResult) -> Markup:
    return h.paragraph(
        f"The new model was not written, because it is no repair ({result.outcome})."
    )


def _later(result: RemedyResult, model: str) -> Markup:
    """How the new model is audited on rows that do not exist yet."""
    table = result.after.table
    words = [
        "fairaudit",
        "test",
        "--model",
        model,
        "--data",
        "FILE",
        "--outcome",
        _listed(table.outcome.name),
        "--sensitive",
        ",".join(_listed(one.name) for one in table.attributes),
    ]
    return h.paragraph(
        "The new model is an ordinary scikit-learn model. Later rows, in a FILE with the same "
        "columns, are audited by ",
        tag("code", quiet(shlex.join(words))),
        ".",
    )


def _listed(name: str) -> str:
    """A name in a list with commas."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name


def _file(path: str | None, kind: str, digest: str | None) -> Markup:
    named = f"{path} ({kind})" if path else kind
    shown = tag("span", f"SHA-256 {digest}" if digest else "no hash", class_="hash")
    return join([tag("span", named), tag("br"), shown])
