"""The documentation site: it builds without a warning, its links lead somewhere, browsers like it.

The pages' own blocks of code are run by test_docs.py.
"""

from __future__ import annotations

import re
import shutil
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest
from documents import PAGES, ROOT

import fairaudit as fa

sys.path.insert(0, str(ROOT / "docs" / "builder"))
import build_site as build
import site_reference as reference

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
NAV = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
LOOKED_AT = (
    "index.html",
    "tutorials/first-audit.html",
    "explanation/copies.html",
    "explanation/other-tools.html",
    "reference/audits.html",
    "reference/commands.html",
    "validity.html",
)


class Page(HTMLParser):
    """What a page links to and loads, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {"", "__skip"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href") is not None:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(given["href"])
        elif given.get("src"):
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if find_spec("zensical") is None or find_spec("mkdocstrings") is None:
        pytest.skip("the extra docs (zensical, mkdocstrings-python) is not installed")
    work = tmp_path_factory.mktemp("docs")
    site = tmp_path_factory.mktemp("built") / "site"  # beside its work, as `make docs` has it
    assert build.build(work / "work", site) == 0
    return site


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_a_page_lead_to_files(path):
    pages = ROOT / "build" / "pages"
    build.site_text(path, build.page_of(path, pages), pages)


def test_a_link_that_leads_nowhere_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("[a](page.md) [b](gone.md)\n```sh\n[c](never.md)\n```\n")
    with pytest.raises(SystemExit, match=r"page.md: there is no gone.md"):
        build.site_text(page, page, tmp_path)


def test_every_page_is_in_the_navigation():
    for path in PAGES:
        page = build.page_of(path, ROOT).relative_to(ROOT).as_posix()
        assert len(re.findall(rf": {re.escape(page)}$", NAV, re.M)) == 1, page
    for name in (*reference.api_pages(), "api.md", "commands.md"):
        assert f": reference/{name}\n" in NAV, name


def test_every_public_name_is_in_the_reference():
    text = "\n".join(reference.api_pages().values())
    shown = set(re.findall(r"heading: fa\.([\w.]+)", text))
    public = set(fa.__all__) - {"datasets", "extend", "metrics", "__version__"}
    for module in ("datasets", "extend", "metrics"):
        public |= {f"{module}.{name}" for name in getattr(fa, module).__all__ if name not in public}
    assert shown == public


def test_pages_of_the_site_link_to_what_is_there_and_load_nothing_from_outside(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 60
    wrong = []
    for path, page in pages.items():
        wrong += [f"{path}: loads {url}" for url in page.loaded if re.match(r"\w+:|//", url)]
        if path.name == "404.html":
            continue  # its links are those of the root of a server
        for link in page.links:
            if re.match(r"\w+:", link):
                continue
            name, _, anchor = unquote(link).partition("#")
            target = (path.parent / name).resolve() if name else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                wrong.append(f"{path.relative_to(site)}: {link} is not there")
            elif target in pages and anchor not in pages[target].anchors:
                wrong.append(f"{path.relative_to(site)}: {link} has no such anchor")
    assert wrong == []


@pytest.fixture(scope="module")
def browser(site):
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("width", [375, 1280])
def test_a_browser_shows_pages_without_complaint(site, browser, width):
    look_at(site, browser, width, LOOKED_AT)


@pytest.mark.slow
@pytest.mark.parametrize("width", [375, 1280])
def test_a_browser_shows_every_page_without_complaint(site, browser, width):
    names = [path.relative_to(site).as_posix() for path in site.rglob("*.html")]
    look_at(site, browser, width, [name for name in names if name != "404.html"])


def look_at(site, browser, width, names):
    page = browser.new_page(viewport={"width": width, "height": 800})
    told = []
    page.on("console", lambda message: told.append(message.text) if message.type == "error" else 0)
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: told.append(request.url) if "://" in request.url[:8] else 0)
    for name in names:
        page.goto((site / name).as_uri())
        broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        assert page.evaluate(broken) == [], name
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} pixels wide"
        size = page.evaluate("getComputedStyle(document.querySelector('article p')).fontSize")
        assert float(size[:-2]) >= 14, f"{name}: text of {size}"
    page.close()
    assert [line for line in told if not line.startswith("file:")] == []


def test_the_search_answers_without_a_server(site, browser):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((site / "howto" / "people.html").as_uri())
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox").or_(page.get_by_placeholder("Search")).first
    box.fill("anytime alarm batches")
    page.get_by_text(re.compile(r"^\d+ (matching|results?)")).first.wait_for(timeout=20_000)
    first = page.get_by_text(re.compile("Monitoring")).all_inner_texts()
    page.close()
    assert first, "the page about batches and alarms is not among the answers"
