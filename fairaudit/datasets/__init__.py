"""Tables to try things on: generated ones, and the paper's, read from a folder."""

from __future__ import annotations

from fairaudit._lazy import lazy_names

_HOME = {
    "DEMO_FEATURES": "fairaudit.datasets._demo",
    "demo_model": "fairaudit.datasets._demo",
    "load_demo": "fairaudit.datasets._demo",
    "Dataset": "fairaudit.datasets._paper",
    "load_acsincome": "fairaudit.datasets._paper",
    "load_adult": "fairaudit.datasets._paper",
    "load_compas": "fairaudit.datasets._paper",
    "load_crimes": "fairaudit.datasets._paper",
    "Simulation": "fairaudit.datasets._simulations",
    "simulate_1": "fairaudit.datasets._simulations",
    "simulate_2": "fairaudit.datasets._simulations",
    "simulate_quality": "fairaudit.datasets._simulations",
}

__all__ = list(_HOME)
__getattr__ = lazy_names(__name__, _HOME)
