"""The pages of integrations run with the real packages; each skips where its package is absent."""

from __future__ import annotations

import pytest
from documents import ROOT, has_package, run_page

PAGES = {
    "airflow": "airflow",
    "dagster": "dagster",
    "dvc": "dvc",
    "kedro": "kedro",
    "mlflow": "mlflow",
    "notebooks": "marimo",
    "r": "reticulate",
}


@pytest.mark.parametrize("page", PAGES)
def test_page(page, tmp_path):
    if not has_package(PAGES[page]):
        pytest.skip(f"{PAGES[page]} is not installed")
    path = ROOT / "docs" / "integrations" / f"{page}.md"
    counted = run_page(path, tmp_path.resolve(), slow=True)
    assert counted["ran"] >= 2 and not counted["skip"]
