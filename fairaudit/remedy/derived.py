"""A last stage around any fitted model: randomized answers that do not depend on attributes.

The answer is drawn from a law that the model's own score and the attributes decide, such that
given the outcome it does not change with the attributes (Hardt, Price & Srebro 2016: a derived
predictor). The draw is a keyed hash of the person's row: the same person, the same answer.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fairaudit._types import Array, Index
from fairaudit.data.classes import in_classes_of
from fairaudit.data.columns import Column, columns_from
from fairaudit.errors import InputError
from fairaudit.models.predictor import folded
from fairaudit.permute.copies import stream
from fairaudit.remedy.attribute_basis import AttributeBasis
from fairaudit.remedy.base import sensitive_columns
from fairaudit.remedy.keyed_uniforms import draw_key, draw_uniforms
from fairaudit.remedy.level_answers import LevelAnswers, check_solver, pick_levels
from fairaudit.remedy.number_answers import NumberAnswers
from fairaudit.remedy.pass_chance import PassChance, chance_to_pass_refitted

__all__ = ["DerivedPredictor"]

STRONGEST = 2.0
OF_CLASSES, OF_NUMBERS = (2, 60.0), (8, 2.0)  # levels and shrinkage


class DerivedPredictor(MetaEstimatorMixin, BaseEstimator):
    """Randomized answers of a fitted model that meet equalized odds.

    Parameters
    ----------
    estimator : fitted model
        A classifier with `predict_proba`, or a regressor.
    strength : float in [0, 2]
        0 is the model untouched; 1 is the full correction; beyond 1 a share of the answers is
        drawn from a law that depends on nothing. Dependence falls all the way.
    use_sensitive : bool
        Whether the attributes are known when it predicts: in the columns of `X` that have their
        names, or as `sensitive_features`. Without them scores are put on levels, and noise is all
        that lowers dependence further.
    levels : int, optional
        Different scores that a classifier of two classes gives (default 2; with more classes there
        is one level per class), or different numbers of a regressor (8).
    solver : {"smooth", "program"}
        ``"smooth"``: soft probabilities, for attributes of any kind. ``"program"``: a linear
        program over crossed groups and bins of the score, for categories.
    temperature : float
        How soft the probabilities of ``"smooth"`` are.
    shrink : float, optional
        Rows' worth of shrinkage of what is learned about attributes: dependence that is costly to
        remove and hardly larger than the noise of the rows is left. Default 60, of numbers 2.
    error_share : float in [0, 1]
        What a classifier's law is best for: misclassified people (1), the Brier score (0).
    ids : str, optional
        Column of `X` that tells people apart. Without it all columns do, and people with equal
        rows get equal answers.
    random_state : int or None
        Of the key; None makes a secret one.

    Attributes
    ----------
    key_ : str
        Of the hash.
    answers_ : LevelAnswers or NumberAnswers
    basis_ : AttributeBasis
    classes_, feature_names_in_, n_features_in_ : as usual

    Notes
    -----
    Fit it on rows that the model was not trained on, or pass out-of-fold `scores`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 2000))
    >>> X = np.column_stack([y + rng.normal(size=2000), sex + y / 2 + rng.normal(size=2000)])
    >>> model = LogisticRegression().fit(X[:1000], y[:1000])
    >>> fair = DerivedPredictor(model, levels=2).fit(
    ...     X[1000:], y[1000:], sensitive_features={"sex": sex[1000:]})
    >>> score = fair.predict_proba(X, sensitive_features={"sex": sex})[:, 1]
    >>> len(np.unique(score))
    2
    """

    def __init__(
        self,
        estimator: Any,
        strength: float = 1.0,
        *,
        use_sensitive: bool = True,
        levels: int | None = None,
        solver: str = "smooth",
        temperature: float = 0.003,
        shrink: float | None = None,
        error_share: float = 0.5,
        ids: str | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.strength = strength
        self.use_sensitive = use_sensitive
        self.levels = levels
        self.solver = solver
        self.temperature = temperature
        self.shrink = shrink
        self.error_share = error_share
        self.ids = ids
        self.random_state = random_state

    # -- fitting

    def fit(
        self, X: Any, y: Any, sensitive_features: Any = None, *, scores: Any = None
    ) -> DerivedPredictor:
        """Learn the law of the answers.

        Parameters
        ----------
        X, y : rows that the model was not trained on
        sensitive_features : columns
        scores : array, optional
            Out-of-fold answers of the model for these rows, where it was trained on them:
            probabilities (of the second of two classes, or one column per class) or numbers.
        """
        self._check()
        attributes = sensitive_columns(sensitive_features, len(X), self)
        self.key_ = draw_key(self.random_state)
        known = self._ask(X) if scores is None else self.read_scores(scores, len(X))
        if is_classifier(self.estimator):
            self.classes_ = np.asarray(self.estimator.classes_)
            parts = self._find_parts(y)
        else:
            parts = np.zeros(len(X), dtype=np.intp)
        self.basis_ = AttributeBasis().fit(attributes, parts)
        if self.basis_.smooth and self.solver == "program":
            raise InputError(
                "The solver 'program' is for categories; some attributes are numbers. "
                "Use solver='smooth'.",
                argument="solver",
            )
        psi, groups = self._see(attributes)
        answers = self._make_answers()
        if is_classifier(self.estimator):
            self.answers_ = answers.fit(known, psi, groups, parts)
        else:
            numbers = np.asarray(y, dtype=np.float64)
            if numbers.std() == 0:
                raise InputError("The outcome is constant. There is nothing to learn.")
            self.answers_ = answers.fit(known[:, 0], psi, numbers)
        return self

    def fit_path(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        strengths: Sequence[float],
        *,
        scores: Any = None,
    ) -> list[DerivedPredictor]:
        """Fitted copies for every strength; the law is learned once. The first is `self`."""
        self.strength = strengths[0]
        self.fit(X, y, sensitive_features, scores=scores)
        return [self, *(self.at_strength(strength) for strength in strengths[1:])]

    def at_strength(self, strength: float) -> DerivedPredictor:
        """The fitted model with another strength."""
        check_is_fitted(self, "answers_")
        changed = copy.copy(self)
        changed.strength = strength
        changed._check()
        return changed

    def pass_chances(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        strengths: Sequence[float],
        *,
        scores: Any = None,
        **audit: Any,
    ) -> list[PassChance]:
        """The chance to pass an audit of new rows, for every strength.

        Fits to rows drawn from these again and again (`chance_to_pass_refitted`, which says what
        `audit` may hold: `n_fresh`, `alpha`, `repeats`, `seed`).
        """
        known = self._ask(X) if scores is None else self.read_scores(scores, len(X))
        columns = sensitive_columns(sensitive_features, len(X), self)
        values = {column.name: column.levels[column.codes] for column in columns}
        outcome = np.asarray(y)
        seed = int(audit.get("seed", 0))
        model = copy.copy(self)
        model.strength = strengths[0]

        def answer(fitted: Index, fresh: Index) -> list[Array]:
            drawn = {name: column[fitted] for name, column in values.items()}
            model.fit(fitted, outcome[fitted], drawn, scores=known[fitted])
            uniforms = stream(seed, 12, int(fresh[0])).random((len(fresh), 3))
            new = {name: column[fresh] for name, column in values.items()}
            return [
                model.at_strength(strength).draw_answers(known[fresh], new, uniforms)[:, -1]
                for strength in strengths
            ]

        audit.setdefault("n_fresh", len(outcome))
        return chance_to_pass_refitted(answer, outcome, values, **audit)

    # -- prediction

    @available_if(lambda self: is_classifier(self.estimator))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, sensitive_features: Any = None) -> Array:
        """Drawn chances of the classes; the same row gets the same."""
        return self._answer(X, sensitive_features)

    def predict(self, X: Any, sensitive_features: Any = None) -> Array:
        answers = self._answer(X, sensitive_features)
        if is_classifier(self.estimator):
            return np.asarray(self.classes_[answers.argmax(axis=1)])
        return answers[:, 0]

    def draw_answers(self, scores: Any, sensitive_features: Any, uniforms: Array) -> Array:
        """Answers for scores that are known already, by uniform numbers (rows × 3).

        What `predict_proba` (or `predict` of a regressor) does with its own scores and numbers.
        """
        check_is_fitted(self, "answers_")
        known = self.read_scores(scores, len(uniforms))
        if self.strength == 0:
            return known
        share, noise = min(self.strength, 1.0), max(self.strength - 1.0, 0.0)
        own = self.find_level_chances(known, sensitive_features)
        likely = (1 - noise) * own + noise * self.answers_.common
        answers = self.answers_.values_at(noise)[pick_levels(likely, uniforms[:, 0])]
        return np.where(uniforms[:, [1]] < share, answers, known)

    def find_level_chances(self, scores: Array, sensitive_features: Any) -> Array:
        """How likely every level is (columns) at full strength, for the model's own answers."""
        columns = self.basis_.read(sensitive_features) if self.use_sensitive else None
        psi, groups = self._see(columns, len(scores))
        asked = scores if is_classifier(self.estimator) else scores[:, 0]
        return np.asarray(self.answers_(asked, psi, groups))

    def _answer(self, X: Any, sensitive_features: Any) -> Array:
        check_is_fitted(self, "answers_")
        known = self._ask(X)
        if self.strength == 0:
            return known
        sensitive = self._find_sensitive(X, sensitive_features)
        columns = self._find_row(X)
        if self.use_sensitive and self.ids is None:
            read = self.basis_.read(sensitive)
            columns |= {f"sensitive {c.name}": c.levels[c.codes] for c in read}
        uniforms = draw_uniforms(columns, self.key_, count=3)
        return self.draw_answers(known, sensitive, uniforms)

    def __sklearn_tags__(self) -> Any:
        """Classifier or regressor as the model inside."""
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

    @property
    def feature_names_in_(self) -> Any:
        """Columns to pass: those of the model, the attributes and the ids."""
        names = [str(name) for name in self.estimator.feature_names_in_]
        more = [] if self.ids is None else [self.ids]
        if self.use_sensitive and hasattr(self, "basis_"):
            more += list(self.basis_.kinds)
        return np.array([*names, *(name for name in more if name not in names)], dtype=object)

    # -- inside

    def _make_answers(self) -> Any:
        """What learns the law of the answers."""
        levels, shrink = self._choose_sizes()
        how: dict[str, Any] = {"temperature": self.temperature, "shrink": shrink}
        if not is_classifier(self.estimator):
            return NumberAnswers(levels, **how)
        solver = self.solver if self.use_sensitive else "smooth"
        return LevelAnswers(levels, solver=solver, error_share=self.error_share, **how)

    def _choose_sizes(self) -> tuple[int, float]:
        """Levels and shrinkage, given or by the kind of the outcome."""
        levels, shrink = OF_CLASSES if is_classifier(self.estimator) else OF_NUMBERS
        return (
            levels if self.levels is None else self.levels,
            shrink if self.shrink is None else self.shrink,
        )

    def _check(self) -> None:
        check_solver(self.solver)
        if not 0 <= self.strength <= STRONGEST:
            raise InputError(
                f"'strength' must lie in [0, 2]. Got {self.strength!r}.", argument="strength"
            )
        levels, shrink = self._choose_sizes()
        if levels < 2 or not self.temperature > 0 or not shrink >= 0:
            raise InputError(
                "'levels' must be 2 or more, 'temperature' positive and 'shrink' 0 or more.",
                argument=("levels", "temperature", "shrink"),
            )

    def _find_parts(self, y: Any) -> Index:
        (column,) = columns_from({"y": np.asarray(y)}, argument="y", outcome=True)
        named = np.asarray(in_classes_of(self.classes_.tolist(), column))
        parts = np.array([self.classes_.tolist().index(label) for label in named.tolist()])
        if len(np.unique(parts)) < len(self.classes_):
            raise InputError("A class of the model does not occur in y. Pass rows of every class.")
        return parts

    def _see(self, columns: Sequence[Column] | None, rows: int = 0) -> tuple[Array, Index]:
        """Functions of the attributes, and groups; nothing where they are not to be known."""
        if columns is None or not self.use_sensitive:
            rows = rows if columns is None else len(columns[0])
            return np.zeros((rows, 1)), np.zeros(rows, dtype=np.intp)
        return self.basis_(columns), self.basis_.find_groups(columns)

    def _ask(self, X: Any) -> Array:
        """The model's own answers: rows × classes, or one column of numbers."""
        rows = self._own_columns(X)
        if is_classifier(self.estimator):
            return np.asarray(self.estimator.predict_proba(rows), dtype=np.float64)
        return np.asarray(self.estimator.predict(rows), dtype=np.float64).reshape(-1, 1)

    def _own_columns(self, X: Any) -> Any:
        """Without columns that only this stage needs."""
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None or not hasattr(X, "columns"):
            return X
        # boosters write some names in another way than the table does
        alike = {folded(str(name)): name for name in X.columns}
        chosen = [name if name in X.columns else alike.get(folded(str(name))) for name in names]
        if None in chosen:
            raise InputError(
                f"X has no column {names[chosen.index(None)]!r}, a feature of the model."
            )
        return X[chosen]

    def read_scores(self, scores: Any, rows: int) -> Array:
        """The model's answers as rows × classes, or one column of numbers."""
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim == 1 and is_classifier(self.estimator):
            values = np.column_stack([1 - values, values])
        values = values.reshape(len(values), -1)
        width = len(self.estimator.classes_) if is_classifier(self.estimator) else 1
        if values.shape != (rows, width) or not np.isfinite(values).all():
            raise InputError(
                f"'scores' must have {rows} rows and {width} columns of finite numbers, answers of "
                f"the model. Got {' × '.join(map(str, np.shape(scores)))}.",
                argument="scores",
            )
        return values

    def _find_sensitive(self, X: Any, sensitive_features: Any) -> Any:
        if not self.use_sensitive or sensitive_features is not None:
            return sensitive_features
        names = list(self.basis_.kinds)
        if not hasattr(X, "columns") or any(name not in X.columns for name in names):
            raise InputError(
                "This model was fitted with use_sensitive=True: pass the columns "
                f"{', '.join(map(repr, names))}, or sensitive_features.",
                argument="sensitive_features",
            )
        return {name: np.asarray(X[name]) for name in names}

    def _find_row(self, X: Any) -> dict[str, Any]:
        """What tells people apart: the ids, or all that the model sees."""
        if self.ids is not None:
            if not hasattr(X, "columns") or self.ids not in X.columns:
                raise InputError(f"The column of ids {self.ids!r} is not in X.", argument="ids")
            return {self.ids: X[self.ids]}
        own = self._own_columns(X)
        if hasattr(own, "columns"):
            return {str(name): own[name] for name in own.columns}
        values = np.asarray(own)
        return {f"column {k}": values[:, k] for k in range(values.shape[1])}
