"""One function per format, `render_<format>(result)`, for results of all types.

Where the renderer of a format and a type lives stands in one table; it is imported on use. Others
add a type by ``render_html.register(TheirResult, function)``, and a format by an entry point of
the group ``fairaudit.reports``.
"""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from typing import Any

from fairaudit.results import Result, not_shown

__all__ = [
    "Format",
    "render_github",
    "render_html",
    "render_json",
    "render_md",
    "render_png",
    "render_sarif",
    "render_svg",
    "render_txt",
    "render_xml",
    "show",
]

#: Format → name of the result's type (or of a base of it) → renderer, in fairaudit_reports.
RENDERERS: dict[str, dict[str, str]] = {
    "html": {
        "AuditResult": "html:render",
        "AuditedModels": "compare_table:render_html",
        "Comparison": "comparison_html:render",
        "IncompleteResult": "incomplete:render_html",
        "MonitorResult": "monitor_html:render",
        "RemedyResult": "remedy_html:render",
        "SamplePlan": "plan_report:render_html",
    },
    "md": {
        "AuditResult": "markdown:render",
        "AuditedModels": "compare_table:render_markdown",
        "Comparison": "comparison_text:markdown",
        "IncompleteResult": "incomplete:render_markdown",
        "MonitorResult": "monitor_text:markdown",
        "SamplePlan": "plan_report:render_markdown",
    },
    "txt": {
        "AuditResult": "terminal:render",
        "AuditedModels": "compare_table:render_text",
        "Comparison": "comparison_text:render",
        "IncompleteResult": "incomplete:render_text",
        "MonitorResult": "monitor_text:render",
        "RemedyResult": "remedy_text:render",
        "SamplePlan": "plan_report:render_text",
    },
    "json": {"Result": "json_record:render"},
    "xml": {"AuditResult": "junit:render"},
    "sarif": {"AuditResult": "sarif:render"},
    "github": {"AuditResult": "github:render", "Comparison": "comparison_text:github"},
    "svg": {"AuditResult": "badge:render", "SamplePlan": "plan_report:render_svg"},
    "png": {"SamplePlan": "plan_report:picture"},
    "terminal": {"AuditResult": "terminal:show", "RemedyResult": "remedy_text:show"},
}


class Format:
    """A format: a function of the result, which finds the renderer of the result's type.

    Examples
    --------
    >>> from fairaudit.comparison.comparison_result import Comparison
    >>> render_md.shows(Comparison), render_sarif.shows(Comparison)
    (True, False)
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.render = singledispatch(self._import_renderer)
        self.register = self.render.register

    def __call__(self, result: Result, **options: Any) -> Any:
        return self.render(result, **options)

    def shows(self, kind: type) -> bool:
        """Whether it has a renderer for results of this type."""
        default = self.render.dispatch(object)
        return self._home(kind) is not None or self.render.dispatch(kind) is not default

    def _home(self, kind: type) -> str | None:
        known = RENDERERS[self.name]
        return next((known[base.__name__] for base in kind.__mro__ if base.__name__ in known), None)

    def _import_renderer(self, result: Result, **options: Any) -> Any:
        """For the first result of a type."""
        home = self._home(type(result))
        if home is None:
            raise not_shown(self.name, type(result))
        module, _, name = home.partition(":")
        self.register(type(result), getattr(import_module(f"fairaudit_reports.{module}"), name))
        return self.render(result, **options)


render_github = Format("github")
render_html = Format("html")
render_json = Format("json")
render_md = Format("md")
render_png = Format("png")
render_sarif = Format("sarif")
render_svg = Format("svg")
render_txt = Format("txt")
render_xml = Format("xml")
_show_on_terminal = Format("terminal")


def show(result: Result) -> None:
    """Print the result, in color where its text has any and the terminal shows it."""
    if _show_on_terminal.shows(type(result)):
        _show_on_terminal(result)
    else:
        print(render_txt(result), end="")
