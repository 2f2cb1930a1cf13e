"""UCI Adult: income above 50,000 dollars in the census of 1994."""

from __future__ import annotations

from pathlib import Path

from fairaudit.datasets._dataset import Dataset
from fairaudit.datasets._download import Progress, RemoteFile, local_copy

__all__ = ["fetch_adult"]

_HOME = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
DATA = RemoteFile(
    "adult.data",
    f"{_HOME}adult.data",
    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
)
TEST = RemoteFile(
    "adult.test",
    f"{_HOME}adult.test",
    "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
)

_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
)


def fetch_adult(
    data_home: str | Path | None = None, *, progress: Progress | None = None
) -> Dataset:
    """Income above 50,000 dollars; race (White or not) and sex.

    Parameters
    ----------
    data_home : path, optional
        Folder of the files ``adult.data`` and ``adult.test``. By default the environment variable
        FAIRAUDIT_DATA, or ``~/.cache/fairaudit``. Files that are not there are downloaded.
    progress : callable, optional
        Called with (file, bytes so far, bytes in all); by default a bar is shown.

    Returns
    -------
    Dataset
        45,222 rows: those of both files without a missing value. Outcome 1 is an income above
        50,000; race 1 is White; sex 1 is male. Text is one-hot coded; ``fnlwgt`` is left out.

    Notes
    -----
    Provenance: B. Becker and R. Kohavi (1996), UCI Machine Learning Repository,
    doi:10.24432/C5XW20, from the Current Population Survey of 1994. License: CC BY 4.0.
    """
    import pandas as pd

    options = {"header": None, "names": list(_COLUMNS), "na_values": "?", "skipinitialspace": True}
    train, test = (local_copy(file, data_home, progress) for file in (DATA, TEST))
    parts = [pd.read_csv(train, **options), pd.read_csv(test, skiprows=1, **options)]
    frame = pd.concat(parts, ignore_index=True).dropna().drop(columns="fnlwgt")
    y = frame.pop("income").str.startswith(">50K").to_numpy(dtype=float)
    groups = {"race": frame.pop("race") == "White", "sex": frame.pop("sex") == "Male"}
    X = pd.get_dummies(frame, dtype=float).reset_index(drop=True)
    return Dataset("Adult", X, y, pd.DataFrame(groups).astype(int).reset_index(drop=True))
