"""The whole result as JSON; that of an audit by the committed schema `audit.schema.json`."""

from __future__ import annotations

from fairaudit.results import Result

__all__ = ["render"]


def render(result: Result) -> str:
    return result.to_json()
