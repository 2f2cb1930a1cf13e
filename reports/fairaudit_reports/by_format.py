"""Renderers of the results that are found by no entry point, by the ending of a file name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

__all__ = ["INCOMPLETE", "MODELS", "PLAN", "render_as"]

PLAN = {
    "html": "html.plan_page:render",
    "md": "markdown.plan_markdown:render",
    "json": "machine.json_record:render",
    "txt": "text.plan_text:render",
    "svg": "machine.plan_picture:render",
}
MODELS = {
    "html": "html.models_page:render",
    "md": "markdown.models_markdown:render",
    "json": "machine.json_record:render_models",
    "txt": "text.models_text:render",
}
INCOMPLETE = {
    "html": "html.incomplete_page:render",
    "md": "markdown.incomplete_markdown:render",
    "json": "machine.json_record:render",
    "txt": "text.incomplete_text:render",
}


def render_as(form: str, renderers: Mapping[str, str], result: Any) -> str:
    """The result in the format of that name."""
    home, _, function = renderers[form].partition(":")
    return str(getattr(import_module(f"fairaudit_reports.{home}"), function)(result))
