"""The check of a table at the door of an estimator, with scikit-learn below 1.6 too."""

from __future__ import annotations

from typing import Any

__all__ = ["validate_data"]

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # scikit-learn 1.4 and 1.5 have it as a method

    def validate_data(
        estimator: Any, *tables: Any, skip_check_array: bool = False, **how: Any
    ) -> Any:
        return estimator._validate_data(*tables, cast_to_ndarray=not skip_check_array, **how)
