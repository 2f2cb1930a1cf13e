"""The HTML report: what is in it, that nothing else is, and how it behaves in a browser."""

from __future__ import annotations

import json
import re
import shutil
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.data.facts import Excluded, Source
from fairaudit.evidence.measured import Cell, Estimate
from fairaudit_reports.html.audit_page import LIMIT, render
from fairaudit_reports.html.groups_section import MOST_CELLS
from fairaudit_reports.view.sections import AUDIT
from fairaudit_reports.view.trust_view import CALIBRATION_LEVEL, COPY_CHECK_LEVEL

HOSTILE = "<script>alert('x')</script>\u202e & \"co\""
HOSTILE_LEVEL = '"><img src=x onerror=alert(1)>'
VOID = {"meta", "link", "br", "img", "input", "hr"}
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
PAGES = ("violation", "no_violation", "inconclusive", "regression", "rich")


def _violation() -> AuditResult:
    rng = np.random.default_rng(0)
    n = 600
    race = rng.choice(["asian", "black", "hispanic", "white"], n, p=[0.06, 0.14, 0.3, 0.5])
    sex = rng.choice(["female", "male"], n)
    age = rng.integers(21, 70, n)
    y = rng.integers(0, 2, n)
    shift = 1.2 * np.where(sex == "male", 1, -1) * np.sign(age - 45)
    score = 1 / (1 + np.exp(-(2 * y - 1 + shift + rng.normal(size=n))))
    return fa.audit(
        predictions=score,
        outcome=pd.Series(y, name="repaid"),
        sensitive={"race": race, "sex": sex, "age": age},
        pairs=[("sex", "age")],
        permutations=fa.Permutations(n=199),
    )


def _no_violation(copies: int = 99) -> AuditResult:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    group = rng.choice([HOSTILE_LEVEL, "m"], 300)
    return fa.audit(
        predictions=np.clip(y * 0.4 + 0.6 * rng.random(300), 0, 1),
        outcome=pd.Series(y, name=f"y {HOSTILE}"),
        sensitive={HOSTILE: group},
        permutations=fa.Permutations(n=copies),
    )


def _regression() -> AuditResult:
    rng = np.random.default_rng(2)
    y = rng.normal(100, 20, 200)
    sex = rng.choice(["a", "b"], 200)
    result = fa.audit(
        predictions=y + 5 * (sex == "a") + rng.normal(size=200),
        outcome=pd.Series(y, name="target"),
        sensitive={"sex": sex, "age": rng.integers(20, 80, 200)},
        density="ols",
        permutations=fa.Permutations(n=99),
    )
    scores = {"gaussian (ols)": -4.32, "mixture (2)": -4.4}
    return replace(result, quality=replace(result.quality, scores=scores))


def _rich(base: AuditResult) -> AuditResult:
    """Everything a record can hold, and long names."""
    assert base.cells is not None
    long = "a_column_name_as_long_as_data_warehouses_like_to_make_them_version_2_final"
    some = base.cells.cells[-1]
    nothing = Estimate(value=None, low=None, high=None, rows=0, people=0)
    cells = tuple(
        Cell(
            levels=(f"level {k} of many", "x"),
            rows=1000 + k,
            people=990,
            estimates=(*some.estimates[:2], nothing),
        )
        for k in range(30)
    )
    table = replace(
        base.table,
        people=512,
        features=tuple(f"feature_{k}" for k in range(60)),
        excluded=(Excluded(1412, f"missing {HOSTILE}"), Excluded(3, "not where age > 18")),
        weights="survey_weight",
        ids="person",
    )
    first, *others = table.attributes
    table = replace(table, attributes=(replace(first, name=long, missing=17), *others))
    command = f"fairaudit test --model '{HOSTILE}.onnx' --data {'very/' * 40}long.parquet"
    return replace(
        base,
        table=table,
        tolerance={"kpc": 0.01},
        adjust="fdr_bh",
        cells=replace(base.cells, attributes=(long, "sex"), cells=cells, unlisted=7),
        findings=(
            *base.findings[:-1],
            replace(base.findings[-1], p_value=None, p_adjusted=None, inconclusive="too few rows"),
        ),
        capsule=replace(
            base.capsule,
            command=command,
            model=Source("model.onnx", "ONNX", "ab" * 32),
            data=(Source("long.parquet", "parquet", "cd" * 32), Source(None, "csv", None)),
        ),
    )


@pytest.fixture(scope="module")
def results() -> dict[str, AuditResult]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "fairaudit.evidence.measurements.MOST_ROWS_FOR_R", 0
        )  # R takes seconds to start
        return _results()


def _results() -> dict[str, AuditResult]:
    violation = _violation()
    return {
        "violation": violation.suppressed(40),
        "no_violation": _no_violation(),
        "inconclusive": _no_violation(copies=9),
        "regression": _regression(),
        "rich": _rich(violation),
    }


class _Page(HTMLParser):
    """Text, headings and references of a page; fails where tags do not balance."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), "an attribute is given twice"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def named(self, *names: str) -> list[tuple[str, dict[str, str | None]]]:
        return [(tag, attributes) for tag, attributes in self.tags if tag in names]


@pytest.mark.parametrize("name", PAGES)
def test_page_is_whole_and_needs_nothing_else(results: dict[str, AuditResult], name: str) -> None:
    result = results[name]
    source = render(result)
    page = _Page(source)
    assert source.startswith('<!DOCTYPE html>\n<html lang="en">')
    scripts = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    assert len(scripts) == source.count("<script") <= 1 and "javascript:" not in source
    assert len(source.encode()) < 300_000
    assert not re.search(r"url\(|@import|https?://", source)
    for _, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)
        for reference in ("src", "href", "srcset", "action", "data"):
            value = attributes.get(reference)
            assert value is None or value.startswith("#") or value == "data:,"
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert policy is not None and policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    for script in scripts:  # this one may run, and no other
        digest = b64encode(sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}';" in policy
    assert ("meta", {"name": "color-scheme", "content": "light dark"}) in page.tags


@pytest.mark.parametrize("name", PAGES)
def test_content(results: dict[str, AuditResult], name: str) -> None:
    result = results[name]
    page = _Page(render(result))
    clean = result.because.replace("\u202e", "\ufffd")
    assert " ".join(clean.split()) in page.text
    assert str(result.verdict) in page.words
    for key, title in AUDIT.items():
        assert title in page.words or key in ("next", "scores")
    assert LIMIT in page.words
    assert result.capsule.command or "import fairaudit as fa" in page.text
    assert result.capsule.table_sha256 in page.text
    assert len(page.named("h1")) == 1
    for finding in result.findings:
        assert finding.name.replace("\u202e", "\ufffd") in page.words
    for measure in result.measures:
        assert measure.name in page.words
    for note in result.notes:
        assert note.replace("\u202e", "\ufffd") in page.words


@pytest.mark.parametrize("name", PAGES)
def test_structure(results: dict[str, AuditResult], name: str) -> None:
    page = _Page(render(results[name]))
    levels = [int(tag[1]) for tag, _ in page.named("h1", "h2", "h3", "h4")]
    assert levels[0] == 1 and all(b <= a + 1 for a, b in pairwise(levels))
    assert len(page.named("main")) == len(page.named("header")) == len(page.named("footer")) == 1
    assert all(attributes.get("scope") for _, attributes in page.named("th"))
    assert len(page.named("caption")) == len(page.named("table")) > 2
    charts = [a for _, a in page.named("svg") if a.get("role") == "img"]
    assert charts and len(charts) <= len(page.named("desc")) == len(page.named("title")) - 1
    for _, attributes in page.named("svg"):  # a part of a chart, a picture, or decoration
        assert "x" in attributes or attributes.get("role") or attributes.get("aria-hidden")
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    for _, attributes in page.named("a"):
        assert str(attributes["href"]).removeprefix("#") in names


@pytest.mark.parametrize("name", PAGES)
def test_no_model_is_called_fair(results: dict[str, AuditResult], name: str) -> None:
    assert not re.search(r"\b(un)?fair(ness|ly)?\b", render(results[name]), re.IGNORECASE)


def test_hostile_names_stay_text(results: dict[str, AuditResult]) -> None:
    source = render(results["no_violation"])
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in source
    assert "<img" not in source and "\u202e" not in source
    assert HOSTILE_LEVEL in _Page(source).text
    broken = replace(results["no_violation"], because="\x00\x1b[31m \ud800 </style><b>")
    assert "</style><b>" not in render(broken)
    render(broken).encode()


def test_gate_that_did_not_reject_claims_nothing(results: dict[str, AuditResult]) -> None:
    assert "descriptive; no finding is claimed" in render(results["no_violation"])
    page = render(results["violation"])
    assert "it rejected at level 0.05" in page and "descriptive" not in page
    assert "Holm" in page and "Benjamini" in render(results["rich"])


def test_p_value_is_explained(results: dict[str, AuditResult]) -> None:
    text = _Page(render(results["violation"])).text
    assert (
        "Of 199 copies, none reached the observed value, so p = (1 + 0) / (1 + 199) = 0.005."
        in (text)
    )
    stopped = replace(
        results["violation"],
        null=(0.0, 1.0, 0.0, 1.0),
        findings=(replace(results["violation"].joint, value=0.5, p_value=0.5),),
    )
    text = _Page(render(stopped)).text
    assert "2 reached the observed value before drawing stopped, so p = 2 / 4 = 0.5" in text
    capsule = stopped.capsule
    settled = replace(capsule, options={**capsule.options, "settle_at": 0.05})
    text = _Page(render(replace(stopped, capsule=settled))).text
    assert "as soon as p is settled at the level 0.05, and p = 0.5 is the chance of" in text
    assert "2 / 4" not in text
    assert "so there is nothing to break it down into" in text


def test_masked_cells_are_said_and_hidden(results: dict[str, AuditResult]) -> None:
    result = results["violation"]
    assert result.cells is not None and 0 < result.cells.masked < len(result.cells.cells)
    page = _Page(render(result))
    assert page.words.count("masked") == result.cells.masked
    assert f"{result.cells.masked} of {len(result.cells.cells)} groups are masked" in page.text
    assert "Masked groups are not drawn" in page.text


def test_many_cells_are_cut(results: dict[str, AuditResult]) -> None:
    base = results["rich"]
    assert base.cells is not None
    cells = tuple(replace(base.cells.cells[0], levels=(f"cell-{k}", "x")) for k in range(260))
    source = render(replace(base, cells=replace(base.cells, cells=cells)))
    assert len(re.findall(r">cell-\d+<", source)) == MOST_CELLS
    assert "60 more groups not shown" in source and "7 further combinations" in source
    assert ">TPR by group</title>" not in source  # no chart


@pytest.mark.parametrize(
    ("null", "observed", "says"),
    [
        ((), 0.5, "nothing to draw"),
        ((0.1, 0.2, 0.3), None, "The observed value is undefined"),
        ((0.1,) * 50, 0.1, "50 of 50 copies reach it"),
        ((0.0,) * 50, 0.0, "50 of 50 copies reach it"),
        ((0.1,) * 50, 0.9, "0 of 50 copies reach it"),
        ((0.1, 0.2, 0.3), 0.3, "1 of 3 copies reach it"),
        ((0.1, 0.2, 0.3), 1e6, "The axis is broken"),
        ((0.1, 0.2, 0.3), -1e6, "The axis is broken"),
        ((0.1, None, float("nan"), 0.3), 0.2, "1 of 2 copies reach it"),
        ((0.1,), 0.05, "1 of 1 copies reach it"),
        (tuple(np.linspace(1e8, 2e8, 999)), 1.5e8, "500 of 999 copies reach it"),
    ],
)
def test_histogram_of_any_null(
    results: dict[str, AuditResult], null: tuple[float, ...], observed: float | None, says: str
) -> None:
    base = results["violation"]
    joint = replace(base.joint, value=observed, p_value=None if observed is None else 0.5)
    result = replace(base, null=null, findings=(joint, *base.findings[1:]))
    source = render(result)
    page = _Page(source)
    assert says in page.text
    assert "nan" not in source and "inf%" not in source
    for _, attributes in page.named("rect"):
        assert 0 <= float(str(attributes["x"]).rstrip("%")) <= 100 or "class" in attributes
        assert float(str(attributes["width"]).rstrip("%")) > 0
        assert float(str(attributes["height"])) >= 0


def test_bars_count_every_copy_once_and_agree_with_p() -> None:
    from fairaudit_reports.html.histogram import _bins, _scale
    from fairaudit_reports.view.evidence_view import count_reaching

    rng = np.random.default_rng(3)
    for size in (1, 2, 9, 99, 999):
        null = tuple(np.round(rng.normal(size=size), 1))
        for observed in (*null[:3], 0.0, 0.05, -4.0, 4.0, 50.0):
            scale, _ = _scale(null, observed)
            edges, counts = _bins(null, observed, scale)
            width = edges[1] - edges[0]
            reached = sum(
                n for left, n in zip(edges, counts, strict=False) if left >= observed - width / 2
            )
            assert sum(counts) == size and reached == count_reaching(null, observed)


def test_without_cells_measures_or_p(results: dict[str, AuditResult]) -> None:
    base = results["inconclusive"]
    joint = replace(base.joint, p_value=None, value=None, kpc=None, inconclusive="nothing moved")
    result = replace(base, cells=None, measures=(), notes=(), findings=(joint,), null=())
    text = _Page(render(result)).text
    assert "No p-value is given: nothing moved." in text
    assert "There is no table of groups" in text and "No measure fits this table" in text


def test_same_record_same_page(results: dict[str, AuditResult]) -> None:
    result = results["violation"]
    again = AuditResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert render(again) == render(result)
    assert result.render("html") == render(result)


def test_levels_are_those_of_the_checks() -> None:
    from fairaudit.testing import diagnostics

    assert COPY_CHECK_LEVEL == diagnostics.CHECK_LEVEL
    assert CALIBRATION_LEVEL == diagnostics.PIT_LEVEL


def _contrast(ink: str, ground: str) -> float:
    def luminance(color: str) -> float:
        parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(ink), luminance(ground)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_in_light_and_dark() -> None:
    style = files("fairaudit_reports.html").joinpath("page.css").read_text(encoding="utf-8")
    palettes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(palettes) == 2
    for palette in palettes:
        color = dict(re.findall(r"--([\w-]+): (#\w{6});", palette))
        texts = [
            ("text", "page"),
            ("text", "soft"),
            ("muted", "page"),
            ("muted", "soft"),
            ("link", "page"),
        ]
        for tone in ("violation", "none", "open"):
            texts += [
                (tone, "page"),
                (tone, f"{tone}-soft"),
                ("text", f"{tone}-soft"),
                ("muted", f"{tone}-soft"),
            ]
            assert _contrast(color[tone], color["bar"]) > 1.5  # bars that reach, and others
        for ink, ground in texts:
            assert _contrast(color[ink], color[ground]) >= 4.5, (ink, ground)
        assert _contrast(color["bar"], color["page"]) >= 3


# In a browser


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on PATH")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def written(results: dict[str, AuditResult], tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    paths = {name: folder / f"{name}.html" for name in PAGES}
    for name, path in paths.items():
        path.write_text(render(results[name]), encoding="utf-8")
    return paths


@pytest.fixture
def opened(browser, written):
    """Opens a page; afterwards nothing may have been requested or complained about."""
    requests: list[str] = []
    complaints: list[str] = []
    contexts = []

    def open_page(name: str, width: int, scheme: str):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(written[name].as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    pages = {path.as_uri() for path in written.values()}
    assert [url for url in requests if url not in pages and not url.startswith("data:")] == []
    assert complaints == []


@pytest.mark.parametrize("name", PAGES)
def test_layout(opened, results: dict[str, AuditResult], name: str):
    page = opened(name, 1280, "light")
    for width in (1280, 375):
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            at = (width, scheme)
            shown = page.evaluate(
                """[...document.querySelectorAll('h1, section h2')]
                    .filter(element => element.checkVisibility({visibilityProperty: true}))
                    .map(element => element.textContent)"""
            )
            source = render(results[name])
            drawn = [title for key, title in AUDIT.items() if f'id="{key}"' in source]
            assert shown == [str(results[name].verdict), *drawn], at
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), at
            outside = page.evaluate(
                """[...document.querySelectorAll('body *')].filter(element => {
                    const box = element.getBoundingClientRect();
                    const out = box.left < -1 || box.right > innerWidth + 1;
                    return out && box.width > 1 && !element.closest('.box');
                }).map(element => element.outerHTML.slice(0, 120))"""
            )
            assert outside == [], at
            color = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (color == "rgb(255, 255, 255)") == (scheme == "light"), at


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("violation", 1280, "light"),
        ("violation", 375, "dark"),
        ("no_violation", 375, "light"),
        ("inconclusive", 1280, "dark"),
        ("rich", 1280, "light"),
    ],
)
def test_accessibility(opened, name: str, width: int, scheme: str):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(name, width, scheme)
    violations = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    grave = [
        (violation["id"], violation["nodes"][0]["html"][:120])
        for violation in violations
        if violation["impact"] in ("serious", "critical")
    ]
    assert grave == []


def test_paper_is_white_and_complete(opened):
    page = opened("rich", 1280, "dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_sections_are_reached_by_keyboard(opened):
    page = opened("violation", 1280, "light")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    first = next(iter(AUDIT))
    assert page.url.endswith(f"#{first}")
    width = page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
    assert width >= 2
