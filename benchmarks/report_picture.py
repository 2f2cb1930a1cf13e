"""The picture of the HTML report in the README.

    python benchmarks/report_picture.py audit.json docs/images/report.png

Takes the saved record of an audit and an installed Chromium; shows the verdict and the evidence,
without the section between them.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from fairaudit.auditing.audit_result import AuditResult
from fairaudit_reports.html.audit_page import render

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MARGIN = 24


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        parser.error(f"none of {', '.join(BROWSERS)} is on PATH")
    record = json.loads(arguments.record.read_text(encoding="utf-8"))
    arguments.picture.parent.mkdir(parents=True, exist_ok=True)
    photograph(render(AuditResult.from_dict(record)), browser, arguments.picture)


def photograph(html: str, browser: str, path: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(
            viewport={"width": 1280, "height": 2000}, color_scheme="light", device_scale_factor=1.5
        )
        page.set_content(html)
        page.evaluate("document.querySelector('#audited').remove()")
        top = page.locator("header").bounding_box()
        end = page.locator("#evidence > p").last.bounding_box()
        assert top is not None and end is not None
        clip = {
            "x": top["x"] - MARGIN,
            "y": top["y"] - MARGIN,
            "width": top["width"] + 2 * MARGIN,
            "height": end["y"] + end["height"] - top["y"] + 2 * MARGIN,
        }
        page.screenshot(path=path, clip=clip, full_page=True)
        chromium.close()


if __name__ == "__main__":
    main()
