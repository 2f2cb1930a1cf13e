"""What every method of repair promises, as a check that its authors can run."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone

from fairaudit._types import Array
from fairaudit.data.columns import Column, columns_from
from fairaudit.errors import InputError
from fairaudit.extend.promises import check_object, promise, unchanged
from fairaudit.remedy.methods import Method, Training

__all__ = ["check_remedy"]

_ROWS = 400
_SEED = 1


def check_remedy(method: Any, *, steps: int | None = None) -> None:
    """Check what a repair relies on; an AssertionError says in one line what is wrong.

    Parameters
    ----------
    method : Method
    steps : int, optional
        Length of the training, in the method's own unit.

    Notes
    -----
    Checked are, for classes and for numbers where the method has an estimator: the grid and the
    values it refuses; that estimators follow scikit-learn (`clone`, `get_params`, `fit` returns
    the estimator, one prediction per row, classes that occur); equal predictions for equal seeds
    and after a pickle; no effect on the data and on numpy's global random numbers; one model per
    value from `fit_path`, where there is one; and that the last value of the grid leaves no
    larger gap between groups than the first, on the rows of training.

    Examples
    --------
    >>> from fairaudit.remedy.methods import METHODS
    >>> check_remedy(METHODS.get("gerryfair"), steps=20)
    """
    name = check_object(method, "estimator", "check")
    promise(
        isinstance(method, Method), f"{name} must be a fairaudit.extend.Method, with its fields."
    )
    grid = tuple(method.grid)
    promise(len(set(grid)) > 1, f"{name}: the grid needs at least two values; the first is plain.")
    try:
        for value in grid:
            method.check(value)
    except InputError as error:
        raise AssertionError(f"{name}: a value of its own grid is refused: {error}") from None
    promise(_refuses(method, -1.0), f"{name}: 'check' must refuse a value below 0.")
    kinds = [kind for kind in (True, False) if (method.classifier if kind else method.regressor)]
    promise(kinds, f"{name} has neither a classifier nor a regressor.")
    for classes in kinds:
        _check_estimators(method, Training(seed=_SEED, steps=steps), classes=classes)


def _refuses(method: Method, value: float) -> bool:
    try:
        method.check(value)
    except InputError:
        return True
    return False


def _check_estimators(method: Method, training: Training, *, classes: bool) -> None:
    X, y, attributes = _make_people(classes)
    old = _fit_old_model(X, y, classes=classes) if method.corrects else None
    name = f"{method.name} ({'classes' if classes else 'numbers'})"

    def fit_estimator(value: float) -> Any:
        estimator = method.estimator(value, training, rows=len(X), classes=classes, old=old)
        copied = clone(estimator)
        promise(
            copied.get_params().keys() == estimator.get_params().keys(),
            f"{name}: the estimator does not survive sklearn.base.clone.",
        )
        returned = estimator.fit(X, y, sensitive_features=list(attributes))
        promise(returned is estimator, f"{name}: 'fit' must return the estimator itself.")
        return estimator

    weak, strong = method.grid[0], method.grid[-1]
    with unchanged(name, X, y, [column.codes for column in attributes]):
        plain, model, again = fit_estimator(weak), fit_estimator(strong), fit_estimator(strong)
        predicted = np.asarray(model.predict(X))
    promise(
        predicted.shape == (len(X),),
        f"{name}: 'predict' must give one answer per row. Got shape {predicted.shape}.",
    )
    promise(
        not classes or set(np.unique(predicted)) <= set(np.unique(y)),
        f"{name}: 'predict' gives classes that are not in the outcome.",
    )
    promise(
        np.array_equal(predicted, again.predict(X)),
        f"{name}: 'predict' differs between two fits with the same random_state.",
    )
    promise(
        np.array_equal(predicted, pickle.loads(pickle.dumps(model)).predict(X)),  # noqa: S301
        f"{name}: 'predict' differs after a pickle.",
    )
    _check_path(method, training, X, y, attributes, classes=classes, old=old)
    gaps = [
        _measure_gap(estimator, X, y, attributes[0], classes=classes)
        for estimator in (plain, model)
    ]
    promise(
        gaps[1] <= max(gaps[0], 0.05),
        f"{name}: the gap between groups grows from {gaps[0]:.3g} to {gaps[1]:.3g} as "
        f"{method.parameter!r} goes from {weak:g} to {strong:g}. The grid begins with training "
        "that ignores the attributes.",
    )


def _check_path(
    method: Method,
    training: Training,
    X: Array,
    y: Array,
    attributes: tuple[Column, ...],
    *,
    classes: bool,
    old: Any,
) -> None:
    values = [method.grid[0], method.grid[-1]]
    first = method.estimator(values[0], training, rows=len(X), classes=classes, old=old)
    if not hasattr(first, "fit_path"):
        return
    models = first.fit_path(X, y, list(attributes), values)
    promise(
        len(models) == 2 and all(np.shape(model.predict(X)) == (len(X),) for model in models),
        f"{method.name}: 'fit_path' must give one fitted model per value.",
    )


def _make_people(classes: bool) -> tuple[Array, Array, tuple[Column, ...]]:
    """A table in which one feature tells the group, and the group the outcome."""
    rng = np.random.default_rng(0)
    sex = rng.permutation(_ROWS) % 2
    merit = rng.normal(size=_ROWS)
    X = np.column_stack([merit, sex + 0.3 * rng.normal(size=_ROWS), rng.normal(size=_ROWS)])
    y = merit + 1.5 * (sex - 0.5) + rng.normal(size=_ROWS)
    attributes = columns_from({"sex": np.where(sex == 1, "f", "m")}, argument="sensitive")
    return X, (y > 0).astype(np.float64) if classes else y, attributes


def _fit_old_model(X: Array, y: Array, *, classes: bool) -> Any:
    from sklearn.linear_model import LinearRegression, LogisticRegression

    return (LogisticRegression() if classes else LinearRegression()).fit(X, y)


def _measure_gap(model: Any, X: Array, y: Array, group: Column, *, classes: bool) -> float:
    """Mean difference of the answers between the groups, given the outcome."""
    answers = np.asarray(model.predict(X), dtype=np.float64)
    part = y if classes else np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))
    gaps = [
        abs(
            answers[(part == k) & (group.codes == 0)].mean()
            - answers[(part == k) & (group.codes == 1)].mean()
        )
        for k in np.unique(part)
    ]
    return float(np.mean(gaps)) / (1.0 if classes else float(y.std()))
