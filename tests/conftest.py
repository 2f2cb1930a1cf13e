"""Model files are opened in this process where a test is not about the sandbox.

A confined process costs most of a second, and hundreds of tests open a model. `tests/models` and
`tests/hostile` are about it; commands that tests start as processes of their own have it too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fairaudit.models import loading
from fairaudit.models.sandbox import Limits

ABOUT_IT = ("models", "hostile")


@pytest.fixture(autouse=True)
def _models_in_this_process(request, monkeypatch):
    folder = Path(__file__).parent
    if folder not in request.path.parents or request.path.relative_to(folder).parts[0] in ABOUT_IT:
        return
    confined = loading._confined

    def in_this_process(source, data, trusted, limits):
        if data is None or limits != Limits():
            return confined(source, data, trusted, limits)
        return loading.open_model(data, source, trusted)

    monkeypatch.setattr(loading, "_confined", in_this_process)
