"""The paper's own numbers and settings (Lai, Cheng, Guan 2025)."""

from __future__ import annotations

from typing import Any

__all__ = ["RUNTIME", "TABLE1", "flow_settings"]


def flow_settings() -> dict[str, Any]:
    """Of the flows in the paper's simulations."""
    from fairaudit.density.network_training import Training

    training = Training(learning_rate=0.1, l1=0.01)
    return {"components": 1, "hidden_layers": 1, "hidden": None, "training": training}


#: task → method → (loss, its standard deviation, KPC, power, DEO or None)
TABLE1: dict[str, dict[str, tuple[float, float, float, float, float | None]]] = {
    "crimes_one": {
        "baseline": (0.340, 0.039, 0.130, 0.68, None),
        "fairicp": (0.386, 0.045, 0.016, 0.10, None),
        "hgr": (0.386, 0.044, 0.026, 0.16, None),
        "fdl": (0.402, 0.046, 0.023, 0.17, None),
    },
    "crimes_all": {
        "baseline": (0.340, 0.039, 0.259, 1.00, None),
        "fairicp": (0.418, 0.047, 0.054, 0.37, None),
        "hgr": (0.596, 0.050, 0.068, 0.48, None),
        "fdl": (0.621, 0.48, 0.058, 0.37, None),
    },
    "acsincome": {
        "baseline": (0.210, 0.003, 0.073, 1.00, None),
        "fairicp": (0.215, 0.003, 0.025, 0.80, None),
        "hgr": (0.220, 0.004, 0.021, 0.82, None),
        "gerryfair": (0.262, 0.004, 0.050, 1.00, None),
    },
    "adult": {
        "baseline": (0.155, 0.004, 0.042, 0.93, 0.431),
        "fairicp": (0.159, 0.003, 0.010, 0.13, 0.212),
        "hgr": (0.165, 0.004, 0.006, 0.10, 0.198),
        "fdl": (0.161, 0.005, 0.011, 0.26, 0.251),
        "gerryfair": (0.187, 0.004, 0.031, 0.78, 0.298),
        "reduction": (0.161, 0.004, 0.005, 0.15, 0.212),
    },
    "compas": {
        "baseline": (0.336, 0.01, 0.046, 0.41, 0.858),
        "fairicp": (0.402, 0.02, 0.008, 0.04, 0.471),
        "hgr": (0.443, 0.04, 0.008, 0.06, 0.459),
        "fdl": (0.417, 0.03, 0.008, 0.11, 0.421),
        "gerryfair": (0.438, 0.07, 0.020, 0.14, 0.368),
        "reduction": (0.400, 0.02, 0.002, 0.05, 0.460),
    },
}

#: task → method → seconds for one point of the curve
RUNTIME: dict[str, dict[str, float]] = {
    "crimes_one": {"fairicp": 29.4, "hgr": 14.6, "fdl": 28.9},
    "crimes_all": {"fairicp": 34.6, "hgr": 17.8, "fdl": 39.2},
    "acsincome": {"fairicp": 680.7, "hgr": 309.8, "gerryfair": 2834.4},
    "adult": {"fairicp": 293.1, "hgr": 98.2, "fdl": 289.4, "gerryfair": 1487.4, "reduction": 334.1},
    "compas": {"fairicp": 59.8, "hgr": 61.4, "fdl": 67.6, "gerryfair": 194.8, "reduction": 171.1},
}
