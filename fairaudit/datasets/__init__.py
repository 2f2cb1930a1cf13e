"""Tables to try things on; the demo and the simulations are generated, nothing is downloaded."""

from __future__ import annotations

from typing import Any

_HOME = {
    "DEMO_FEATURES": "demo",
    "demo_model": "demo",
    "load_demo": "demo",
    "Simulation": "simulations",
    "simulate_1": "simulations",
    "simulate_2": "simulations",
    "simulate_quality": "simulations",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(f"fairaudit.datasets._{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'fairaudit.datasets' has no attribute {name!r}")
