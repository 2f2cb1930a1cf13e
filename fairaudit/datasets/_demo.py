"""A generated lending table, and a model whose violation only the attributes together show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DEMO_FEATURES", "demo_model", "load_demo"]

DEMO_FEATURES = (
    "income",
    "debt_ratio",
    "years_employed",
    "savings",
    "area_income",
    "career_gap_months",
)
RACES = ("asian", "black", "hispanic", "white")
SHARES = (0.08, 0.17, 0.20, 0.55)
AREA_INCOMES = (44.0, 38.0, 39.0, 43.0)  # mean by race; says nothing about repayment
MIDDLE_AGE = 46  # half of the applicants are younger


def load_demo(n: int = 4000, *, seed: int = 0) -> pd.DataFrame:
    """Loan applicants: six features, race, sex, age, and whether the loan was repaid.

    Parameters
    ----------
    n : int
        Rows.
    seed : int
        The same seed gives the same table.

    Returns
    -------
    pandas.DataFrame
        Columns `DEMO_FEATURES`, then ``race`` (4 levels), ``sex``, ``age`` (integer) and
        ``repaid`` (0 or 1).

    Notes
    -----
    Nobody in the table exists. ``career_gap_months`` is the proxy: gaps are long for women of 46
    and more and for men below 46, and short for the others. Within each sex, within each age and
    within each race the gaps are the same mixture of long and short, so no attribute alone tells
    them apart; sex and age together do. The chance to repay falls with the gap.

    Examples
    --------
    >>> frame = load_demo(1000)
    >>> frame.shape, sorted(frame["race"].unique())
    ((1000, 10), ['asian', 'black', 'hispanic', 'white'])
    """
    import pandas as pd

    if n < 2:
        raise InputError(f"The 'n' parameter must be at least 2. Got {n} instead.")
    rng = np.random.default_rng(seed)
    race = rng.choice(len(RACES), n, p=SHARES)
    female = rng.random(n) < 0.5
    age = 21 + np.floor(50 * rng.beta(1.6, 1.6, n)).astype(np.int64)
    long_gaps = female == (age >= MIDDLE_AGE)
    gap = np.rint(rng.gamma(np.where(long_gaps, 6.0, 1.5), 4.0)).astype(np.int64)
    ability = rng.normal(size=n)  # what income and savings share
    income = np.exp(3.6 + 0.35 * ability + 0.2 * rng.normal(size=n))
    savings = np.exp(1.5 + 0.5 * ability + 0.8 * rng.normal(size=n))
    debt_ratio = rng.beta(2.5, 5.0, n)
    years = np.minimum(rng.gamma(1.5, 3.0, n), age - 18.0)
    area = np.array(AREA_INCOMES)[race] + 5 * rng.normal(size=n)
    repaid = rng.random(n) < _chance(ability, debt_ratio, years, gap)
    return pd.DataFrame(
        {
            "income": income.round(1),
            "debt_ratio": debt_ratio.round(3),
            "years_employed": years.round(1),
            "savings": savings.round(1),
            "area_income": area.round(1),
            "career_gap_months": gap,
            "race": np.array(RACES)[race],
            "sex": np.where(female, "female", "male"),
            "age": age,
            "repaid": repaid.astype(np.int64),
        }
    )


def _chance(
    ability: NDArray[np.float64],
    debt_ratio: NDArray[np.float64],
    years: NDArray[np.float64],
    gap: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Probability to repay."""
    logit = 2.2 + 0.9 * ability - 4.0 * (debt_ratio - 0.33) + 0.03 * years - 0.07 * gap
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def demo_model(frame: pd.DataFrame, seed: int = 0) -> Any:
    """A small gradient boosting classifier for ``repaid``; race, sex and age are not features.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of `load_demo` to train on.
    seed : int

    Returns
    -------
    sklearn.ensemble.HistGradientBoostingClassifier
        Fitted; its ``feature_names_in_`` are `DEMO_FEATURES`.

    Examples
    --------
    >>> frame = load_demo(600)
    >>> model = demo_model(frame[:300])
    >>> model.predict_proba(frame.loc[300:, list(DEMO_FEATURES)]).shape
    (300, 2)
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.08, max_leaf_nodes=8, random_state=seed
    )
    return model.fit(frame[list(DEMO_FEATURES)], frame["repaid"])
