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
    "render_pdf",
    "render_png",
    "render_prom",
    "render_sarif",
    "render_svg",
    "render_txt",
    "render_xml",
    "show",
]

#: Format → name of the result's type (or of a base of it) → renderer, in fairaudit_reports.
RENDERERS: dict[str, dict[str, str]] = {
    "html": {
        "AuditResult": "html.audit_page:render",
        "AuditedModels": "html.models_page:render",
        "Comparison": "html.comparison_page:render",
        "IncompleteResult": "html.incomplete_page:render",
        "MonitorResult": "html.monitor_page:render",
        "RemedyResult": "html.remedy_page:render",
        "SamplePlan": "html.plan_page:render",
    },
    "md": {
        "AuditResult": "markdown.audit_markdown:render",
        "AuditedModels": "markdown.models_markdown:render",
        "Comparison": "markdown.comparison_markdown:render",
        "IncompleteResult": "markdown.incomplete_markdown:render",
        "MonitorResult": "markdown.monitor_markdown:render",
        "RemedyResult": "markdown.remedy_markdown:render",
        "SamplePlan": "markdown.plan_markdown:render",
    },
    "txt": {
        "AuditResult": "text.audit_text:render",
        "AuditedModels": "text.models_text:render",
        "Comparison": "text.comparison_text:render",
        "IncompleteResult": "text.incomplete_text:render",
        "MonitorResult": "text.monitor_text:render",
        "RemedyResult": "text.remedy_text:render",
        "SamplePlan": "text.plan_text:render",
    },
    "pdf": {
        "AuditResult": "pdf.audit_pdf:render",
        "AuditedModels": "pdf.comparison_pdf:render_models",
        "Comparison": "pdf.comparison_pdf:render",
        "IncompleteResult": "pdf.sample_pdf:render_incomplete",
        "MonitorResult": "pdf.monitor_pdf:render",
        "RemedyResult": "pdf.remedy_pdf:render",
        "SamplePlan": "pdf.sample_pdf:render_plan",
    },
    "json": {"Result": "machine.json_record:render"},
    "xml": {"AuditResult": "machine.junit:render"},
    "sarif": {"AuditResult": "machine.sarif:render"},
    "github": {
        "AuditResult": "machine.github:render",
        "Comparison": "machine.github:render_comparison",
    },
    "svg": {"AuditResult": "machine.badge:render", "SamplePlan": "machine.plan_picture:render"},
    "png": {"SamplePlan": "machine.plan_picture:render_png"},
    "prom": {"MonitorResult": "machine.prometheus:render"},
    "terminal": {
        "AuditResult": "text.terminal:show_audit",
        "RemedyResult": "text.terminal:show_remedy",
    },
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
        homes = RENDERERS[self.name]
        return next((homes[base.__name__] for base in kind.__mro__ if base.__name__ in homes), None)

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
render_pdf = Format("pdf")
render_png = Format("png")
render_prom = Format("prom")
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
