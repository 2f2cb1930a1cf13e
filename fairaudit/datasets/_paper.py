"""The paper's data sets, read from a folder: COMPAS, Adult, Communities and Crime, ACSIncome.

Nothing is downloaded. The folder is an argument or the environment variable FAIRAUDIT_DATA.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "load_acsincome", "load_adult", "load_compas", "load_crimes"]

_ADULT = ("age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation",
          "relationship", "race", "sex", "gain", "loss", "hours", "country", "income")  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Numeric features without the sensitive attributes, the outcome, the sensitive attributes."""

    name: str
    X: pd.DataFrame
    y: NDArray[np.float64]
    sensitive: pd.DataFrame


def _folder(folder: str | Path | None, file: str) -> Path:
    found = folder or os.environ.get("FAIRAUDIT_DATA")
    if not found:
        raise InputError(
            f"Where is {file}? Pass the folder, or set the environment variable FAIRAUDIT_DATA."
        )
    path = Path(found) / file
    if not path.exists():
        raise InputError(f"There is no file {str(path)!r}. Check the folder of the data sets.")
    return path


def load_compas(folder: str | Path | None = None) -> Dataset:
    """Recidivism within two years (5,278 rows); race and sex."""
    import pandas as pd

    frame = pd.read_csv(_folder(folder, "compas.csv"))
    y = frame.pop("two_year_recid").to_numpy(dtype=float)
    sensitive = pd.DataFrame({name: frame.pop(name) for name in ("race", "sex")})
    return Dataset("COMPAS", frame.astype(float), y, sensitive)


def load_adult(folder: str | Path | None = None) -> Dataset:
    """Income above 50,000 (45,222 rows without missing values); race (White or not) and sex."""
    import pandas as pd

    options = {"header": None, "names": list(_ADULT), "na_values": "?", "skipinitialspace": True}
    parts = [
        pd.read_csv(_folder(folder, "adult.data"), **options),
        pd.read_csv(_folder(folder, "adult.test"), skiprows=1, **options),
    ]
    frame = pd.concat(parts, ignore_index=True).dropna().drop(columns="fnlwgt")
    y = frame.pop("income").str.startswith(">50K").to_numpy(dtype=float)
    groups = {"race": frame.pop("race") == "White", "sex": frame.pop("sex") == "Male"}
    X = pd.get_dummies(frame, dtype=float).reset_index(drop=True)
    return Dataset("Adult", X, y, pd.DataFrame(groups).astype(int).reset_index(drop=True))


def load_crimes(folder: str | Path | None = None, *, races: str = "all") -> Dataset:
    """Violent crimes per population (1,994 rows), standardized; shares of races.

    ``races="one"`` protects the share of black people alone, ``"all"`` those of three minorities.
    No race share, the white one included, is a feature.
    """
    import pandas as pd

    text = _folder(folder, "communities.names").read_text(encoding="latin-1")
    names = re.findall(r"^@attribute (\S+)", text, re.MULTILINE)
    frame = pd.read_csv(_folder(folder, "communities.data"), header=None, names=names,
                        na_values="?")  # fmt: skip
    frame = frame.drop(columns=names[:5]).fillna(0.0).astype(float)
    y = frame.pop("ViolentCrimesPerPop").to_numpy()
    shares = {n: frame.pop(n) for n in ("racepctblack", "racePctHisp", "racePctAsian")}
    frame = frame.drop(columns="racePctWhite")
    kept = ["racepctblack"] if races == "one" else list(shares)
    sensitive = pd.DataFrame({name: shares[name] for name in kept})
    others = [share for name, share in shares.items() if name not in kept]
    frame = pd.concat([frame, *others], axis=1)
    return Dataset(f"Crimes ({races} race{'s' * (races == 'all')})", frame,
                   (y - y.mean()) / y.std(), sensitive)  # fmt: skip


def load_acsincome(
    folder: str | Path | None = None, *, states: tuple[str, ...] = ("co",)
) -> Dataset:
    """Income above 50,000 (ACS 2018); sex, Black or not, and age, which is continuous."""
    import pandas as pd

    parts = [pd.read_csv(_folder(folder, f"acsincome_{state}_features.csv")) for state in states]
    labels = [pd.read_csv(_folder(folder, f"acsincome_{state}_labels.csv")) for state in states]
    frame = pd.concat(parts, ignore_index=True)
    y = pd.concat(labels, ignore_index=True)["PINCP"].to_numpy(dtype=float)
    sensitive = pd.DataFrame(
        {
            "sex": frame.pop("SEX").astype(int),
            "black": (frame.pop("RAC1P") == 2).astype(int),
            "age": frame.pop("AGEP"),
        }
    )
    frame["OCCP"] = frame["OCCP"] // 100  # groups of occupations
    X = pd.get_dummies(frame, columns=["COW", "MAR", "OCCP", "RELP"], dtype=float).astype(float)
    return Dataset(f"ACSIncome ({', '.join(states)})", X, y, sensitive)
