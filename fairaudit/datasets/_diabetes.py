"""The diabetes table of scikit-learn: a continuous outcome, and nothing to download."""

from __future__ import annotations

from fairaudit.datasets._dataset import Dataset

__all__ = ["load_diabetes"]


def load_diabetes() -> Dataset:
    """Progression of diabetes within a year, a number; sex and age.

    Returns
    -------
    Dataset
        442 rows and 8 features: body mass index, blood pressure and six measures of the blood, in
        their own units. Sex is 1 or 2; the source does not say which is which.

    Notes
    -----
    Provenance: B. Efron, T. Hastie, I. Johnstone and R. Tibshirani (2004), "Least Angle
    Regression", Annals of Statistics 32, 407-499; the copy that scikit-learn holds. License:
    the source states none; scikit-learn hands it out with its own BSD license.

    Examples
    --------
    >>> load_diabetes()
    <Diabetes: 442 rows, 8 features, sensitive: sex, age>
    """
    from sklearn import datasets

    table = datasets.load_diabetes(as_frame=True, scaled=False)
    sensitive = table.data[["sex", "age"]].astype(int)
    return Dataset(
        "Diabetes",
        table.data.drop(columns=["sex", "age"]),
        table.target.to_numpy(dtype=float),
        sensitive,
    )
