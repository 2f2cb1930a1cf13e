"""The picture and the page of the architecture are those of the code."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from draw import PICTURE, draw
from graph import LEVEL, imports_between_units
from source import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_picture_is_what_the_imports_give() -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw(), "run: make architecture"


def test_every_import_between_packages_is_in_it() -> None:
    found = ElementTree.fromstring(draw()).iter("{http://www.w3.org/2000/svg}title")
    titles = [element.text or "" for element in found]
    shown = {tuple(title.split(" imports ")) for title in titles if " imports " in title}
    assert shown == imports_between_units() and len(shown) > 50


@pytest.mark.parametrize("unit", LEVEL)
def test_the_page_says_what_every_package_is_for(unit: str) -> None:
    assert f"`{unit.removeprefix('fairaudit.')}`" in PAGE
