"""UCI Communities and Crime: violent crimes per population, in places of the United States."""

from __future__ import annotations

import re
from pathlib import Path

from fairaudit.datasets._dataset import Dataset
from fairaudit.datasets._download import Progress, RemoteFile, local_copy
from fairaudit.errors import InputError

__all__ = ["fetch_communities"]

_HOME = "https://archive.ics.uci.edu/ml/machine-learning-databases/communities/"
DATA = RemoteFile(
    "communities.data",
    f"{_HOME}communities.data",
    "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
)
NAMES = RemoteFile(
    "communities.names", f"{_HOME}communities.names", start=b"Title: Communities and Crime"
)

_COLUMNS = 128
_RACES = {"one": ("racepctblack",), "all": ("racepctblack", "racePctHisp", "racePctAsian")}


def fetch_communities(
    data_home: str | Path | None = None, *, races: str = "all", progress: Progress | None = None
) -> Dataset:
    """Violent crimes per population, standardized; shares of races, which are continuous.

    Parameters
    ----------
    data_home : path, optional
        Folder of the files ``communities.data`` and ``communities.names``. By default the
        environment variable FAIRAUDIT_DATA, or ``~/.cache/fairaudit``. Files that are not there
        are downloaded.
    races : {"all", "one"}
        Sensitive are the shares of black, Hispanic and Asian people, or of black people alone. In
        the second case the other two are features. The share of white people never is.
    progress : callable, optional
        Called with (file, bytes so far, bytes in all); by default a bar is shown.

    Returns
    -------
    Dataset
        1,994 rows. Missing values are 0, as in the paper; state, county, community, its name and
        the fold are left out.

    Notes
    -----
    Provenance: M. Redmond (2009), UCI Machine Learning Repository, doi:10.24432/C53W3X, from the
    census of 1990, the police survey LEMAS of 1990 and the FBI's crime reports of 1995.
    License: CC BY 4.0.
    """
    import pandas as pd

    if races not in _RACES:
        raise InputError(f"The 'races' parameter must be 'all' or 'one'. Got {races!r} instead.")
    named = local_copy(NAMES, data_home, progress)
    text = named.read_text(encoding="latin-1")
    names = re.findall(r"^@attribute (\S+)", text, re.MULTILINE)
    if len(names) != _COLUMNS:
        raise InputError(
            f"{str(named)!r} names {len(names)} columns instead of {_COLUMNS}. Delete it, and it "
            "is downloaded again."
        )
    frame = pd.read_csv(
        local_copy(DATA, data_home, progress), header=None, names=names, na_values="?"
    )
    frame = frame.drop(columns=names[:5]).fillna(0.0).astype(float)
    y = frame.pop("ViolentCrimesPerPop").to_numpy()
    shares = {name: frame.pop(name) for name in _RACES["all"]}
    frame = frame.drop(columns="racePctWhite")
    sensitive = pd.DataFrame({name: shares[name] for name in _RACES[races]})
    others = [share for name, share in shares.items() if name not in sensitive]
    frame = pd.concat([frame, *others], axis=1)
    return Dataset(
        f"Crimes ({races} race{'s' * (races == 'all')})", frame, (y - y.mean()) / y.std(), sensitive
    )
