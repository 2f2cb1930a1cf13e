"""A result as JSON; an audit by the committed schema `audit.schema.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from fairaudit_reports.view.audit_view import measured_value

if TYPE_CHECKING:
    from fairaudit_reports.view.models_view import Compared

__all__ = ["json_text", "render", "render_models"]

MODELS_SCHEMA = "fairaudit/compare/1"


class _Result(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


def render(result: _Result) -> str:
    """Of any result that has a `to_dict`."""
    return json_text(result.to_dict()) + "\n"


def render_models(models: Sequence[Compared]) -> str:
    """Several audited models."""
    records = [
        {
            "model": model.name,
            "loss": model.loss,
            "loss_name": model.loss_name,
            "kpc": model.audit.joint.kpc,
            "deo": measured_value(model.audit, "deo"),
            "p_value": model.audit.p_value,
            "verdict": str(model.audit.verdict),
            "audit": model.audit.to_dict(),
        }
        for model in models
    ]
    return json_text({"schema": MODELS_SCHEMA, "models": records}) + "\n"


def json_text(facts: Any) -> str:
    """JSON for programs; undefined numbers (NaN) become null.

    Examples
    --------
    >>> json_text({"value": float("nan")}).split()
    ['{', '"value":', 'null', '}']
    """
    return json.dumps(_plain(facts), indent=2, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # numpy's scalars
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
