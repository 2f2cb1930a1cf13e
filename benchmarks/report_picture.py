"""The pictures of the report in README and docs/report.md.

    python benchmarks/report_picture.py audit.json docs/images

Takes the saved record of an audit and an installed Chromium; writes the first screen, the same on a
phone in the dark, the pictures of scores by the first attribute, and the first page of the PDF.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from fairaudit.auditing.audit_result import AuditResult
from fairaudit_reports.html.audit_page import render
from fairaudit_reports.pdf.audit_pdf import render_page
from fairaudit_reports.view.cover import Cover, use_cover

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COVER = Cover(
    title="Credit score: yearly audit",
    model="credit-score",
    model_version="4.1",
    auditor="J. Doe",
    next_review="November 2027",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        parser.error(f"none of {', '.join(BROWSERS)} is on PATH")
    result = AuditResult.from_dict(json.loads(arguments.record.read_text(encoding="utf-8")))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    photograph(render(result), browser, arguments.folder)
    with use_cover(COVER):
        (arguments.folder / "report-pdf.png").write_bytes(render_page(result))


def photograph(html: str, browser: str, folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = _open(chromium, html, 1280, "light")
        page.screenshot(path=folder / "report.png")
        heading, charts = (page.locator(f"#scores {part}").first for part in ("h3", ".charts"))
        top, box = heading.bounding_box(), charts.bounding_box()
        height = box["y"] + box["height"] - top["y"]
        clip = {"x": box["x"], "y": top["y"], "width": box["width"], "height": height}
        page.screenshot(path=folder / "report-scores.png", full_page=True, clip=clip)
        phone = _open(chromium, html, 375, "dark")
        phone.screenshot(path=folder / "report-phone.png")
        chromium.close()


def _open(chromium: Any, html: str, width: int, scheme: str) -> Any:
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.set_content(html)
    return page


if __name__ == "__main__":
    main()
