"""ProPublica's COMPAS: new offenses within two years, Broward County."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.datasets._dataset import Dataset
from fairaudit.datasets._download import Progress, RemoteFile, data_folder, local_copy
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["fetch_compas"]

ORIGINAL = RemoteFile(
    "compas-scores-two-years.csv",
    "https://raw.githubusercontent.com/propublica/compas-analysis/"
    "bafff5da3f2e45eca6c2d5055faad269defd135a/compas-scores-two-years.csv",
    "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
)
PREPARED = "compas.csv"

_AGES = {
    "25 - 45": "25 to 45",
    "Greater than 45": "Greater than 45",
    "Less than 25": "Less than 25",
}
_COLUMNS = (
    "two_year_recid",
    "age",
    "sex",
    "race",
    *(f"age_cat={name}" for name in _AGES.values()),
    "priors_count=0",
    "priors_count=1 to 3",
    "priors_count=More than 3",
    "c_charge_degree=F",
    "c_charge_degree=M",
)


def fetch_compas(
    data_home: str | Path | None = None, *, progress: Progress | None = None
) -> Dataset:
    """A new offense within two years; race (black or white people only) and sex.

    Parameters
    ----------
    data_home : path, optional
        Folder of the paper's ``compas.csv`` or of ProPublica's ``compas-scores-two-years.csv``,
        which give the same table. By default the environment variable FAIRAUDIT_DATA, or
        ``~/.cache/fairaudit``. If neither is there, ProPublica's file is downloaded.
    progress : callable, optional
        Called with (file, bytes so far, bytes in all); by default a bar is shown.

    Returns
    -------
    Dataset
        5,278 rows and 9 features: age, and groups of age, of the number of earlier offenses and
        of the degree of the charge. Race is 0 for African-American and 1 for Caucasian people;
        sex is 0 for men and 1 for women.

    Notes
    -----
    Of 7,214 people, those are kept whom ProPublica kept (screened within 30 days of the arrest,
    known outcome, no ordinary traffic offense, a score), and of these the two largest races.

    Provenance: J. Larson, S. Mattu, L. Kirchner and J. Angwin (2016), github.com/propublica/
    compas-analysis, from public records. License: that repository states none.
    """
    import pandas as pd

    prepared = data_folder(data_home) / PREPARED
    if prepared.exists():
        frame = pd.read_csv(prepared)
        if missing := set(_COLUMNS) - set(frame.columns):
            raise InputError(
                f"{str(prepared)!r} is not the COMPAS table of the paper: it has no column "
                f"{min(missing)!r}. Move it elsewhere, and ProPublica's file is used."
            )
        frame = frame[list(_COLUMNS)]
    else:
        frame = prepare(pd.read_csv(local_copy(ORIGINAL, data_home, progress)))
    y = frame.pop("two_year_recid").to_numpy(dtype=float)
    sensitive = pd.DataFrame({name: frame.pop(name) for name in ("race", "sex")})
    return Dataset("COMPAS", frame.astype(float), y, sensitive)


def prepare(original: pd.DataFrame) -> pd.DataFrame:
    """The table of the paper from that of ProPublica, in the same order of rows."""
    import pandas as pd

    chosen = (
        original["days_b_screening_arrest"].between(-30, 30)
        & (original["is_recid"] != -1)
        & (original["c_charge_degree"] != "O")
        & original["score_text"].isin(["Low", "Medium", "High"])
        & original["race"].isin(["African-American", "Caucasian"])
    )
    rows = original[chosen].reset_index(drop=True)
    priors = rows["priors_count"]
    columns = {
        "two_year_recid": rows["two_year_recid"],
        "age": rows["age"],
        "sex": rows["sex"] == "Female",
        "race": rows["race"] == "Caucasian",
        **{f"age_cat={name}": rows["age_cat"] == code for code, name in _AGES.items()},
        "priors_count=0": priors == 0,
        "priors_count=1 to 3": priors.between(1, 3),
        "priors_count=More than 3": priors > 3,
        **{f"c_charge_degree={code}": rows["c_charge_degree"] == code for code in "FM"},
    }
    return pd.DataFrame(columns).astype(int)
