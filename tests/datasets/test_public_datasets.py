"""Public tables: what is read, dropped and coded; from a folder, and from a stand-in server."""

import hashlib
import io
import os
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.datasets import (
    _acs_income,
    _adult,
    _communities,
    _compas,
    _download,
    fetch_acs_income,
    fetch_adult,
    fetch_communities,
    fetch_compas,
    load_diabetes,
)

FOLDER = os.environ.get("FAIRAUDIT_DATA")


def given(name):
    """A file of the folder of data sets, or a skipped test."""
    if not FOLDER:
        pytest.skip("FAIRAUDIT_DATA names no folder of data sets")
    path = Path(FOLDER) / name
    if not path.exists():
        pytest.skip(f"there is no {name} in FAIRAUDIT_DATA")
    return path


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty folder of data sets, and no way to the network."""

    def unreachable(request, timeout):
        raise AssertionError(f"tried to download {request.full_url}")

    monkeypatch.setattr(_download.urllib.request, "urlopen", unreachable)
    monkeypatch.delenv("FAIRAUDIT_DATA", raising=False)
    return tmp_path


def sound(data):
    """A table that can be audited: numbers, no gaps, rows that belong together."""
    assert len(data.X) == len(data.y) == len(data.sensitive)
    assert all(kind.kind in "fi" for kind in data.X.dtypes)
    assert np.isfinite(data.X.to_numpy()).all() and np.isfinite(data.y).all()
    assert data.sensitive.notna().all().all()
    assert not set(data.X) & set(data.sensitive)
    assert (data.X.index == data.sensitive.index).all()
    return data


# --- the whole tables -----------------------------------------------------------------------------


def test_compas():
    given("compas.csv")
    data = sound(fetch_compas())
    assert data.X.shape == (5278, 9) and set(data.y) == {0, 1}
    assert data.sensitive.value_counts().to_dict() == {
        (0, 0): 2626,
        (1, 0): 1621,
        (0, 1): 549,
        (1, 1): 482,
    }


def test_adult():
    given("adult.test")
    data = sound(fetch_adult())
    assert len(data.y) == 45_222 and int(data.y.sum()) == 11_208
    assert list(data.sensitive.mean().round(4)) == [0.8603, 0.6750]
    assert "fnlwgt" not in data.X and "country_United-States" in data.X


@pytest.mark.parametrize(("races", "features", "attributes"), [("all", 118, 3), ("one", 120, 1)])
def test_communities(races, features, attributes):
    given("communities.data")
    data = sound(fetch_communities(races=races))
    assert data.X.shape == (1994, features) and data.sensitive.shape == (1994, attributes)
    assert abs(data.y.mean()) < 1e-12 and data.y.std() == pytest.approx(1)
    assert "racePctWhite" not in data.X and "ViolentCrimesPerPop" not in data.X
    assert ("racePctHisp" in data.X) == (races == "one")


def test_acs_income():
    given("acsincome_ne_labels.csv")
    first, both = (sound(fetch_acs_income(states=states)) for states in ("CO", ["co", "ne"]))
    assert len(first.y) == 31_306 and len(both.y) == 31_306 + 10_785
    assert set(both.sensitive["sex"]) == {1, 2} and set(both.sensitive["black"]) == {0, 1}
    assert both.sensitive["age"].min() == 17
    pd.testing.assert_frame_equal(first.sensitive, both.sensitive[:31_306])


def test_diabetes():
    data = sound(load_diabetes())
    assert data.X.shape == (442, 8) and data.y.mean() == pytest.approx(152.13, abs=0.01)
    assert set(data.sensitive["sex"]) == {1, 2} and data.sensitive["age"].between(19, 79).all()
    test = fa.equalized_odds_test(data.X["bmi"], y_true=data.y, sensitive=data.sensitive)
    assert 0 < test.p_value <= 1


@pytest.mark.parametrize(
    "file",
    [_adult.DATA, _adult.TEST, _communities.DATA, _compas.ORIGINAL],
    ids=lambda file: file.name,
)
def test_checksums_are_those_of_the_files(file):
    assert hashlib.sha256(given(file.name).read_bytes()).hexdigest() == file.sha256


# --- COMPAS ---------------------------------------------------------------------------------------

PERSON = {
    "days_b_screening_arrest": -1.0,
    "is_recid": 0,
    "c_charge_degree": "F",
    "score_text": "Low",
    "race": "Caucasian",
    "sex": "Male",
    "age": 30,
    "age_cat": "25 - 45",
    "priors_count": 0,
    "two_year_recid": 0,
}


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, True),
        ({"days_b_screening_arrest": 30.0}, True),
        ({"days_b_screening_arrest": -30.0}, True),
        ({"days_b_screening_arrest": 31.0}, False),
        ({"days_b_screening_arrest": -31.0}, False),
        ({"days_b_screening_arrest": np.nan}, False),
        ({"is_recid": -1}, False),
        ({"c_charge_degree": "O"}, False),
        ({"c_charge_degree": "M"}, True),
        ({"score_text": "N/A"}, False),
        ({"score_text": np.nan}, False),  # as pandas reads N/A
        ({"race": "Hispanic"}, False),
        ({"race": "African-American"}, True),
    ],
)
def test_which_people_of_propublica_are_kept(change, kept):
    assert len(_compas.prepare(pd.DataFrame([PERSON | change]))) == kept


def test_codes_of_compas():
    people = [
        PERSON,
        PERSON
        | {
            "sex": "Female",
            "race": "African-American",
            "priors_count": 3,
            "age": 60,
            "age_cat": "Greater than 45",
            "c_charge_degree": "M",
            "two_year_recid": 1,
        },
        PERSON | {"priors_count": 4, "age": 20, "age_cat": "Less than 25"},
    ]
    table = _compas.prepare(pd.DataFrame(people))
    assert table.to_numpy().tolist() == [
        [0, 30, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0],
        [1, 60, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1],
        [0, 20, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0],
    ]


def test_propublicas_file_gives_the_table_of_the_paper():
    original, prepared = given(_compas.ORIGINAL.name), given(_compas.PREPARED)
    table = _compas.prepare(pd.read_csv(original))
    pd.testing.assert_frame_equal(table, pd.read_csv(prepared))


def test_another_compas_csv_is_refused(home):
    (home / "compas.csv").write_text("id,age\n1,30\n")
    with pytest.raises(fa.InputError, match="is not the COMPAS table of the paper"):
        fetch_compas(home)


# --- ACSIncome ------------------------------------------------------------------------------------


def persons(n=400, seed=0):
    """People as in the census's file: columns that nobody asked for, gaps, all kinds of values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "SERIALNO": [f"2018HU{i:07}" for i in range(n)],
            "AGEP": rng.integers(10, 90, n),
            "COW": rng.integers(1, 9, n),
            "SCHL": rng.integers(1, 25, n),
            "MAR": rng.integers(1, 6, n),
            "OCCP": rng.integers(10, 9830, n),
            "POBP": rng.integers(1, 554, n),
            "RELP": rng.integers(0, 18, n),
            "WKHP": rng.integers(0, 60, n),
            "SEX": rng.integers(1, 3, n),
            "RAC1P": rng.integers(1, 10, n),
            "PINCP": rng.choice([-500, 0, 100, 101, 50_000, 50_001, 90_000], n),
            "PWGTP": rng.integers(0, 4, n),
            "ZZZ": "x",
        }
    ).astype({"WKHP": float, "PINCP": float, "COW": float})
    for name in ("WKHP", "PINCP", "COW"):
        frame.loc[rng.random(n) < 0.1, name] = np.nan
    frame.loc[: len(_EDGES) - 1, ["AGEP", "PINCP", "WKHP", "PWGTP"]] = _EDGES
    return frame


_EDGES = [
    (16, 200, 1, 1),
    (17, 200, 1, 1),
    (17, 100, 1, 1),
    (17, 101, 1, 1),
    (17, 101, 0, 1),
    (17, 101, 1, 0),
    (17, 50_000, 1, 1),
    (17, 50_001, 1, 1),
]


def zipped(frame, name="psam_p08.csv"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ACS2018_PUMS_README.pdf", b"%PDF")
        archive.writestr(name, frame.to_csv(index=False))
    return buffer.getvalue()


def test_rows_of_acs_income_one_by_one(home):
    frame = persons()
    (home / "csv_pco.zip").write_bytes(zipped(frame))
    data = sound(fetch_acs_income(home, states="co"))
    kept = [
        row
        for row in frame.to_dict("records")
        if row["AGEP"] > 16 and row["PINCP"] > 100 and row["WKHP"] > 0 and row["PWGTP"] >= 1
    ]
    assert 50 < len(kept) == len(data.y)
    assert data.y.tolist() == [float(row["PINCP"] > 50_000) for row in kept]
    assert data.sensitive["age"].tolist() == [row["AGEP"] for row in kept]
    assert data.sensitive["black"].tolist() == [int(row["RAC1P"] == 2) for row in kept]
    assert data.X["WKHP"].tolist() == [row["WKHP"] for row in kept]
    assert data.X["COW_0.0"].tolist() == [float(np.isnan(row["COW"])) for row in kept]
    assert any(row["COW"] != row["COW"] for row in kept)
    assert not {"PINCP", "PWGTP", "SERIALNO", "AGEP", "SEX", "RAC1P"} & set(data.X)


def test_the_census_file_and_the_table_of_folktables_agree(home):
    features, labels = (pd.read_csv(given(f"acsincome_co_{p}.csv")) for p in ("features", "labels"))
    income = labels["PINCP"].map({0: 50_000.0, 1: 50_001.0})
    (home / "csv_pco.zip").write_bytes(zipped(features.assign(PINCP=income, PWGTP=1)))
    original = fetch_acs_income(home, states="co")
    prepared = fetch_acs_income(FOLDER, states="co")
    pd.testing.assert_frame_equal(original.X, prepared.X)
    pd.testing.assert_frame_equal(original.sensitive, prepared.sensitive)
    assert (original.y == prepared.y).all()


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (("ca", "xx"), "Got 'xx' instead"),
        ("california", "Got 'california' instead"),
        ((), r"Got \(\) instead"),
        (("ca", "CA"), "given twice"),
    ],
)
def test_bad_states(home, states, message):
    with pytest.raises(fa.InputError, match=message):
        fetch_acs_income(home, states=states)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK but not an archive", "not a zip file"),
        (zipped(persons(20), name="psam_p08.txt"), "holds 0 tables"),
        (zipped(persons(20).drop(columns="RELP")), "RELP"),
        (zipped(persons(20).assign(AGEP="old")), "old"),
    ],
)
def test_a_damaged_census_file(home, content, message):
    (home / "csv_pco.zip").write_bytes(content)
    with pytest.raises(fa.InputError, match=message) as error:
        fetch_acs_income(home, states="co")
    assert "\n" not in str(error.value) and "csv_pco.zip" in str(error.value)


# --- Communities ----------------------------------------------------------------------------------


def test_bad_races(home):
    with pytest.raises(fa.InputError, match=r"must be 'all' or 'one'\. Got 'two'"):
        fetch_communities(home, races="two")


def test_names_without_columns(home):
    (home / "communities.names").write_text("Title: Communities and Crime\n@attribute state\n")
    with pytest.raises(fa.InputError, match="names 1 columns instead of 128"):
        fetch_communities(home)


# --- from their homes, with a stand-in for the network -----------------------------------------


@pytest.fixture
def web(home, monkeypatch):
    """Address → content; what is not there cannot be reached."""
    pages = {}

    class Answer(io.BytesIO):
        headers = {}  # noqa: RUF012

    def answer(request, timeout):
        if request.full_url not in pages:
            raise _download.urllib.error.URLError("Name or service not known")
        return Answer(pages[request.full_url])

    monkeypatch.setattr(_download.urllib.request, "urlopen", answer)
    monkeypatch.setattr(_download, "WAIT", 0.0)
    return pages


def put(web, monkeypatch, module, name, content):
    """Serve this content as a file of a module, with its checksum."""
    file = getattr(module, name)
    web[file.url] = content
    if file.sha256 is not None:
        known = hashlib.sha256(content).hexdigest()
        monkeypatch.setattr(module, name, replace(file, sha256=known))


def test_compas_from_its_home(home, web, monkeypatch):
    table = pd.DataFrame([PERSON, PERSON | {"race": "Other"}, PERSON | {"sex": "Female"}])
    put(web, monkeypatch, _compas, "ORIGINAL", table.to_csv().encode())
    data = sound(fetch_compas(home))
    assert data.sensitive.to_numpy().tolist() == [[1, 0], [1, 1]]
    web.clear()
    assert len(fetch_compas(home).y) == 2  # from the folder


def test_adult_from_its_home(home, web, monkeypatch):
    line = "39, {}, 77516, Bachelors, 13, Never-married, Sales, Husband, {}, {}, 0, 0, 40, Cuba, {}"
    train = [
        line.format("Private", "White", "Male", "<=50K"),
        line.format("?", "x", "Male", ">50K"),
    ]
    test = ["|1x3 Cross validator", line.format("State-gov", "Black", "Female", ">50K.")]
    put(web, monkeypatch, _adult, "DATA", "\n".join(train).encode())
    put(web, monkeypatch, _adult, "TEST", "\n".join(test).encode())
    data = sound(fetch_adult(home))
    assert data.y.tolist() == [0, 1] and data.sensitive.to_numpy().tolist() == [[1, 1], [0, 0]]
    assert data.X["age"].tolist() == [39, 39]


def test_communities_from_its_home(home, web, monkeypatch):
    last = ("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp", "ViolentCrimesPerPop")
    names = [f"c{i}" for i in range(128 - len(last))] + list(last)
    text = "Title: Communities and Crime\r\n" + "".join(
        f"@attribute {n} numeric\r\n" for n in names
    )
    rows = [["8", "?", "?", "Town", "1", "?", *["0.5"] * 121, y] for y in ("0.1", "0.3")]
    put(web, monkeypatch, _communities, "NAMES", text.encode())
    put(web, monkeypatch, _communities, "DATA", "\n".join(map(",".join, rows)).encode())
    data = sound(fetch_communities(home))
    assert data.X.shape == (2, 118) and data.X["c5"].tolist() == [0, 0]
    assert data.y.tolist() == pytest.approx([-1, 1])
    kept = {path.name for path in home.iterdir()}
    assert kept == {"communities.names", "communities.names.sha256", "communities.data"}


def test_acs_income_from_its_home(home, web):
    for code in ("ca", "ne"):
        web[f"{_acs_income._HOME}csv_p{code}.zip"] = zipped(persons(seed=len(web)))
    seen = []
    data = sound(fetch_acs_income(home, states=("ca", "ne"), progress=lambda *s: seen.append(s)))
    assert data.name == "ACSIncome (ca, ne)" and {s[0] for s in seen} == {
        "csv_pca.zip",
        "csv_pne.zip",
    }
    assert (home / "csv_pca.zip.sha256").exists()


@pytest.mark.parametrize(
    ("fetch", "address"),
    [
        (fetch_compas, "raw.githubusercontent.com/propublica/compas-analysis/bafff5da"),
        (fetch_adult, "archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data"),
        (fetch_communities, "machine-learning-databases/communities/communities.names"),
        (
            fetch_acs_income,
            "www2.census.gov/programs-surveys/acs/data/pums/2018/1-Year/csv_pca.zip",
        ),
    ],
)
def test_offline(home, web, fetch, address):
    with pytest.raises(fa.InputError, match=re.escape(address)) as error:
        fetch(home)
    assert "Name or service not known. Put the file into that folder" in str(error.value)
