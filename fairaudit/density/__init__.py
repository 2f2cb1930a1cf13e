"""Conditional densities q(y | a), by name or as objects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairaudit._registry import Named, Registry
from fairaudit.errors import InputError

__all__ = ["CATEGORICAL", "CONTINUOUS", "density_named", "density_names"]

_EXACT = Named("fairaudit.density:no_density")

CONTINUOUS = Registry(
    kind="density",
    method="fit",
    group="fairaudit.densities",
    suited=" for a continuous outcome",
    takes="an object with 'fit', or a function log q(y, a)",
    built_in={
        "auto": Named("fairaudit.density.auto:Auto"),
        "exact": _EXACT,
        "ols": Named("fairaudit.density.gaussian:Gaussian"),
        "lasso": Named("fairaudit.density.gaussian:Gaussian", {"mean": "lasso"}),
        "ridge": Named("fairaudit.density.gaussian:Gaussian", {"mean": "ridge"}),
        "heteroscedastic": Named("fairaudit.density.gaussian:Gaussian", {"heteroscedastic": True}),
        "mixture": Named("fairaudit.density.mixture:Mixture"),
        "boosting": Named("fairaudit.density.boosting:Boosting"),
        "maf": Named("fairaudit.density.flows:MAF"),
        "spline": Named("fairaudit.density.flows:Spline"),
    },
)
CATEGORICAL = replace(
    CONTINUOUS,
    suited=" for a categorical outcome",
    built_in={
        "auto": _EXACT,
        "exact": _EXACT,
        "logistic": Named("fairaudit.density.class_density:Logistic"),
        "mlp": Named("fairaudit.density.class_density:NeuralClassifier"),
        "frequencies": Named("fairaudit.density.class_density:Frequencies"),
    },
)


def no_density() -> None:
    """``"exact"``: copies within outcome classes need none."""


def density_names() -> list[str]:
    """All names, for outcomes of either kind."""
    return list(dict.fromkeys([*CONTINUOUS.names(), *CATEGORICAL.names()]))


def density_named(density: Any, *, categorical: bool) -> Any:
    """The density for a name, an object with `fit`, or a callable log-density (oracle).

    None stands for ``"exact"``: permute within outcome classes, estimate nothing. A density with
    an attribute `outcome` (``"continuous"`` or ``"categorical"``) is refused for the other kind.
    """
    if callable(density) and not isinstance(density, type) and not hasattr(density, "fit"):
        from fairaudit.density.oracle import Oracle

        return Oracle(density)
    density = (CATEGORICAL if categorical else CONTINUOUS).get(density)
    kind = "categorical" if categorical else "continuous"
    suits = getattr(density, "outcome", None) or kind
    if suits != kind:
        raise InputError(
            f"The density {density.name!r} is for a {suits} outcome, but this one is {kind}. "
            "Choose another density."
        )
    return density
