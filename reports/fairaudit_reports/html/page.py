"""One HTML document, and the banner that its verdict is."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.cover_parts import cover_head, sign_section
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.numerals import moment_text

__all__ = ["TONES", "Frame", "banner", "document", "icon", "page"]

#: Verdicts of an audit, and the classes that color what belongs to them.
TONES = {
    "violation": "violation",
    "no violation found": "none",
    "inconclusive": "open",
    "equivalent within tolerance": "shown",
}
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; {script}"
    "base-uri 'none'; form-action 'none'"
)
_SHAPES = {
    "violation": "M15 3h18l12 12v18L33 45H15L3 33V15z",  # octagon
    "no violation found": "M24 3a21 21 0 1 0 0 42a21 21 0 1 0 0-42z",  # circle
    "inconclusive": "M24 2l22 22-22 22L2 24z",  # diamond
    "equivalent within tolerance": "M7 5h34v22c0 9-7 14-17 18C14 41 7 36 7 27z",  # shield
}
_SIGNS = {
    "violation": "M24 13v14M24 34.5v.5",  # exclamation mark
    "no violation found": "M15 24h18",  # dash: nothing found, which is not a tick
    "inconclusive": "M18.5 19a5.5 5.5 0 1 1 8 5c-1.8 1-2.5 2-2.5 4M24 34.5v.5",  # question mark
    "equivalent within tolerance": "M15 23l7 7 12-13",  # tick: shown
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around the content of a page.

    Attributes
    ----------
    title : str
        Of the window.
    about : str
        What the page is, beside the name of the tool.
    version, created : str
    limit : str or None
        What the result cannot say, at the foot.
    tone : str or None
        Class of the whole page.
    style : str
        Beyond that of all pages.
    """

    title: str
    about: str
    version: str
    created: str
    limit: str | None
    tone: str | None = None
    style: str = ""


def page(frame: Frame, inside: Iterable[str | None], *, signs: bool = True) -> str:
    """One HTML document with brand, cover and foot; `signs` adds the place to sign at the end."""
    left = join([tag("strong", "fairaudit"), f" {frame.about}"])
    right = f"version {frame.version}"
    brand = h.paragraph(tag("span", left), tag("span", right), class_="brand")
    day, time = moment_text(frame.created)
    footer = tag(
        "footer",
        None if frame.limit is None else h.paragraph(frame.limit, class_="limit"),
        h.paragraph(f"fairaudit {frame.version}, {day} {time}".rstrip()),
    )
    signature = sign_section(frame.created) if signs else None
    main = tag("main", *cover_head(), *inside, signature)
    body = tag("body", tag("header", brand), main, footer, class_=frame.tone)
    return document(frame.title, frame.version, body, frame.style)


def document(title: str, version: str, body: Markup, more_style: str = "") -> str:
    """A page that stands alone: its style, no outside request.

    Long tables have a script, which the policy of the page allows by its hash; no other may run.
    """
    from importlib.resources import files

    here = files("fairaudit_reports.html")
    style = here.joinpath("page.css").read_text(encoding="utf-8")
    script, allowed = "", ""
    if " sortable" in body:
        script = "\n" + here.joinpath("tables.js").read_text(encoding="utf-8")
        digest = b64encode(sha256(script.encode()).digest()).decode()
        allowed = f"script-src 'sha256-{digest}'; "
        body = Markup(body.removesuffix("</body>") + tag("script", Markup(script)) + "</body>")
    inside = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY.format(script=allowed)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"fairaudit {version}"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", Markup("\n" + style + more_style)),
    ]
    return f"<!DOCTYPE html>\n{tag('html', tag('head', *inside), body, lang='en')}\n"


def banner(
    tone: str,
    verdict: str,
    because: str,
    kicker: str = "Verdict",
    *,
    statements: Sequence[str] = (),
    figure: Markup | None = None,
) -> Markup:
    """The verdict and its sentence; `tone` is the verdict of an audit that it looks like.

    `statements` say it in the words of people, with a figure beside them.
    """
    words = tag("div", h.paragraph(kicker, class_="kicker"), tag("h1", verdict, id="verdict"))
    if not statements:
        reason = h.paragraph(because, class_="because name")
        return tag("div", icon(tone), words, reason, class_="banner")
    said = tag(
        "div",
        *(h.paragraph(sentence, class_="because name") for sentence in statements),
        h.paragraph(because, class_="reason name"),
        class_="told",
    )
    kind = "banner" if figure is None else "banner with-figure"
    return tag("div", icon(tone), words, said, figure, class_=kind)


def icon(verdict: str) -> Markup:
    """The verdict's own shape; decoration, since the word stands beside it."""
    return tag(
        "svg",
        tag("path", d=_SHAPES[verdict], class_="shape"),
        tag("path", d=_SIGNS[verdict], class_="sign"),
        viewBox="0 0 48 48",
        class_="icon",
        aria_hidden="true",
        focusable="false",
    )
