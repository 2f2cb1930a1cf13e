"""A result for people who read logs: plain text, or the same content in colour on a terminal."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from fairaudit._words import as_words, quiet
from fairaudit.auditing.findings import Verdict
from fairaudit_reports.repeat import command_lines
from fairaudit_reports.selection import shown_cells

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.findings import Finding
    from fairaudit.evidence.localization.claims import Localisation
    from fairaudit.evidence.measured import Cell, CellTable, Estimate, MeasuredValue

__all__ = [
    "about_cells",
    "adjustment",
    "cell_rows",
    "clean",
    "copies_facts",
    "count_text",
    "findings_rows",
    "fixed",
    "headline",
    "how_to_read",
    "measures_rows",
    "p_text",
    "question",
    "render",
    "sentence",
    "show",
    "shown_findings",
    "table_facts",
]

WIDTH = 96
MOST_CELLS = 12
MOST_FINDINGS = 30
LONGEST = 400  # characters of one cell or sentence
COLOURS = {
    Verdict.VIOLATION: "bold red",
    Verdict.NO_VIOLATION: "bold green",
    Verdict.INCONCLUSIVE: "bold yellow",
    Verdict.EQUIVALENT: "bold green",
}
_UNIT = ("mean_error_difference",)  # in the unit of the outcome; all others are about 0 to 1
_ADJUSTMENTS = {"holm": "Holm", "fdr_bh": "Benjamini and Hochberg"}

Row = list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A titled part of the report: a table, then sentences."""

    title: str
    rows: Sequence[Row] = ()
    head: Row | None = None
    right: frozenset[int] = frozenset()
    lines: tuple[str, ...] = ()
    bullets: bool = False
    bold: frozenset[int] = frozenset()


def render(result: AuditResult) -> str:
    """Plain text of at most 96 columns, without control sequences."""
    parts = [textwrap.fill(" ".join(headline(result)), WIDTH, break_on_hyphens=False)]
    parts += ["\n".join(_plain(block)) for block in _content(result)]
    return "\n\n".join(parts) + "\n"


def show(result: AuditResult, console: Console | None = None) -> None:
    """Print the same in colour on a terminal, and `render` anywhere else."""
    if console is None:
        from rich.console import Console

        console = Console(highlight=False)
    if not console.is_terminal:
        known = getattr(console.file, "encoding", None) or "utf-8"
        console.file.write(render(result).encode(known, "replace").decode(known))
        return
    from rich.text import Text

    mark, rest = headline(result)
    width = min(console.width, WIDTH)
    title = Text.assemble((mark, COLOURS[result.verdict]), " ", rest)
    for part in (title, *(_rich(block) for block in _content(result))):
        console.print(part, width=width, soft_wrap=False, highlight=False)
        console.print()


# What is said, for this and the other formats.


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


def headline(result: AuditResult) -> tuple[str, str]:
    """The verdict in capitals, and the rest of its sentence."""
    because = clean(result.because, 4 * LONGEST)
    begins = r"^(no violation( found)?|violation|inconclusive|equivalent within tolerance)\b"
    rest = re.sub(begins, "", because, flags=re.I)
    mark = result.verdict.value.upper()
    return (mark + ":", rest[1:].strip()) if rest.startswith(":") else (mark, rest.strip())


def question(finding: Finding) -> str:
    """What was asked, in few words."""
    names = as_words(finding.attributes)
    if finding.family == "joint":
        return clean(f"{names} together" if len(finding.attributes) > 1 else names)
    asked = {"attribute": f"{names} alone", "pair": names, "outcome": f"where {finding.name}"}
    return clean(asked.get(finding.family, finding.name))


def sentence(finding: Finding, result: AuditResult) -> str:
    """A significant finding behind the gate, as a sentence."""
    names, outcome = as_words(finding.attributes), result.table.outcome.name
    if finding.outcome is None:
        what = f"The prediction carries information about {names} that the outcome {outcome} does "
        return clean(f"{what}not explain ({_evidence(finding)}).")
    what = f"Where {finding.outcome}, the prediction carries information about {names}"
    return clean(f"{what} ({_evidence(finding)}).")


def _evidence(finding: Finding) -> str:
    """``adjusted p = 0.006, KPC 0.113, 2,000 rows``."""
    size = "" if finding.kpc is None else f"KPC {fixed(finding.kpc)}, "
    return f"adjusted p = {p_text(finding.p_adjusted)}, {size}{finding.rows:,} rows"


def adjustment(result: AuditResult) -> str:
    return _ADJUSTMENTS.get(result.adjust, clean(result.adjust))


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


def fixed(value: float | None, digits: int = 3) -> str:
    """A number with so many decimals; never ``-0.000``.

    Examples
    --------
    >>> fixed(0.0819), fixed(-0.0001), fixed(None)
    ('0.082', '0.000', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def count_text(count: int | None) -> str:
    """A count; one that is masked is `few`.

    Examples
    --------
    >>> count_text(1234), count_text(None)
    ('1,234', 'few')
    """
    return "few" if count is None else f"{count:,}"


def table_facts(result: AuditResult) -> list[tuple[str, str]]:
    """What was audited: names and facts; the name is empty where the one before goes on."""
    table, capsule = result.table, result.capsule
    rows = f"{table.rows:,}"
    if table.ids is not None:
        rows += f" of {table.people:,} people (by {table.ids})"
    facts = [("rows", rows), ("prediction", table.prediction)]
    facts += [("outcome", table.outcome.describe())]
    facts += _under("attributes", [column.describe() for column in table.attributes])
    if table.features:
        some = ", ".join(table.features[:12]) + (", …" if len(table.features) > 12 else "")
        facts.append(("features", f"{len(table.features)} ({some})"))
    if table.weights is not None:
        facts.append(("weights", table.weights))
    facts += _under(
        "left out", [f"{count_text(one.rows)} rows: {one.reason}" for one in table.excluded]
    )
    if capsule.model is not None:
        facts.append(("model", " ".join(filter(None, [capsule.model.path, _kind(result)]))))
    facts += _under("data", [one.path or one.kind for one in capsule.data])
    if result.tolerance:
        limits = (f"{name} up to {limit:g}" for name, limit in result.tolerance.items())
        facts.append(("tolerated", ", ".join(limits)))
    return [(name, clean(fact)) for name, fact in facts]


def _kind(result: AuditResult) -> str:
    model = result.capsule.model
    name = "" if model is None else model.kind.rpartition(".")[2]
    return f"({name})" if model is not None and model.path else name


def _under(name: str, facts: Sequence[str], most: int = 12) -> list[tuple[str, str]]:
    shown = [*facts[:most], *([f"… and {len(facts) - most} more"] if len(facts) > most else [])]
    return [(name if k == 0 else "", fact) for k, fact in enumerate(shown)]


def shown_findings(result: AuditResult, most: int) -> tuple[list[Finding], int]:
    """Findings to list (the gate, the significant ones, then the others), and how many are left."""
    behind = sorted(result.findings[1:], key=lambda one: not one.significant)[: most - 1]
    kept = {id(one) for one in (result.joint, *behind)}
    shown = [one for one in result.findings if id(one) in kept]
    return shown, len(result.findings) - len(shown)


def findings_rows(findings: Sequence[Finding]) -> tuple[Row, list[Row]]:
    """Header and rows."""
    rows = [
        [
            question(one),
            f"{one.rows:,}",
            fixed(one.kpc),
            p_text(one.p_value),
            "" if one.family == "joint" else p_text(one.p_adjusted),
            _mark(one),
        ]
        for one in findings
    ]
    return ["question", "rows", "KPC", "p", "adjusted p", ""], rows


def _mark(finding: Finding) -> str:
    if finding.inconclusive is not None or finding.p_value is None:
        return "not settled"
    return "significant" if finding.significant else ""


def how_to_read(result: AuditResult) -> str:
    """What the p-values mean for the verdict."""
    if len(result.findings) == 1:
        return f"It decides at level {result.alpha:g}."
    return (
        f"The first question decides at level {result.alpha:g}. The others count only where it "
        f"is significant; their p-values are adjusted for one another ({adjustment(result)})."
    )


def measures_rows(result: AuditResult) -> tuple[Row, list[Row]]:
    """Header and rows; KPC of single attributes is left to the findings that state it."""
    stated = {one.attributes for one in result.findings[1:] if one.outcome is None}
    shown = [one for one in result.measures if one.key != "kpc" or one.attributes not in stated]
    rows = [
        [clean(x.name), _size(x), clean(", ".join(x.attributes)), clean(x.note) if x.note else ""]
        for x in shown
    ]
    return ["measure", "value", "attributes", ""], rows


def _size(measure: MeasuredValue) -> str:
    if measure.value is None or measure.key not in _UNIT:
        return fixed(measure.value)
    return f"{measure.value:.4g}"


def cell_rows(table: CellTable, cells: Sequence[Cell], digits: int = 3) -> tuple[Row, list[Row]]:
    """Header and rows of these cells: estimates with their 95 % intervals."""
    several = any(cell.people != cell.rows for cell in table.cells)
    head = [*(clean(name) for name in table.attributes), "rows"]
    head += ["people"] if several else []
    return [*head, *map(clean, table.columns)], [_cell(one, several, digits) for one in cells]


def _cell(cell: Cell, several: bool, digits: int) -> Row:
    levels = [clean(level) for level in cell.levels]
    counts = [cell.rows, cell.people] if several else [cell.rows]
    if cell.masked:
        return [*levels, *("hidden" for _ in counts), *("–" for _ in cell.estimates)]
    shown = [f"{count or 0:,}" for count in counts]
    return [*levels, *shown, *(estimate_text(one, digits) for one in cell.estimates)]


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
        return fixed(value, digits) if 0 <= value <= 1 else f"{value:.3g}"
    if not 0 <= low <= high <= 1:
        size = max(abs(low), abs(high))
        digits = max(0, 2 - int(f"{size:e}".split("e")[1]))
    return f"{fixed(value, digits)} [{fixed(low, digits)}, {fixed(high, digits)}]"


def about_cells(table: CellTable, left: int, elsewhere: str) -> tuple[str, ...]:
    """What a reader must know about the cells, as sentences."""
    lines = ["Brackets are 95 % intervals." + (f" {_capital(table.note)}." if table.note else "")]
    if table.masked:
        groups = "1 group is" if table.masked == 1 else f"{table.masked} groups are"
        lines.append(
            f"{groups} hidden, to protect groups of few people; what they enter is rounded."
        )
    if left:
        lines.append(f"{_more(left, 'group')}: {elsewhere}.")
    if table.unlisted:
        lines.append(f"{_more(table.unlisted, 'combination')} without rows.")
    return tuple(clean(line) for line in lines)


def _more(count: int, what: str) -> str:
    return f"{count:,} more {what}" + ("s" if count != 1 else "")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def copies_facts(result: AuditResult) -> list[tuple[str, str]]:
    """How the copies behind the p-value were made, and whether they can be believed."""
    quality, joint = result.quality, result.joint
    facts = [
        ("copies", f"{joint.copies:,}, {quality.copies_by}"),
        ("trustworthy", f"{'yes' if quality.trustworthy else 'no'}; {quality.because}"),
    ]
    checks = [("copies", quality.copy_check), ("density", quality.calibration)]
    done = [f"{name} p = {p_text(p)}" for name, p in checks if p is not None]
    if done:
        facts.append(("checks", ", ".join(done)))
    facts.append(("moved", f"{quality.moved:.0%} of the rows differ between data and copies"))
    if joint.p_value is not None:
        low, high = joint.p_interval
        simulated = f"95 % interval by simulation {low:.3g} to {high:.3g}"
        facts.append(("p-value", f"{p_text(joint.p_value)} ({simulated})"))
    if result.calibration is not None:
        from fairaudit_reports.calibration import calibration_facts

        facts += calibration_facts(result.calibration, result.alpha)
    return [(name, clean(fact)) for name, fact in facts]


# How it is laid out.


def _content(result: AuditResult) -> list[Block]:
    shown, left = shown_findings(result, MOST_FINDINGS)
    head, rows = findings_rows(shown)
    more = (f"{_more(left, 'question')}: see the JSON report.",) if left else ()
    blocks = [
        Block(title="Audited", rows=[list(fact) for fact in table_facts(result)]),
        Block(
            title="Questions",
            rows=rows,
            head=head,
            right=frozenset({1, 2}),
            lines=(*more, how_to_read(result)),
            bold=frozenset(k for k, one in enumerate(shown) if one.significant),
        ),
    ]
    if result.localisation is not None:
        blocks.append(_place(result.localisation))
    head, rows = measures_rows(result)
    if rows:
        blocks.append(Block(title="Measures", rows=rows, head=head, right=frozenset({1})))
    if result.cells is not None:
        cells, left = shown_cells(result.cells, result.gaps, MOST_CELLS)
        head, rows = cell_rows(result.cells, cells, digits=2)
        counts = range(len(result.cells.attributes), len(head) - len(result.cells.columns))
        about = about_cells(result.cells, left, "see the HTML or JSON report")
        blocks.append(
            Block(title="Groups", rows=rows, head=head, right=frozenset(counts), lines=about)
        )
    blocks += _shown_and_gaps(result)
    blocks.append(Block(title="Copies", rows=[list(fact) for fact in copies_facts(result)]))
    if result.notes:
        notes = tuple(clean(note, 2 * LONGEST) for note in result.notes)
        blocks.append(Block(title="Notes", lines=notes, bullets=True))
    blocks.append(Block(title="Repeat it", rows=_repeat(result)))
    return blocks


def _shown_and_gaps(result: AuditResult) -> list[Block]:
    from fairaudit_reports.equivalence import certificate_rows, gap_rows
    from fairaudit_reports.power import about_power, power_rows

    blocks = []
    if result.certificates:
        head, rows = certificate_rows(result)
        blocks.append(Block(title="Certificates", rows=rows, head=head, right=frozenset({1, 2, 3})))
    if result.gaps is not None and result.gaps.gaps:
        head, rows, about = gap_rows(result, MOST_CELLS)
        blocks.append(Block(title="Gaps", rows=rows, head=head if rows else None, lines=(about,)))
    if result.power is not None and result.power.detectable:
        head, rows = power_rows(result.power)
        right = frozenset(range(1, 6))
        lines = (about_power(result.power),)
        blocks.append(
            Block(title="Could have been found", rows=rows, head=head, right=right, lines=lines)
        )
    return blocks


def _repeat(result: AuditResult) -> list[Row]:
    capsule = result.capsule
    rows = _command_rows("command", capsule.command) + _command_rows("verify", capsule.verify)
    rows.append(["seed", f"{capsule.seed}; {capsule.copies:,} copies, {capsule.steps} steps"])
    rows.append(["with", f"fairaudit {clean(capsule.version)}, Python {clean(capsule.python)}"])
    rows.append(["table", f"sha256 {clean(capsule.table_sha256)}"])
    return [*rows, ["took", f"{result.seconds:.1f} s of CPU, {clean(capsule.created)}"]]


def _command_rows(name: str, command: str | None) -> list[Row]:
    if not command:
        return []
    if len(command) > 2 * LONGEST:
        return [[name, f"of {len(command):,} characters; the HTML and JSON reports have it"]]
    first, *others = command_lines(command, WIDTH - 12)
    return [[name, first], *(["", line] for line in others)]


def _place(place: Localisation) -> Block:
    from fairaudit_reports.localisation import place_lines

    lines = tuple(clean(line, 2 * LONGEST) for line in place_lines(place))
    return Block(title="Where it sits", lines=lines, bullets=True)


def _plain(block: Block) -> Iterator[str]:
    yield block.title
    if block.rows:
        yield from _grid(block, WIDTH - 2)
    for line in block.lines:
        mark = "- " if block.bullets else ""
        indent, hang = "  " + mark, "  " + " " * len(mark)
        yield from textwrap.wrap(
            line, WIDTH, initial_indent=indent, subsequent_indent=hang, break_on_hyphens=False
        )


def _grid(block: Block, width: int) -> Iterator[str]:
    """Aligned columns, two spaces apart; text that does not fit goes on in the next line."""
    rows = [*([block.head] if block.head else []), *block.rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    texts = [k for k in range(len(widths)) if not _numeric(block, k)]
    while sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(texts, key=lambda k: widths[k], default=None)
        if widest is None or widths[widest] <= 8:
            break
        widths[widest] -= 1
    for row in rows:
        cells = [
            textwrap.wrap(cell, widths[k], break_on_hyphens=False) if k in texts else [cell]
            for k, cell in enumerate(row)
        ]
        for line in zip_longest(*cells, fillvalue=""):
            aligned = (
                text.rjust(widths[k]) if k in block.right else text.ljust(widths[k])
                for k, text in enumerate(line)
            )
            yield ("  " + "  ".join(aligned)).rstrip()


def _numeric(block: Block, column: int) -> bool:
    """Nothing but numbers below a header, as in the columns of p-values and estimates."""
    if block.head is None or len(block.head[column]) > 24:
        return False
    body = (row[column] for row in block.rows)
    return column in block.right or all(re.fullmatch(r"[-–\d.,e+ \[\]]{0,40}", x) for x in body)


def _rich(block: Block) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table

    parts: list[RenderableType] = [_text(block.title, "bold")]
    if block.rows:
        table = Table(
            box=None,
            show_header=block.head is not None,
            pad_edge=False,
            padding=(0, 1),
            header_style="dim",
        )
        for k in range(len(block.rows[0])):
            table.add_column(
                _text(block.head[k] if block.head else ""),
                justify="right" if k in block.right else "left",
                no_wrap=_numeric(block, k),
                overflow="fold",
                style="" if block.head or k else "dim",
            )
        for number, row in enumerate(block.rows):
            table.add_row(*map(_text, row), style="bold" if number in block.bold else "")
        parts.append(Padding(table, (0, 0, 0, 2)))
    for line in block.lines:
        if block.bullets:
            item = Table.grid(padding=(0, 1))
            item.add_row(_text("-"), _text(line))
            parts.append(Padding(item, (0, 0, 0, 2)))
        else:
            parts.append(Padding(_text(line, "dim"), (0, 0, 0, 2)))
    return Group(*parts)


def _text(text: str, style: str = "") -> Text:
    """As it is: names may hold what rich would take for markup."""
    from rich.text import Text

    return Text(text, style=style)
