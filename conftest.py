"""What collection brings in stays for good, and models are opened in the process of the tests.

The garbage collector need not look at a million objects of modules and tests again, which takes a
second as often as a test imports something large. A confined process for a model costs most of a
second, and hundreds of tests open one: those about it are marked `sandbox`, and commands that tests
start as processes of their own have it too.
"""

import gc

import pytest

gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _models_in_this_process(request, monkeypatch):
    if request.node.get_closest_marker("sandbox"):
        return
    from fairaudit.models import loading
    from fairaudit.models.sandbox import Limits

    confined = loading._confined

    def in_this_process(source, data, trusted, limits):
        if data is None or limits != Limits():
            return confined(source, data, trusted, limits)
        return loading.open_model(data, source, trusted)

    monkeypatch.setattr(loading, "_confined", in_this_process)
