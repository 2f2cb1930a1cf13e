"""cli → reports → fairaudit, never back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("folder", "above"),
    [("fairaudit", "fairaudit_cli|fairaudit_reports"), ("reports", "fairaudit_cli")],
)
def test_no_import_of_a_layer_above(folder, above):
    imports = re.compile(rf"^\s*(?:from|import) (?:{above})\b", re.MULTILINE)
    files = list((ROOT / folder).rglob("*.py"))
    assert len(files) > 10
    assert [str(path) for path in files if imports.search(path.read_text(encoding="utf-8"))] == []
