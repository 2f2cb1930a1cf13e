"""Tables to try things on: generated ones, and public ones from a folder or their homes."""

from __future__ import annotations

from fairaudit._registry import lazy_names

_HOME = {
    "DEMO_FEATURES": "fairaudit.datasets._demo",
    "demo_model": "fairaudit.datasets._demo",
    "load_demo": "fairaudit.datasets._demo",
    "Dataset": "fairaudit.datasets._dataset",
    "fetch_acs_income": "fairaudit.datasets._acs_income",
    "fetch_adult": "fairaudit.datasets._adult",
    "fetch_communities": "fairaudit.datasets._communities",
    "fetch_compas": "fairaudit.datasets._compas",
    "load_diabetes": "fairaudit.datasets._diabetes",
    "Simulation": "fairaudit.datasets._simulations",
    "simulate_1": "fairaudit.datasets._simulations",
    "simulate_2": "fairaudit.datasets._simulations",
    "simulate_quality": "fairaudit.datasets._simulations",
}

__all__ = list(_HOME)
__getattr__ = lazy_names(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
