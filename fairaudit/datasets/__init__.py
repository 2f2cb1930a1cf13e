"""Tables to try things on; the demo and the simulations are generated, nothing is downloaded."""

from __future__ import annotations

from fairaudit._lazy import lazy_names

_HOME = {
    "DEMO_FEATURES": "fairaudit.datasets._demo",
    "demo_model": "fairaudit.datasets._demo",
    "load_demo": "fairaudit.datasets._demo",
    "Simulation": "fairaudit.datasets._simulations",
    "simulate_1": "fairaudit.datasets._simulations",
    "simulate_2": "fairaudit.datasets._simulations",
    "simulate_quality": "fairaudit.datasets._simulations",
}

__all__ = list(_HOME)
__getattr__ = lazy_names(__name__, _HOME)
