"""What a reader asks of a remedy: did it pass, how does the model answer, and at whose price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairaudit_reports.view.cover import level_labels, name_label
from fairaudit_reports.view.groups_view import count_decimals
from fairaudit_reports.view.numerals import chance_text, fixed, loss_text, p_text
from fairaudit_reports.view.wording import capitalize, end_sentence, join_names

if TYPE_CHECKING:
    from fairaudit.evidence.measured import Cell
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["list_answers", "list_forgone", "list_gains", "title_advice"]

_Change = tuple[float, str, float, float]  # the change, the group, before and after
_ENOUGH = 30  # rows behind a rate whose change is worth a sentence
_OFFERS = {
    "attributes": "With the sensitive attributes at prediction time",
    "randomization": "With answers that are drawn",
}
_TELLS_FORGONE = ("no repair found", "not repaired", "collapsed")  # their advice has the offers


def list_answers(result: RemedyResult) -> list[tuple[str, str]]:
    """Questions, in few words, with their answers as sentences."""
    facts = [("Did it pass?", _describe_audit(result))]
    if result.chance is not None and result.coming_rows is not None:
        ahead = (
            f"an audit of {result.coming_rows:,} new rows passes with a chance of "
            f"{chance_text(result.chance)}, as predicted on {_rows_that_choose(result)}"
        )
        facts.append(("And the next audit?", ahead))
    drawn = _describe_draws(result)
    facts += [("Is chance in it?", drawn)] if drawn else []
    facts.append(("Does it need the attributes?", _describe_needs(result)))
    gains = list_gains(result)
    facts += [("Who gains, who loses?", " ".join(gains))] if gains else []
    offers = list_forgone(result)
    facts += [("What was not allowed?", " ".join(offers))] if offers else []
    return [(question, end_sentence(answer)) for question, answer in facts]


def title_advice(result: RemedyResult) -> str | None:
    """What stands above the advice; None where the answers have said it already."""
    said = str(result.outcome) == "repaired" and bool(result.forgone)
    return "What would help" if result.advice and not said else None


def list_forgone(result: RemedyResult) -> list[str]:
    """What a search was not allowed to take, and what it would have brought."""
    if str(result.outcome) in _TELLS_FORGONE:
        return []
    chosen = next(row for row in result.curve.to_dict("records") if row["chosen"])
    return [
        f"{_OFFERS.get(offer.what, capitalize(offer.what))}: "
        f"{_tell_gain(result, chosen, offer.loss)}"
        for offer in result.forgone
    ]


def _tell_gain(result: RemedyResult, chosen: Mapping[str, Any], loss: float | None) -> str:
    """What the smallest loss with one more permission is, beside that of the chosen model."""
    if loss is None:
        return "the goal would not be reached either."
    name = result.loss_name
    losses = f"{name} {loss_text(loss, name)} instead of {loss_text(chosen['loss'], name)}"
    nothing = "nothing would be gained: " if loss >= chosen["loss"] else ""
    return f"{nothing}{losses}, on {_rows_that_choose(result)}."


def list_gains(result: RemedyResult) -> list[str]:
    """The largest changes of the groups' rates, in one to three sentences."""
    before, after = result.before.cells, result.after.cells
    if before is None or after is None or before.columns != after.columns:
        return []
    cell_of = {cell.levels: cell for cell in before.cells}
    pairs = [
        (cell_of[cell.levels], cell)
        for cell in after.cells
        if cell.levels in cell_of and not (cell.masked or cell_of[cell.levels].masked)
    ]
    digits = min(count_decimals(after), 2) if "TPR" in after.columns else count_decimals(after)
    names = after.attributes
    changes = [_changes(pairs, names, k, digits) for k in range(len(after.columns))]
    sentences = []
    if changes and changes[0]:
        down, up = changes[0][0], changes[0][-1]
        parts = [f"up for {_move(up, digits)}"] if up[0] > 0 else []
        parts += [f"down for {_move(down, digits)}"] if down[0] < 0 else []
        sentences.append(f"{capitalize(_name(after.columns[0]))} goes {' and '.join(parts)}.")
    largest = [
        f"of {_name(name)}: {_move(max(found, key=lambda change: abs(change[0])), digits)}"
        for name, found in zip(after.columns[1:], changes[1:], strict=True)
        if found
    ]
    if largest:
        sentences.append(f"Largest change {'; '.join(largest)}.")
    if sentences and (after.masked or _few(pairs)):
        few = f"Rates of fewer than {_ENOUGH} rows" if _few(pairs) else ""
        masked = "masked groups" if after.masked else ""
        who = " and ".join(part for part in (few, masked) if part)
        sentences.append(f"{capitalize(who)} are left out.")
    return sentences


def _changes(
    pairs: Sequence[tuple[Cell, Cell]], names: Sequence[str], column: int, digits: int
) -> list[_Change]:
    """From the largest fall to the largest rise; those that show, of groups with enough rows."""
    found, few = [], _few(pairs)
    for old, new in pairs:
        a, b = old.estimates[column], new.estimates[column]
        if a.value is None or b.value is None:
            continue
        if fixed(a.value, digits) != fixed(b.value, digits):
            pairs_of_name = zip(names, level_labels(names, new.levels), strict=True)
            label = ", ".join(f"{name_label(name)} = {level}" for name, level in pairs_of_name)
            if not few or (b.rows or 0) >= _ENOUGH:
                found.append((b.value - a.value, label, a.value, b.value))
    return sorted(found)


def _few(pairs: Sequence[tuple[Cell, Cell]]) -> bool:
    """Whether some rates have few rows, and others enough of them."""
    counts = [estimate.rows or 0 for _, cell in pairs for estimate in cell.estimates]
    return any(count < _ENOUGH for count in counts) and any(count >= _ENOUGH for count in counts)


def _move(change: _Change, digits: int) -> str:
    _, label, old, new = change
    return f"{label} ({fixed(old, digits)} → {fixed(new, digits)})"


def _name(column: str) -> str:
    return "the share selected" if column == "selected" else column


def _describe_audit(result: RemedyResult) -> str:
    after = result.after
    passed = str(after.verdict) in ("no violation found", "equivalent within tolerance")
    yes = "yes" if str(result.outcome) == "repaired" else "on these rows"
    start = yes if passed else "no" if str(after.verdict) == "violation" else "open"
    text = (
        f"{start}: {after.verdict} on {result.rows['audit']:,} rows that nothing else saw (p = "
        f"{p_text(after.p_value)})"
    )
    if result.power is None or not passed or str(result.before.verdict) != "violation":
        return text
    return f"{text}; the old violation would have been seen there in " + (
        f"{chance_text(result.power.power)} of such samples"
    )


def _rows_that_choose(result: RemedyResult) -> str:
    if result.rows["choice"]:
        return "the rows for choosing"
    return "out-of-fold rows" if result.goal else "the audited rows"


def _describe_draws(result: RemedyResult) -> str | None:
    """Whether answers are drawn; None where the method does not say."""
    strength = result.strength
    if not strength and result.method in ("derived", "thresholds"):
        strength = result.mu
    if strength:
        share = max(strength - 1, 0.0)
        mere = (
            f"{100 * share:.0f} % of the answers are mere chance"
            if share > 0
            else ("none of them is mere chance: every draw depends on the model’s score")
        )
        return f"yes: answers are drawn; the same person always gets the same one; {mere}"
    return "no: nothing is drawn" if "strength" in result.curve else None


def _describe_needs(result: RemedyResult) -> str:
    names = [column.name for column in result.after.table.attributes]
    needs = result.attributes_at_prediction or bool({*names} & {*result.features})
    return f"yes: {join_names(names)} to predict" if needs else "no: it predicts without them"
