"""ACSIncome: income above 50,000 dollars in the American Community Survey of 2018."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.datasets._dataset import Dataset
from fairaudit.datasets._download import Progress, RemoteFile, data_folder, local_copy
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["fetch_acs_income"]

_HOME = "https://www2.census.gov/programs-surveys/acs/data/pums/2018/1-Year/"
STATES = (
    "al ak az ar ca co ct de dc fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj "
    "nm ny nc nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy pr"
)
FEATURES = ("AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P")
THRESHOLD = 50_000


def fetch_acs_income(
    data_home: str | Path | None = None,
    *,
    states: str | Sequence[str] = ("ca",),
    progress: Progress | None = None,
) -> Dataset:
    """Income above 50,000 dollars; sex, Black or not, and age, which is continuous.

    Parameters
    ----------
    data_home : path, optional
        Folder of the census's files ``csv_pca.zip`` (for California), or of the table that
        folktables makes of them, ``acsincome_ca_features.csv`` and ``acsincome_ca_labels.csv``. By
        default the environment variable FAIRAUDIT_DATA, or ``~/.cache/fairaudit``. Where a state
        has neither, the census's file is downloaded.
    states : str or sequence of str
        Postal codes of states, "dc" or "pr"; California as in the paper.
    progress : callable, optional
        Called with (file, bytes so far, bytes in all); by default a bar is shown.

    Returns
    -------
    Dataset
        Sex is 1 for men and 2 for women; black is 1 for people of that race alone. Class of
        worker, marital status, group of occupations (the first two digits) and relation to the
        householder are one-hot coded; schooling, place of birth and hours are numbers.

    Notes
    -----
    The task is ACSIncome of folktables: people with AGEP > 16, PINCP > 100, WKHP > 0 and
    PWGTP ≥ 1, outcome PINCP > 50,000, missing features 0. The paper draws 100,000 rows of
    California at random.

    Provenance: U.S. Census Bureau, American Community Survey 2018, 1-year Public Use Microdata
    Sample; task of F. Ding, M. Hardt, J. Miller and L. Schmidt (2021), "Retiring Adult: New
    Datasets for Fair Machine Learning". License: public use, under the Census Bureau's
    terms of service, census.gov/data/developers/about/terms-of-service.html.
    """
    import pandas as pd

    codes = _codes(states)
    parts = [_state(code, data_home, progress) for code in codes]
    frame = pd.concat([features for features, _ in parts], ignore_index=True)
    y = pd.concat([label for _, label in parts], ignore_index=True).to_numpy(dtype=float)
    sensitive = pd.DataFrame(
        {
            "sex": frame.pop("SEX").astype(int),
            "black": (frame.pop("RAC1P") == 2).astype(int),
            "age": frame.pop("AGEP"),
        }
    )
    frame["OCCP"] = frame["OCCP"] // 100  # groups of occupations
    X = pd.get_dummies(frame, columns=["COW", "MAR", "OCCP", "RELP"], dtype=float).astype(float)
    return Dataset(f"ACSIncome ({', '.join(codes)})", X, y, sensitive)


def _codes(states: str | Sequence[str]) -> tuple[str, ...]:
    codes = tuple(code.lower() for code in ((states,) if isinstance(states, str) else states))
    unknown = [code for code in codes if code not in STATES.split()]
    if unknown or not codes:
        raise InputError(
            "The 'states' parameter must be postal codes: "
            f"{', '.join(STATES.split())}. Got {unknown[0] if unknown else states!r} instead."
        )
    if len(set(codes)) < len(codes):  # rows that count twice would make every p-value too small
        raise InputError(f"A state is given twice: {', '.join(codes)}. Give each once.")
    return codes


def _state(
    code: str, data_home: str | Path | None, progress: Progress | None
) -> tuple[pd.DataFrame, pd.Series]:
    import pandas as pd

    prepared = data_folder(data_home) / f"acsincome_{code}_features.csv"
    labels = prepared.with_name(f"acsincome_{code}_labels.csv")
    if prepared.exists() and labels.exists():
        return pd.read_csv(prepared, dtype=float), pd.read_csv(labels)["PINCP"].astype(float)
    name = f"csv_p{code}.zip"
    path = local_copy(RemoteFile(name, _HOME + name, start=b"PK"), data_home, progress)
    return prepare(_persons(path))


def _persons(path: Path) -> pd.DataFrame:
    """The columns that the task needs, of all people in the census's file."""
    import pandas as pd

    try:
        with zipfile.ZipFile(path) as archive:
            tables = [name for name in archive.namelist() if name.endswith(".csv")]
            if len(tables) != 1:
                raise ValueError(f"it holds {len(tables)} tables instead of one")
            with archive.open(tables[0]) as file:
                return pd.read_csv(file, usecols=[*FEATURES, "PINCP", "PWGTP"], dtype=float)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise InputError(
            f"{str(path)!r} is not a file of people of the survey of 2018: {error}. Delete it, and "
            "it is downloaded again."
        ) from None


def prepare(persons: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Features and outcome of folktables' ACSIncome."""
    adults = persons[
        (persons["AGEP"] > 16)
        & (persons["PINCP"] > 100)
        & (persons["WKHP"] > 0)
        & (persons["PWGTP"] >= 1)
    ].reset_index(drop=True)
    return adults[list(FEATURES)].fillna(0.0), (adults["PINCP"] > THRESHOLD).astype(float)
