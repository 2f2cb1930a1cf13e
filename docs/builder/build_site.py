"""Builds the documentation site: `make docs`, or python docs/builder/build_site.py.

Pages are read where they stand (README's neighbors and docs/), and written to build/pages with two
changes: comments for the tests of the docs go, and links that lead out of docs lead to where the
page is on the site. What has no page there (a script, a folder) keeps its name and loses its link.
The pages of the API and of the command line are made from the code. Then Zensical builds `site/`;
with --strict a warning is an error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from site_reference import write_reference

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: What Zensical's pages load it from; of all their scripts the only one from the network.
WORKER = "https://unpkg.com/iframe-worker/shim"
#: Pages that stand elsewhere in the repository, and their place on the site.
ELSEWHERE = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "README.md": "index.md",
    "tests/golden/README.md": "project/golden.md",
}
COPIED = (".png", ".svg", ".csv", ".css", ".ipynb")
_COMMENT = re.compile(r"^ *<!-- docs-test:.*?-->\n", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"(^ *```.*?^ *```)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")


def page_of(source: Path, pages: Path) -> Path | None:
    """Where a file of the repository stands among the pages; None if it has no page."""
    name = source.relative_to(ROOT).as_posix()
    if name in ELSEWHERE:
        return pages / ELSEWHERE[name]
    if DOCS not in source.parents or DOCS / "builder" in source.parents:
        return None
    if source.suffix in (".md", *COPIED):
        return pages / source.relative_to(DOCS)
    return None


def place_link(match: re.Match[str], source: Path, page: Path, pages: Path) -> str:
    """A link of a page as the site has it."""
    mark, words, target = match.groups()
    path, hash_sign, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", target):
        return match[0]
    file = (source.parent / path).resolve()
    if file.is_dir() and (file / "README.md").is_file():
        file = file / "README.md"
    if not file.exists():
        raise SystemExit(f"{source.relative_to(ROOT)}: there is no {target}")
    found = page_of(file, pages)
    if found is None:
        return words if words.startswith("`") else f"`{words}`"
    there = os.path.relpath(found, page.parent).replace(os.sep, "/")
    return f"{mark}[{words}]({there}{hash_sign}{anchor})"


def site_text(source: Path, page: Path, pages: Path) -> str:
    """The text of a page as the site shows it."""
    text = _COMMENT.sub("", source.read_text(encoding="utf-8"))
    parts = _FENCED.split(text)  # every second one is code
    for number in range(0, len(parts), 2):
        parts[number] = _LINK.sub(
            lambda match: place_link(match, source, page, pages), parts[number]
        )
    return "".join(parts)


def write_pages(pages: Path) -> None:
    """Write all pages into a folder, anew."""
    shutil.rmtree(pages, ignore_errors=True)
    sources = [*DOCS.rglob("*"), *(ROOT / name for name in ELSEWHERE if name != "README.md")]
    for source in sorted(sources):
        page = page_of(source, pages)
        if page is None or source.is_dir():
            continue
        page.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            page.write_text(site_text(source, page, pages), encoding="utf-8")
        else:
            shutil.copyfile(source, page)
    shutil.copyfile(DOCS / "builder" / "site.css", pages / "site.css")
    write_reference(pages / "reference")


def write_settings(work: Path) -> Path:
    """The settings of mkdocs.yml with the folders of this build."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for old, new in (
        ("docs_dir: build/pages", "docs_dir: pages"),
        ("paths: [.]", f"paths: [{ROOT}]"),
    ):
        if old not in text:
            raise SystemExit(f"mkdocs.yml has no line {old!r}")
        text = text.replace(old, new)
    settings = work / "mkdocs.yml"
    settings.write_text(text, encoding="utf-8")
    return settings


def bring_worker_home(site: Path) -> None:
    """Take the script that lets the search run without a server from here, not from the network."""
    shutil.copyfile(DOCS / "builder" / "worker.js", site / "assets" / "javascripts" / "worker.js")
    for page in site.rglob("*.html"):
        up = os.path.relpath(site, page.parent).replace(os.sep, "/")
        text = page.read_text(encoding="utf-8")
        local = text.replace(WORKER, f"{up}/assets/javascripts/worker.js")
        page.write_text(local, encoding="utf-8")


def build(work: Path, site: Path) -> int:
    """Build the site; the exit status of Zensical, which is not 0 after any warning."""
    write_pages(work / "pages")
    settings = write_settings(work)
    built = work / "site"  # Zensical writes only below its settings
    for folder in (built, site):
        shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run([*command, "--config-file", str(settings)], cwd=work)
    if done.returncode == 0:
        bring_worker_home(built)
        if built != site:
            shutil.move(built, site)
    return done.returncode


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--site", type=Path, default=ROOT / "site", help="default: site")
    parser.add_argument("--work", type=Path, default=ROOT / "build", help="default: build")
    args = parser.parse_args(argv)
    return build(args.work.resolve(), args.site.resolve())


if __name__ == "__main__":
    sys.exit(main())
