"""Every kind of page in a browser: no text over text, nothing grave for axe, no outside request."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fairaudit as fa
from fairaudit_cli import main as cli
from fairaudit_cli.report import load_result, result_of
from fairaudit_reports.view.cover import Cover, use_cover

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
#: Pages of records that were made before, by kind.
RECORDS = Path(__file__).parents[1] / "golden" / "records_0_1_0"
KEPT = ("comparison", "models", "monitoring", "remedy")
#: Pages of the records that commands write today.
TODAY = {
    "candidate": "compare",
    "certificates": "test-labels",
    "evidence": "test-evidence",
    "people with ids": "test-people",
    "remedy of the search": "remedy",
    "shards": "test-three-shards",
    "shards of numbers": "test-shards-of-numbers",
    "side by side": "compare-models",
    "stream": "monitor",
    "weights": "test-weights",
}
AUDITS = ("audit", "regression", "classes", "fair", "masked", "counts")
PAGES = (*AUDITS, "plan", "missing", "repaired", *KEPT, *TODAY)
COVER = Cover(
    title="Yearly audit of the credit score",
    model="credit-score",
    model_version="4.1",
    auditor="J. Doe",
    purpose="Loans",
    next_review="2027",
)
#: Pairs of texts of one picture whose boxes overlap by more than a hair; hidden ones have none.
OVERLAPS = """
() => [...document.querySelectorAll('svg[role=img]')].flatMap(chart => {
  const words = [...chart.querySelectorAll('text')]
    .filter(word => word.checkVisibility())
    .map(word => [word.textContent, word.getBoundingClientRect()])
    .filter(([, box]) => box.width > 0);
  const found = [];
  words.forEach(([a, one], i) => words.slice(i + 1).forEach(([b, two]) => {
    const across = Math.min(one.right, two.right) - Math.max(one.left, two.left);
    const down = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
    if (across > 1.5 && down > 4) found.push(`${a} | ${b}`);
  }));
  return found;
})
"""
OUTSIDE = """
() => [...document.querySelectorAll('svg[role=img] text')].filter(word => {
  const box = word.getBoundingClientRect();
  return box.width > 0 && (box.left < -1 || box.right > innerWidth + 1);
}).map(word => word.textContent)
"""


def people(n: int = 1500) -> tuple[np.random.Generator, pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "race": rng.choice(["Asian", "Black", "Hispanic", "White"], n),
            "sex": rng.choice(["female", "male"], n),
            "age": rng.integers(18, 80, n),
        }
    )
    return rng, frame, rng.integers(0, 2, n)


def audits() -> dict[str, Any]:
    rng, frame, y = people()
    few = {"permutations": fa.Permutations(n=99), "sensitive": frame}
    shift = -1.2 * ((frame.race == "Black") & (frame.sex == "female")) - 0.02 * (frame.age - 49)
    score = 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(size=len(y)) + shift)))
    fair = 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(size=len(y)))))
    amount = 30_000 + 9_000 * rng.normal(size=len(y))
    income = pd.Series(amount, name="income")
    guess = amount + 5_000 * (frame.sex == "male") + 6_000 * rng.normal(size=len(y))
    job = rng.choice(["clerk", "doctor", "nurse"], len(y))
    said = np.where(rng.random(len(y)) < 0.1 + 0.3 * (frame.sex == "male"), "doctor", job)
    repaid = pd.Series(y, name="repaid")
    counted = frame.drop(columns="age").assign(repaid=y, score=score)
    names = {"predictions": "score", "outcome": "repaid", "sensitive": ["race", "sex"]}
    table = fa.counts(counted, **names)
    whole = fa.audit(predictions=score, outcome=repaid, locate=True, **few)
    return {
        "audit": whole,
        "masked": whole.suppressed(200),
        "counts": fa.audit(counts=table, permutations=few["permutations"], **names),
        "regression": fa.audit(predictions=guess, outcome=income, density="ols", **few),
        "classes": fa.audit(predictions=said, outcome=pd.Series(job, name="job"), **few),
        "fair": fa.audit(predictions=fair, outcome=repaid, **few),
    }


def other_pages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, frame, y = people()
    monkeypatch.chdir(folder)
    score = 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(size=len(y)) - (frame.sex == "female"))))
    table = frame.assign(repaid=y, score=score, other=np.clip(score + 0.05, 0, 1))
    table.to_csv("rows.csv", index=False)
    holes = table.assign(race=table.race.where(rng.random(len(y)) > 0.1))
    holes.to_csv("holes.csv", index=False)
    about = ["--outcome", "repaid", "--sensitive", "race,sex"]
    cover = ["--title", "Yearly audit", "--auditor", "J. Doe", "--suppress", "10"]
    plan = ["plan", "--data", "rows.csv", "--effect", "tpr_gap=0.2", "--max-rows", "2000"]
    missing = ["missing", "--data", "holes.csv", "--permutations", "99"]
    runs = {
        name: [*words, "--predictions", "score", *about, *cover]
        for name, words in (("plan", plan), ("missing", missing))
    }
    model = LogisticRegression().fit(table[["other"]], y)
    Path("model.pkl").write_bytes(pickle.dumps(model))
    fair = ["remedy", "--model", "model.pkl", "--no-sandbox", "--data", "rows.csv"]
    few = ["--method", "derived", "--use-sensitive", "--permutations", "99"]
    runs["repaired"] = [*fair, *about[:2], "--sensitive", "sex", *few, "--out", "fair.pkl", *cover]
    for name, words in runs.items():
        assert cli.main([*words, "--report", f"{name}.html"]) in (0, 1, 3), name


def read_command(name: str) -> Any:
    """The result of a golden record; what moves between machines is put in its place."""
    path = Path(__file__).parents[1] / "golden" / "commands" / f"{name}.json"
    text = path.read_text().replace('"seconds": "…"', '"seconds": 0.1')
    record = json.loads(text.replace('"packages": "…"', '"packages": {}'))
    record.pop("digest")
    return result_of(record)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    with use_cover(COVER):
        for name, result in audits().items():
            result.save(folder / f"{name}.html")
        for name in KEPT:
            load_result(str(RECORDS / f"{name}.json")).save(folder / f"{name}.html")
        for name, command in TODAY.items():
            read_command(command).save(folder / f"{name}.html")
    with pytest.MonkeyPatch.context() as monkeypatch:
        other_pages(folder, monkeypatch)
    return {path.stem: path for path in folder.glob("*.html")}


@pytest.fixture(scope="module")
def browser() -> Any:
    if CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on PATH")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_legible_everywhere(browser, written: dict[str, Path], name: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    path, requests = written[name], list[str]()
    assert path.stat().st_size < 300_000
    page = browser.new_page()
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    for width, scheme in ((1280, "light"), (1280, "dark"), (375, "light"), (375, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        at = (name, width, scheme)
        assert page.evaluate(OVERLAPS) == [], at
        assert page.evaluate(OUTSIDE) == [], at
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), at
        found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
        grave = [
            (one["id"], one["nodes"][0]["html"][:160])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert grave == [], at
    page.emulate_media(media="print", color_scheme="light")
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.evaluate(OVERLAPS) == [], (name, "print")
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert [url for url in requests if url != path.as_uri() and not url.startswith("data:")] == []
    page.close()


def test_a_table_sorts_and_is_complete_without_the_script(browser, written) -> None:
    page = browser.new_page()
    page.goto(written["audit"].as_uri())
    table = page.locator("#groups table.sortable")
    before = table.locator("tbody tr").all_inner_texts()
    table.locator("th button", has_text="Rows").click()
    counts = [
        int(text.replace(",", ""))
        for text in table.locator("tbody tr td:nth-of-type(1)").all_inner_texts()
        if text.replace(",", "").strip().isdigit()
    ]
    assert counts == sorted(counts) and len(counts) > 4
    page.close()
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(written["audit"].as_uri())
    assert plain.locator("#groups table.sortable tbody tr").all_inner_texts() == before
    context.close()


def test_pages_carry_who_answers_for_them(written: dict[str, Path]) -> None:
    for name in PAGES:
        text = written[name].read_text()
        assert "Yearly audit" in text and "J. Doe" in text and "To sign" in text, name
    for name in ("audit", "plan", "missing", "comparison", "remedy"):
        text = written[name].read_text()
        assert "How to repeat it" in text and "SHA-256" in text, name


@pytest.mark.parametrize("name", [*KEPT, "plan", "missing"])
def test_every_result_is_a_tagged_pdf_the_same_every_time(name: str) -> None:
    pytest.importorskip("typst")
    kept = name in KEPT
    result = load_result(str(RECORDS / f"{name}.json")) if kept else read_command(name)
    with use_cover(COVER):
        first, second = (result.render("pdf") for _ in range(2))
    assert first == second and first.startswith(b"%PDF")
    assert b"/StructTreeRoot" in first and b"/MarkInfo" in first


def test_a_pdf_is_tagged_and_the_same_every_time() -> None:
    pytest.importorskip("typst")
    rng, frame, y = people(600)
    score = 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(size=len(y)) - (frame.sex == "female"))))
    result = fa.audit(
        predictions=score,
        outcome=pd.Series(y, name="<repaid> #x $y"),
        sensitive=frame,
        permutations=fa.Permutations(n=99),
        power=False,
    )
    with use_cover(replace(COVER, title="A #title with $signs$ and *stars*")):
        first, second = (result.suppressed(10).render("pdf") for _ in range(2))
    assert first == second and first.startswith(b"%PDF")
    assert b"/StructTreeRoot" in first and b"/MarkInfo" in first
