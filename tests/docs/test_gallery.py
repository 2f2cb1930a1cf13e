"""The pages of the gallery are those of the scripts; `make pages` runs them and compares output."""

from __future__ import annotations

import json
import re
import sys

import pytest
from documents import ROOT

sys.path.insert(0, str(ROOT / "examples"))
import render

EXAMPLES = render.examples()
_PRINTED = re.compile(r"(```python\n.*?\n```)\n\n```text\n.*?\n```", re.DOTALL)


def test_there_are_enough_of_them_and_the_index_lists_all():
    assert len(EXAMPLES) >= 10
    assert (render.GALLERY / "index.md").read_text() == render.index(EXAMPLES)
    pages = {path.stem for path in render.GALLERY.glob("*.md")} - {"index"}
    assert pages == {example.name for example in EXAMPLES}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_page_is_that_of_its_script(example):
    """But for what was printed, which running it compares."""
    page = (render.GALLERY / f"{example.name}.md").read_text()
    assert _PRINTED.sub(r"\1", page) == "\n\n".join(render.page_parts(example)) + "\n"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_what_is_printed_stands_below_its_code(example):
    page = (render.GALLERY / f"{example.name}.md").read_text()
    for cell in example.cells:
        if not cell.text and "print(" in cell.source:
            assert f"{cell.source}\n```\n\n```text\n" in page, cell.source


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_notebook_is_that_of_its_script(example):
    book = json.loads((render.GALLERY / f"{example.name}.ipynb").read_text())
    assert book["nbformat"] == 4
    assert [cell["source"] for cell in book["cells"]] == [cell.source for cell in example.cells]
    page = (render.GALLERY / f"{example.name}.md").read_text()
    for cell in book["cells"]:
        for output in cell.get("outputs", ()):
            assert output["text"] in page
