"""Tables to try things on; the demo is generated, so nothing is downloaded."""

from __future__ import annotations

from typing import Any

_HOME = {
    "DEMO_FEATURES": "demo",
    "demo_model": "demo",
    "load_demo": "demo",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(f"fairaudit.datasets._{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'fairaudit.datasets' has no attribute {name!r}")
