"""The methods by name: their estimators, their trade-off parameter, and a grid of its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from fairaudit._registry import Named, Registry, found_at
from fairaudit.errors import InputError

__all__ = ["METHODS", "MUS", "Correction", "LastStage", "Method", "Training"]

VALIDATION = 0.1  # share of the training rows
_FEWEST_VALID = 20
MUS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How to train; None leaves a choice to the estimator."""

    objective: str | None = None
    loss: str | None = None
    predictor: str | None = None
    steps: int | None = None
    seed: int = 0
    progress: bool = False
    use_sensitive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to train.

    Attributes
    ----------
    name : str
    classifier, regressor : class, str or None
        Estimators with ``fit(X, y, sensitive_features=A)`` and ``random_state``, as classes or as
        ``"package.module:Class"``. One with ``fit_path(X, y, A, values)`` trains all values at
        once.
    parameter : str
        Of the trade-off.
    grid : tuple of float
        Values to try; the first is training that ignores the attributes.
    length : str
        Name of the parameter that says how long training takes.
    symbol : str
        The parameter for people; its name unless given.
    largest : float
        The largest value of the parameter; the smallest is 0.
    takes : tuple of str
        Which of ``objective``, ``loss``, ``predictor``, ``progress``, ``validation_fraction``
        and, of methods that correct a model, ``use_sensitive`` the estimators have.
    options : mapping
        Further parameters of the estimators.
    """

    name: str
    classifier: type | str | None = None
    regressor: type | str | None = None
    parameter: str
    grid: tuple[float, ...]
    length: str = "max_iter"
    symbol: str = ""
    largest: float = float("inf")
    takes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    #: Whether a model that exists is corrected; otherwise a new one is trained.
    corrects: ClassVar[bool] = False
    #: Whether a correction looks at the features too, which must then be numbers without gaps.
    sees_features: ClassVar[bool] = False

    def check(self, value: float) -> None:
        """Refuse a value that the parameter cannot have."""
        if 0 <= value <= self.largest and value < float("inf"):
            return
        role = "" if self.parameter == "mu" else f" (the {self.parameter} of {self.name})"
        range_ = f"lie in [0, {self.largest:g}]" if self.largest < float("inf") else "be 0 or more"
        raise InputError(f"'mu'{role} must {range_}. Got {value:g}.", argument="mu")

    def estimator(
        self, value: float, training: Training, *, rows: int, classes: bool, old: Any = None
    ) -> Any:
        """An estimator for this value of the parameter; `old` is the model that is replaced."""
        return self.family(classes)(**{self.parameter: value}, **self._options(training, rows))

    def family(self, classes: bool) -> Any:
        """The class of the estimators, for an outcome of classes or of numbers."""
        family = self.classifier if classes else self.regressor
        if family is None and classes:
            raise InputError(
                f"The method {self.name} is for numbers; this outcome has classes. "
                "Use fairicp, faircp, fdl or hgr."
            )
        if family is None:
            raise InputError(
                f"The method {self.name} is for classes; this outcome is continuous. "
                "Use fairicp, faircp, fdl or hgr."
            )
        return found_at(family) if isinstance(family, str) else family

    def _options(self, training: Training, rows: int) -> dict[str, Any]:
        options: dict[str, Any] = {"random_state": training.seed, **self.options}
        for option in ("objective", "loss", "predictor"):
            value = getattr(training, option)
            if value is not None and option not in self.takes:
                raise InputError(
                    f"The method {self.name} has no {option} to choose. Leave that option out."
                )
            if value is not None:
                options[option] = value
        if training.steps is not None:
            adversarial = training.objective == "adversarial"
            options["epochs" if adversarial else self.length] = training.steps
        if "progress" in self.takes:
            options["progress"] = training.progress
        if "validation_fraction" in self.takes and round(VALIDATION * rows) < _FEWEST_VALID:
            options["validation_fraction"] = 0.0
        return options


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction(Method):
    """A network on top of the model that exists."""

    corrects: ClassVar[bool] = True
    sees_features: ClassVar[bool] = True

    def estimator(
        self, value: float, training: Training, *, rows: int, classes: bool, old: Any = None
    ) -> Any:
        options = self._options(training, rows)
        seed = options.pop("random_state")
        return self.family(classes)(old, value, options=options, random_state=seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastStage(Method):
    """Another law of the answers of the model that exists, which sees its scores alone."""

    corrects: ClassVar[bool] = True

    def estimator(
        self, value: float, training: Training, *, rows: int, classes: bool, old: Any = None
    ) -> Any:
        # a convex problem is solved to its end, however long that takes
        options = self._options(replace(training, steps=None), rows)
        if "use_sensitive" in self.takes:
            options["use_sensitive"] = training.use_sensitive
        return self.family(classes)(old, **{self.parameter: value}, **options)


_METHOD = "fairaudit.remedy.methods:Method"
_BY_MU = {
    "parameter": "mu",
    "symbol": "μ",
    "grid": MUS,
    "largest": 1.0,
    "length": "steps",
    "takes": ("objective", "loss", "predictor", "progress", "validation_fraction"),
}


def _family(home: str, name: str, *kinds: str) -> dict[str, Any]:
    """Where the estimators of a method are."""
    return {kind.lower(): f"fairaudit.remedy.{home}:{name}{kind}" for kind in kinds}


_BOTH = ("Classifier", "Regressor")
_PROCESSOR = "fairaudit.remedy.postprocess:ICPPostProcessor"
_DERIVED = "fairaudit.remedy.derived:DerivedPredictor"

METHODS = Registry(
    kind="method",
    method="estimator",
    group="fairaudit.remedies",
    built_in={
        "fairicp": Named(
            _METHOD, {"name": "fairicp", **_family("estimators", "FairICP", *_BOTH), **_BY_MU}
        ),
        "faircp": Named(
            _METHOD, {"name": "faircp", **_family("estimators", "FairCP", *_BOTH), **_BY_MU}
        ),
        "fdl": Named(_METHOD, {"name": "fdl", **_family("estimators", "FDL", *_BOTH), **_BY_MU}),
        "boosting": Named(
            _METHOD,
            {
                "name": "boosting",
                **_family("boosted_trees", "FairICPBoosting", *_BOTH),
                **_BY_MU,
                "length": "rounds",
                "takes": ("validation_fraction",),
            },
        ),
        "hgr": Named(
            _METHOD,
            {
                "name": "hgr",
                **_family("hgr_penalty", "HGR", *_BOTH),
                "parameter": "lam",
                "symbol": "λ",
                "grid": (0.0, 0.3, 1.0, 3.0, 10.0, 30.0),
                "length": "epochs",
                "takes": ("predictor",),
            },
        ),
        "gerryfair": Named(
            _METHOD,
            {
                "name": "gerryfair",
                **_family("gerryfair", "GerryFair", "Classifier"),
                "parameter": "gamma",
                "symbol": "γ",
                "grid": (1.0, 0.03, 0.02, 0.01, 0.005, 0.002),
                "length": "rounds",
            },
        ),
        "reduction": Named(
            _METHOD,
            {
                "name": "reduction",
                **_family("reduction", "Reduction", "Classifier"),
                "parameter": "difference_bound",
                "symbol": "bound",
                "grid": (1.0, 0.2, 0.1, 0.05, 0.02, 0.01),
            },
        ),
        "postprocess": Named(
            "fairaudit.remedy.methods:Correction",
            {"name": "postprocess", "classifier": _PROCESSOR, "regressor": _PROCESSOR, **_BY_MU},
        ),
        "derived": Named(
            "fairaudit.remedy.methods:LastStage",
            {
                "name": "derived",
                "classifier": _DERIVED,
                "regressor": _DERIVED,
                "parameter": "strength",
                "grid": (0.0, 0.5, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6),
                "largest": 2.0,
                "takes": ("use_sensitive",),
            },
        ),
        "thresholds": Named(
            "fairaudit.remedy.methods:LastStage",
            {
                "name": "thresholds",
                "classifier": "fairaudit.remedy.thresholds:ThresholdPredictor",
                "parameter": "strength",
                "grid": (0.0, 0.5, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6),
                "largest": 2.0,
                "takes": ("use_sensitive",),
            },
        ),
    },
)
