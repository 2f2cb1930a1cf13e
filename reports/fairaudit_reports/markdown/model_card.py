"""An audit in a model card of skops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairaudit_reports.view.card_view import describe_card, list_card_metrics, name_rows
from fairaudit_reports.view.cover import level_labels, name_labels

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["SECTION", "add_to_card"]

SECTION = "Equalized odds"
_MOST_GROUPS = 40


def add_to_card(card: Any, result: AuditResult, *, fewest: int = 10) -> Any:
    """Add a section about the audit to a `skops.card.Card`, and return the card.

    Parameters
    ----------
    card : skops.card.Card
    result : AuditResult
    fewest : int
        Groups of fewer people are masked, as in reports; 1 masks none.

    Examples
    --------
    >>> from skops.card import Card  # doctest: +SKIP
    >>> add_to_card(Card(model), result).save("README.md")  # doctest: +SKIP
    """
    shown = result.suppressed(fewest)
    card.add(**{SECTION: "\n\n".join(describe_card(shown))})
    values = {name: float(f"{value:.4g}") for _, name, value in list_card_metrics(shown)}
    card.add_table(
        **{f"{SECTION}/Measures": {"Measure": list(values), "Value": list(values.values())}}
    )
    table = shown.cells
    if table is not None:
        cells = [cell for cell in table.cells if not cell.masked][:_MOST_GROUPS]
        labels = [level_labels(table.attributes, cell.levels) for cell in cells]
        columns: dict[str, list[Any]] = {
            name: [levels[k] for levels in labels]
            for k, name in enumerate(name_labels(table.attributes))
        }
        columns["rows"] = [cell.rows for cell in cells]
        for k, name in enumerate(table.columns):
            columns[name] = [_short(cell.estimates[k].value) for cell in cells]
        card.add_table(**{f"{SECTION}/Groups": columns})
    card.add(**{f"{SECTION}/Record": name_rows(shown)})
    return card


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
