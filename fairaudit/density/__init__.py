"""Conditional densities q(y | a), by name or as objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairaudit.errors import InputError

__all__ = ["CATEGORICAL", "CONTINUOUS", "density_named"]

#: name → (module, class, keyword arguments), for a continuous outcome
CONTINUOUS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "auto": ("auto", "Auto", {}),
    "ols": ("gaussian", "Gaussian", {}),
    "lasso": ("gaussian", "Gaussian", {"mean": "lasso"}),
    "ridge": ("gaussian", "Gaussian", {"mean": "ridge"}),
    "heteroscedastic": ("gaussian", "Gaussian", {"heteroscedastic": True}),
    "mixture": ("mixture", "Mixture", {}),
    "boosting": ("boosting", "Boosting", {}),
    "maf": ("flows", "MAF", {}),
    "spline": ("flows", "Spline", {}),
}
#: the same for a categorical outcome; "exact" fits nothing and needs no density
CATEGORICAL: dict[str, tuple[str, str, dict[str, Any]]] = {
    "logistic": ("class_density", "Logistic", {}),
    "mlp": ("class_density", "NeuralClassifier", {}),
    "frequencies": ("class_density", "Frequencies", {}),
}


def density_named(density: Any, *, categorical: bool) -> Any:
    """The density for a name, an object with `fit`, or a callable log-density (oracle).

    None stands for ``"exact"``: permute within outcome classes, estimate nothing.
    """
    if hasattr(density, "fit"):
        return density
    if callable(density):
        from fairaudit.density.oracle import Oracle

        return Oracle(density)
    if density == "exact" or (density == "auto" and categorical):
        return None
    known = CATEGORICAL if categorical else CONTINUOUS
    if density not in known:
        kind = "categorical" if categorical else "continuous"
        names = ", ".join(["auto", "exact", *(name for name in known if name != "auto")])
        raise InputError(
            f"The 'density' parameter for a {kind} outcome must be one of {names}, an object with "
            f"'fit', or a function log q(y, a). Got {density!r} instead."
        )
    from importlib import import_module

    module, name, arguments = known[density]
    family: Callable[..., Any] = getattr(import_module(f"fairaudit.density.{module}"), name)
    return family(**arguments)
