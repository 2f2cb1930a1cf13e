"""The parts of a report: what a part of text or Markdown holds, and the titles of the pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["AUDIT", "COMPARISON", "MONITOR", "REMEDY", "Row", "Section", "build_facts_section"]

Row = list[str]

#: Keys and titles of the pages, in their order.
AUDIT = {
    "next": "What to do next",
    "gaps": "Gaps, and what is shown",
    "scores": "Scores and predictions by group",
    "groups": "Groups",
    "audited": "What was audited",
    "evidence": "Evidence",
    "where": "Where",
    "size": "Size",
    "power": "What could have been found",
    "belief": "Can the p-value be believed?",
    "notes": "Notes",
    "repeat": "How to repeat it",
}
REMEDY = {
    "answers": "What came of it",
    "change": "What changed",
    "curve": "The trade-off",
    **{key: AUDIT[key] for key in ("groups", "evidence", "power", "notes", "repeat")},
}
MONITOR = {
    "evidence": "Evidence over time",
    "batches": "Batches",
    "notes": "Notes",
    "state": "The state",
}
COMPARISON = {
    "differences": "What changes",
    "groups": "Groups",
    "notes": "Notes",
    "repeat": "How to repeat it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A titled part of a report: a table, then sentences.

    Attributes
    ----------
    title : str
    head : list of str or None
        None: the rows are facts, each a name and what is said of it.
    rows : sequence of list of str
    right : frozenset of int
        Columns of numbers, which are aligned on the right.
    lines : tuple of str
    bullets : bool
        The lines are a list.
    strong : frozenset of int
        Rows that stand out.
    """

    title: str
    head: Row | None = None
    rows: Sequence[Row] = ()
    right: frozenset[int] = frozenset()
    lines: tuple[str, ...] = ()
    bullets: bool = False
    strong: frozenset[int] = frozenset()


def build_facts_section(title: str, facts: Iterable[tuple[str, str]]) -> Section:
    """Names and what is said of them."""
    return Section(title=title, rows=[list(fact) for fact in facts])
