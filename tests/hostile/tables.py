"""Bad tables by composition: defects that are put on a good table, and what must come of them.

`python tests/hostile/tables.py [SECONDS]` runs the torture; `test_tables.py` has the fast part.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import re
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np

ROWS = 120
SCRIPT = "<script>alert('x')</script>"
#: Names and levels that break a report which does not escape them.
HOSTILE = (
    SCRIPT,
    '"><img src=x onerror=alert(1)>',
    "a|b",
    "new\nline",
    "\u202eltr",
    "😀",
    "]]>",
    "&amp;",
    "\x1b[31mred",
    "a\u2028b",
    "'; DROP TABLE",
    "=1+1",
    "${x}",
    "`code`",
    "{{x}}",
    "שלום",
    "%n%s",
    "--",
    "a,b",
    'q"q',
    "back\\slash",
)
MISSING = ("", "NA", "NaN", "null", "None", "?", "-", ".")
FORMATS = ("html", "md", "json", "xml", "sarif", "txt")


@dataclass
class Table:
    """A CSV file in the making, and what is known about it."""

    columns: dict[str, list[str]]
    outcome: str = "y"
    predictions: tuple[str, ...] = ("p",)
    sensitive: tuple[str, ...] = ("sex", "age")
    options: list[str] = field(default_factory=list)
    separator: str = ","
    ending: str = "\n"
    encode: Callable[[str], bytes] = str.encode
    finish: list[Callable[[bytes], bytes]] = field(default_factory=list)
    suffix: str = ".csv"
    dropped: set[int] = field(default_factory=set)  # rows that --missing drop or --where leaves out
    must_fail: bool = False
    may_fail: bool = False
    defects: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def text(self) -> str:
        out = io.StringIO(newline="")
        writer = csv.writer(out, delimiter=self.separator, lineterminator=self.ending)
        writer.writerow(self.columns)
        writer.writerows(zip(*self.columns.values(), strict=True))
        return out.getvalue()

    def write(self, folder: Path) -> Path:
        data = self.encode(self.text())
        for change in self.finish:
            data = change(data)
        path = folder / f"table{self.suffix}"
        path.write_bytes(data)
        return path

    def rename(self, old: str, new: str) -> None:
        self.columns = {new if k == old else k: v for k, v in self.columns.items()}
        self.sensitive = tuple(new if k == old else k for k in self.sensitive)

    def arguments(self, path: Path) -> list[str]:
        def quoted(names: tuple[str, ...]) -> str:
            return ",".join(f'''"{name.replace('"', '""')}"''' for name in names)

        return [
            "test",
            "--data",
            str(path),
            f"--sensitive={quoted(self.sensitive)}",
            f"--predictions={quoted(self.predictions)}",
            f"--outcome={self.outcome}",
            *self.options,
        ]


def good_table(rng: np.random.Generator, rows: int = ROWS) -> Table:
    """Nothing is wrong with it."""
    y = rng.integers(0, 2, rows)
    sex = rng.choice(["f", "m"], rows)
    p = np.clip(0.4 * y + 0.4 * rng.random(rows) + 0.2 * (sex == "m"), 0, 1)
    return Table(
        {
            "p": [f"{value:.4f}" for value in p],
            "y": [str(value) for value in y],
            "sex": list(sex),
            "age": [str(value) for value in rng.integers(18, 80, rows)],
            "note": ["fine"] * rows,
        }
    )


Defect = Callable[[Table, np.random.Generator], None]


def _some(rng: np.random.Generator, table: Table) -> list[int]:
    count = int(rng.integers(1, 6))
    return [int(row) for row in rng.choice(table.rows, count, replace=False)]


def separator(table: Table, rng: np.random.Generator) -> None:
    table.separator = str(rng.choice([";", "\t", "|"]))


def line_ends(table: Table, rng: np.random.Generator) -> None:
    table.ending = str(rng.choice(["\r\n", "\r"]))


def byte_order_mark(table: Table, rng: np.random.Generator) -> None:
    table.encode = lambda text: text.encode("utf-8-sig")


def utf16(table: Table, rng: np.random.Generator) -> None:
    table.encode = lambda text: text.encode("utf-16")


def utf16_unmarked(table: Table, rng: np.random.Generator) -> None:
    table.encode = lambda text: text.encode("utf-16-le")
    table.must_fail = True


def latin1(table: Table, rng: np.random.Generator) -> None:
    table.columns["note"] = ["café"] * table.rows
    table.encode = lambda text: text.encode("latin-1", "replace")
    table.must_fail = True


def packed(table: Table, rng: np.random.Generator) -> None:
    table.finish.append(gzip.compress)


def packed_and_cut(table: Table, rng: np.random.Generator) -> None:
    cut = int(rng.integers(4, 40))
    table.finish.append(lambda data: gzip.compress(data)[:-cut])
    table.must_fail = True


def hostile_name(table: Table, rng: np.random.Generator) -> None:
    name = str(rng.choice(HOSTILE))
    if name not in table.columns:
        table.rename(str(rng.choice(table.sensitive)), name)
        table.may_fail |= table.ending == "\r" or "\n" in name


def hostile_level(table: Table, rng: np.random.Generator) -> None:
    level = str(rng.choice(HOSTILE))
    name = table.sensitive[0]
    table.columns[name] = [level if value == "f" else value for value in table.columns[name]]
    table.may_fail |= table.ending == "\r"


def missing_attribute(table: Table, rng: np.random.Generator) -> None:
    _missing(table, rng, table.sensitive[-1])


def missing_outcome(table: Table, rng: np.random.Generator) -> None:
    _missing(table, rng, table.outcome)


def missing_prediction(table: Table, rng: np.random.Generator) -> None:
    _missing(table, rng, table.predictions[0])


def _missing(table: Table, rng: np.random.Generator, name: str) -> None:
    mark = str(rng.choice(MISSING))
    rows = _some(rng, table)
    for row in rows:
        table.columns[name][row] = mark
    table.dropped |= set(rows)
    if "--missing" not in table.options:
        table.options += ["--missing", "drop"]


def infinite(table: Table, rng: np.random.Generator) -> None:
    name = str(rng.choice([table.predictions[0], table.outcome]))
    table.columns[name][_some(rng, table)[0]] = str(rng.choice(["inf", "-inf", "Infinity"]))
    table.may_fail = True  # the row may be one that is dropped


def thousands(table: Table, rng: np.random.Generator) -> None:
    name = table.sensitive[-1]
    table.columns[name] = [f"{1000 + 17 * row:,}" for row in range(table.rows)]
    table.must_fail = True


def dates(table: Table, rng: np.random.Generator) -> None:
    table.columns[table.sensitive[-1]] = [
        f"19{50 + row % 50}-{row % 12 + 1:02d}-11" for row in range(table.rows)
    ]
    table.must_fail = True


def words_among_numbers(table: Table, rng: np.random.Generator) -> None:
    table.columns[table.predictions[0]][_some(rng, table)[0]] = "high"
    table.may_fail = True


def twice(table: Table, rng: np.random.Generator) -> None:
    def again(data: bytes) -> bytes:
        head, end, rest = data.partition(table.ending.encode())
        return head.replace(b"note", b"p") + end + rest

    table.encode = str.encode
    table.finish.insert(0, again)
    table.must_fail = True


def unnamed(table: Table, rng: np.random.Generator) -> None:
    table.columns = {"": [str(row) for row in range(table.rows)], **table.columns}


def short_row(table: Table, rng: np.random.Generator) -> None:
    table.encode = str.encode
    table.finish.insert(0, lambda data: data + b"0.5" + table.ending.encode())
    table.must_fail = True


def long_row(table: Table, rng: np.random.Generator) -> None:
    extra = table.separator.join("0123456").encode()
    table.encode = str.encode
    table.finish.insert(0, lambda data: data + extra + table.ending.encode())
    table.must_fail = True


def open_quote(table: Table, rng: np.random.Generator) -> None:
    def opened(data: bytes) -> bytes:
        return data.replace(b"fine", b'"fine', 1)

    table.encode = str.encode
    table.finish.insert(0, opened)
    table.must_fail = True


def huge_cell(table: Table, rng: np.random.Generator) -> None:
    table.columns["note"][_some(rng, table)[0]] = "x" * 200_000


def huge_level(table: Table, rng: np.random.Generator) -> None:
    table.columns[table.sensitive[0]][0] = "x" * 5_000
    table.may_fail = True


def zero_byte(table: Table, rng: np.random.Generator) -> None:
    table.encode = str.encode
    table.finish.insert(0, lambda data: data.replace(b"fine", b"fi\0ne", 3))
    table.must_fail = True


def many_levels(table: Table, rng: np.random.Generator) -> None:
    table.columns[table.sensitive[0]] = [f"level {row}" for row in range(table.rows)]
    table.may_fail = True


def one_class(table: Table, rng: np.random.Generator) -> None:
    table.columns[table.outcome] = ["1"] * table.rows


def equal_predictions(table: Table, rng: np.random.Generator) -> None:
    table.columns[table.predictions[0]] = ["0.5"] * table.rows
    table.must_fail = True


def no_rows_left(table: Table, rng: np.random.Generator) -> None:
    table.options += ["--where", "note == 'none such'"]
    table.must_fail = True


def some_rows(table: Table, rng: np.random.Generator) -> None:
    rows = _some(rng, table)
    for row in rows:
        table.columns["note"][row] = "poor"
    table.dropped |= set(rows)
    table.options += ["--where", "note != 'poor'"]


def outside(table: Table, rng: np.random.Generator) -> None:
    table.columns["p"] = [_times(value, 10) for value in table.columns["p"]]


def extreme(table: Table, rng: np.random.Generator) -> None:
    size = float(rng.choice([1e300, 1e-300, 1e160]))
    table.columns["p"] = [_times(value, size) for value in table.columns["p"]]
    table.must_fail = True


def _times(value: str, factor: float) -> str:
    try:
        return repr(float(value) * factor)
    except ValueError:
        return value


DEFECTS: tuple[Defect, ...] = (
    separator,
    line_ends,
    byte_order_mark,
    utf16,
    utf16_unmarked,
    latin1,
    packed,
    packed_and_cut,
    hostile_name,
    hostile_level,
    missing_attribute,
    missing_outcome,
    missing_prediction,
    infinite,
    thousands,
    dates,
    words_among_numbers,
    twice,
    unnamed,
    short_row,
    long_row,
    open_quote,
    huge_cell,
    huge_level,
    zero_byte,
    many_levels,
    one_class,
    equal_predictions,
    no_rows_left,
    some_rows,
    outside,
    extreme,
)
#: Defects after which the table can still be audited; most compositions are made of these.
HARMLESS: tuple[Defect, ...] = (
    separator,
    line_ends,
    byte_order_mark,
    utf16,
    packed,
    hostile_name,
    hostile_level,
    missing_attribute,
    missing_outcome,
    missing_prediction,
    unnamed,
    huge_cell,
    one_class,
    some_rows,
    outside,
)


#: Defects of one line exclude each other: the second would undo the first.
_SLOTS: tuple[tuple[Defect, ...], ...] = (
    (
        byte_order_mark,
        utf16,
        utf16_unmarked,
        latin1,
        zero_byte,
        short_row,
        long_row,
        open_quote,
        twice,
    ),
    (one_class, missing_outcome, infinite),
    (missing_prediction, equal_predictions, words_among_numbers, outside, extreme, infinite),
    (no_rows_left, some_rows, huge_cell, latin1, zero_byte),
    (missing_attribute, thousands, dates, many_levels),
    (hostile_level, huge_level, many_levels),
    (packed, packed_and_cut),
)


def composed(seed: int) -> Table:
    """A table with one to four defects; the same for the same seed."""
    rng = np.random.default_rng(seed)
    table = good_table(rng, int(rng.integers(60, ROWS)))
    pool = DEFECTS if rng.random() < 0.4 else HARMLESS
    taken: set[int] = set()
    for k in rng.choice(len(pool), int(rng.integers(1, 5)), replace=False):
        slots = {slot for slot, some in enumerate(_SLOTS) if pool[k] in some}
        if not slots & taken:
            taken |= slots
            pool[k](table, rng)
            table.defects.append(pool[k].__name__)
    return table


# What comes of it


def run(arguments: list[str]) -> tuple[int, str, str]:
    """The command in this process: status, standard output, standard error."""
    from fairaudit_cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as end:
            status = int(end.code or 0)
    return int(status), out.getvalue(), err.getvalue()


def judged(table: Table, folder: Path, form: str) -> tuple[str, str]:
    """``right``, ``refused`` or ``wrong``, and why."""
    path, report = table.write(folder), folder / f"report.{form}"
    report.unlink(missing_ok=True)
    status, out, err = run(
        [
            *table.arguments(path),
            "--permutations=19",
            "--suppress=0",
            "--json",
            "--report",
            str(report),
        ]
    )
    if status == 2:
        if err.count("\n") != 1 or not err.startswith("fairaudit: error: ") or out:
            return "wrong", f"not one line: {err[-500:]!r}"
        if not (table.must_fail or table.may_fail):
            return "wrong", f"refused a usable table: {err}"
        return "refused", err
    if status not in (0, 1, 3) or err:
        return "wrong", f"status {status}: {err[-500:]!r}"
    if table.must_fail:
        return "wrong", "a verdict from a table that must be refused"
    problem = _wrong_counts(table, json.loads(out)) or unsafe(report.read_text("utf-8"), form)
    return ("wrong", problem) if problem else ("right", "")


def _wrong_counts(table: Table, record: dict) -> str:  # type: ignore[type-arg]
    used, excluded = record["table"]["rows"], record["table"]["excluded"]
    left = table.rows - len(table.dropped)
    gone = sum(one["rows"] for one in excluded)
    if used != left or used + gone != table.rows:
        return f"{used} rows used and {gone} excluded, expected {left} of {table.rows}"
    return ""


#: What sorts long tables; the policy of the page lets no other script run.
OWN_SCRIPT = (
    "<script>\n"
    + files("fairaudit_reports.html").joinpath("tables.js").read_text("utf-8")
    + "</script>"
)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "iframe") or any(name.startswith("on") for name, _ in attrs):
            self.bad.append(tag)


def unsafe(text: str, form: str) -> str:
    """Why a report does not parse, or what of its text became markup; empty if it is fine."""
    try:
        if form in ("json", "sarif"):
            json.loads(text)
        elif form == "xml":
            ElementTree.fromstring(text)
        elif form == "html":
            tags = _Tags()
            tags.feed(text.replace(OWN_SCRIPT, ""))
            return f"unescaped {tags.bad}" if tags.bad else ""
        elif form == "md" and "<script" in re.sub(r"(?s)^(`{3,}).*?^\1$", "", text, flags=re.M):
            return "unescaped script"  # outside of blocks of code
    except (ValueError, ElementTree.ParseError) as error:
        return f"{form} does not parse: {error}"
    return "control characters" if form in ("txt", "md") and "\x1b" in text else ""


def torture(seconds: float | None, part: slice = slice(None)) -> dict[str, int]:
    """Audit composed tables: at least 2,000, or as many as fit into the seconds.

    Returns how many were tried, right, refused in one line, and wrong (must be 0); what is wrong
    goes to standard error with its seed.
    """
    counts: Counter[str] = Counter(tried=0, right=0, refused=0, wrong=0)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        for seed in itertools.count(part.start or 0, part.step or 1):
            if (time.monotonic() - start > seconds) if seconds is not None else seed >= 2_000:
                break
            table = composed(seed)
            what, why = judged(table, Path(name), FORMATS[seed % len(FORMATS)])
            counts.update(["tried", what])
            if what == "wrong":
                print(f"seed {seed}: {'+'.join(table.defects)}: {why}", file=sys.stderr)
    return dict(counts)


if __name__ == "__main__":
    print(torture(float(sys.argv[1]) if len(sys.argv) > 1 else None))
