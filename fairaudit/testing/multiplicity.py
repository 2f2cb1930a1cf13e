"""Many questions: adjusted p-values."""

from __future__ import annotations

import numpy as np

__all__ = ["adjust_p_values"]


def adjust_p_values(p_values: list[float], how: str) -> list[float]:
    """Holm's step-down or Benjamini and Hochberg's step-up."""
    if not p_values:
        return []
    p = np.array(p_values)
    if how == "fdr_bh":
        from scipy.stats import false_discovery_control

        return [float(value) for value in false_discovery_control(p)]
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    result = np.empty_like(p)
    result[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in result]
