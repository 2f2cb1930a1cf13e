"""The contracts of `fairaudit.extend`: ours keep them, and installed packages can add names."""

from __future__ import annotations

import importlib
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit import extend
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.auditing.engines import ENGINES
from fairaudit.density import CATEGORICAL, CONTINUOUS, density_named
from fairaudit.density.flows import MAF, Spline
from fairaudit.density.gaussian import Gaussian
from fairaudit.density.network_training import Training
from fairaudit.errors import InputError
from fairaudit.extend import (
    LocalEngine,
    Method,
    check_count_engine,
    check_density,
    check_engine,
    check_remedy,
    check_report,
    check_statistic,
)
from fairaudit.remedy.methods import METHODS
from fairaudit.testing.neighbor_statistics import KPCStatistic
from fairaudit.testing.statistic import STATISTICS, statistic_named
from fairaudit_cli.main import main
from fairaudit_reports.view.repeat import write_python_call

ROOT = Path(__file__).parents[2]
REPORTS = {point.name: point for point in entry_points(group="fairaudit.reports")}
QUICK = {"hgr": 4, "boosting": 20, "gerryfair": 20, "reduction": 5}
TRAINED = {"maf", "spline", *METHODS.names()} - {"boosting", "gerryfair", "reduction"}  # by torch


@pytest.mark.parametrize("name", sorted({*STATISTICS.names()} - {"max", "ordered"}))
def test_our_statistics(name):
    check_statistic(*statistic_named(name), tables=20)


def test_our_statistic_with_random_ties():
    check_statistic(KPCStatistic(ties="random"), row_order=False, tables=20)
    with pytest.raises(AssertionError, match="rows of the table are reordered"):
        check_statistic(KPCStatistic(ties="random"), tables=20)


def our_densities():
    """Kinds of outcome and names, but for those that fit nothing."""
    for kind, registry in (("continuous", CONTINUOUS), ("categorical", CATEGORICAL)):
        for name in registry.names():
            if density_named(name, categorical=kind == "categorical") is not None:
                yield kind, name


def skip_without_torch(name):
    for package in ("torch", "nflows") if name in TRAINED else ():
        pytest.importorskip(package)


@pytest.mark.parametrize(("kind", "name"), list(our_densities()))
def test_our_densities(kind, name):
    skip_without_torch(name)
    trained = Training(epochs=3)
    quick = {"maf": MAF(hidden=8, training=trained), "spline": Spline(hidden=8, training=trained)}
    made = density_named(name, categorical=kind == "categorical")
    check_density(quick.get(name, made), outcome=kind)


# thresholds of groups need the attributes to predict, which the contract does not give
@pytest.mark.parametrize("name", [name for name in METHODS.names() if name != "thresholds"])
def test_our_remedies(name):
    skip_without_torch(name)
    check_remedy(METHODS.get(name), steps=QUICK.get(name, 10))


def test_our_counting_engines(tmp_path):
    duckdb, dask = pytest.importorskip("duckdb"), pytest.importorskip("dask.dataframe")
    polars = pytest.importorskip("polars")

    def write_parquet(frame):
        frame[:700].to_parquet(tmp_path / "0.parquet")
        frame[700:].to_parquet(tmp_path / "1.parquet")
        return [str(tmp_path / "*.parquet")]

    def write_text(frame):
        frame.to_csv(tmp_path / "rows.csv", index=False)
        return [str(tmp_path / "rows.csv")]

    def write_sqlite(frame):
        with closing(sqlite3.connect(tmp_path / "rows.sqlite")) as connection:
            frame.to_sql("loans", connection, index=False)
        return [str(tmp_path / "rows.sqlite")], "loans"

    def write_duckdb(frame):
        connection = duckdb.connect()
        connection.register("given", frame)
        connection.execute("CREATE TABLE loans AS SELECT * FROM given")
        return connection, "SELECT * FROM loans"

    def make_lazy(frame):
        return polars.from_pandas(frame).lazy()

    def make_relation(frame):
        connection, _ = write_duckdb(frame)
        return connection.table("loans")

    stores = {
        "local": [lambda frame: frame],
        "dask": [lambda frame: dask.from_pandas(frame, npartitions=3)],
        "duckdb": [write_parquet, write_text, write_duckdb],
        "sql": [write_sqlite],
        "lazy": [make_lazy, make_relation],  # and tests/auditing/test_lazy_engine.py
    }
    assert list(stores) == list(ENGINES.built_in)
    for name, ways in stores.items():
        for store in ways:
            check_count_engine(ENGINES.get(name), store)


def test_broken_counting_is_told():
    class Careless(LocalEngine):
        @contextmanager
        def open(self, data, table=None, *, memory=None):
            with super().open(data, table, memory=memory) as source:
                count = source.count
                source.count = lambda *given: count(*given).dropna(ignore_index=True)
                yield source

    with pytest.raises(InputError, match="changed while it was counted"):
        check_count_engine(Careless(), lambda frame: frame)


def test_our_engines():
    check_engine(LocalEngine())
    distributed = pytest.importorskip("distributed")
    from fairaudit.auditing.engines.dask_engine import DaskEngine

    with distributed.Client(processes=False, n_workers=1, dashboard_address=None):
        check_engine(DaskEngine())


@pytest.mark.parametrize("form", REPORTS)
def test_our_reports(form):
    render = REPORTS[form].load()
    if not render.shows(AuditResult):  # a picture of a plan, gauges of a monitor
        assert form in ("png", "prom")
        return
    if form == "pdf":  # bytes, of which nothing is read back; the names must not stop it
        check_report(lambda result: repr(len(render(result))) + str(result.verdict), markup=False)
        return
    check_report(render, markup=True if form == "md" else None)


def test_every_public_name_is_there_and_says_what_it_is():
    assert set(extend.__all__) <= set(dir(extend))
    for name in extend.__all__:
        thing = getattr(extend, name)
        assert name in ("Array", "Bound", "Index") or thing.__doc__, name


PLUGIN = """
from dataclasses import dataclass
import numpy as np
from fairaudit.density.gaussian import Gaussian
from fairaudit.extend import encode

@dataclass(frozen=True)
class Gap:
    power: float = 2.0
    name = "gap of means"

    def bind(self, table, *, within_outcome, seed):
        u = table.prediction.matrix().sum(axis=1)
        a = encode(table.attributes)
        u, a = u - u.mean(), a - a.mean(axis=0)
        return lambda rows: np.array([(np.abs(u @ a[copy]) ** self.power).sum() for copy in rows])

def ridge():
    return Gaussian(mean="ridge")

class Empty:
    pass

def broken():
    raise KeyError("no settings")
"""
POINTS = """
[fairaudit.statistics]
gap = plugin_of_tests:Gap
kpc = plugin_of_tests:Empty
empty = plugin_of_tests:Empty
broken = plugin_of_tests:broken
absent = plugin_of_tests:Absent

[fairaudit.densities]
ridgelike = plugin_of_tests:ridge
"""


def install(folder, name="plugin-of-tests", points=POINTS):
    info = folder / f"{name.replace('-', '_')}-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder of Python with a package that registers names, and one to work in with a table."""
    (tmp_path / "site").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "site" / "plugin_of_tests.py").write_text(PLUGIN)
    install(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "plugin_of_tests", raising=False)
    monkeypatch.chdir(tmp_path / "work")
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 240)
    y = rng.normal(size=240)
    frame = {"sex": sex, "y": y, "bad": (y > 0).astype(int), "p": y + sex + rng.normal(size=240)}
    pd.DataFrame(frame).to_csv("people.csv", index=False)
    return tmp_path / "site"


TABLE = ["--data", "people.csv", "--sensitive", "sex", "--predictions", "p", "--permutations", "39"]
TEST = ["test", *TABLE, "--outcome", "bad", "--no-power"]


def change_parameters(site):
    """Another version of the package, in which the statistic has another default."""
    text = (site / "plugin_of_tests.py").read_text()
    (site / "plugin_of_tests.py").write_text(text.replace("float = 2.0", "float = 1.125"))
    del sys.modules["plugin_of_tests"]
    importlib.invalidate_caches()


def record():
    return json.loads(Path("audit.json").read_text())["capsule"]["options"]


def test_an_installed_statistic_has_a_name_on_the_command_line(installed, capsys):
    assert main([*TEST, "--statistic", "gap", "--report", "audit.json"]) == 1
    assert json.loads(Path("audit.json").read_text())["findings"][0]["statistic"] == "gap of means"
    assert record()["statistic"] == {
        "name": "gap",
        "class": "plugin_of_tests.Gap",
        "parameters": {"power": 2.0},
        "package": "plugin-of-tests",
    }
    capsule = json.loads(Path("audit.json").read_text())["capsule"]
    assert capsule["packages"]["plugin-of-tests"] == "1.5"
    assert main(["verify", "audit.json", "--data", "people.csv"]) == 0
    change_parameters(installed)
    capsys.readouterr()
    assert main(["verify", "audit.json", "--data", "people.csv"]) == 2
    assert "'gap' is of plugin-of-tests, and not what is installed" in capsys.readouterr().err


def test_a_record_of_a_package_that_is_gone(installed, monkeypatch, capsys):
    assert main([*TEST, "--statistic", "kpc,gap", "--report", "audit.json"]) == 1
    assert record()["statistic"][0] == "kpc" and record()["statistic"][1]["name"] == "gap"
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(installed)])
    importlib.invalidate_caches()
    capsys.readouterr()
    assert main(["verify", "audit.json", "--data", "people.csv"]) == 2
    assert "The record's statistic 'gap' is of plugin-of-tests. Install" in capsys.readouterr().err
    assert main(["report", "audit.json"]) == 0


def test_installed_names_work_in_a_file_and_in_the_monitor(installed, capsys):
    Path("fairaudit.toml").write_text(
        'data = "people.csv"\nsensitive = "sex"\noutcome = "y"\npredictions = "p"\n'
        'statistic = "gap"\ndensity = "ridgelike"\npermutations = 39\n'
    )
    assert main(["test", "--no-power", "--report", "audit.json"]) in (0, 1, 3)
    assert record()["density"]["package"] == "plugin-of-tests"
    assert record()["density"]["parameters"]["mean"] == "ridge"
    capsys.readouterr()
    assert main(["monitor", "--state", "s.state", "--data", "people.csv"]) in (0, 1, 3)
    change_parameters(installed)
    pd.read_csv("people.csv")[::-1].to_csv("later.csv", index=False)
    assert main(["monitor", "--state", "s.state", "--data", "later.csv"]) == 2
    assert "was begun with other settings (statistic)" in capsys.readouterr().err


def test_installed_names_work_in_python_with_the_numbers_of_the_object(installed):
    frame = pd.read_csv("people.csv")
    given = {"predictions": frame.p, "outcome": frame.bad, "sensitive": frame[["sex"]]}
    named = fa.audit(**given, statistic="gap", permutations=fa.Permutations(n=39), power=False)
    from plugin_of_tests import Gap

    passed = fa.audit(**given, statistic=Gap(), permutations=fa.Permutations(n=39), power=False)
    assert named.joint.value == passed.joint.value and named.null == passed.null
    assert "statistic='gap'" in write_python_call(named)
    assert "statistic=statistic" in write_python_call(passed)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gpa", r"must be one of omnibus, kpc, .*, max, absent, broken, empty, gap, or .*'gap'\?"),
        ("empty", "'empty' of plugin-of-tests 1.5 has no method 'bind'"),
        ("broken", "'broken' of plugin-of-tests 1.5 cannot be made .*KeyError: 'no settings'"),
        ("absent", "'absent' of plugin-of-tests 1.5 cannot be made .*AttributeError"),
    ],
)
def test_what_is_wrong_with_a_name_is_one_line(installed, capsys, name, told):
    assert main([*TEST, "--statistic", name]) == 2
    error = capsys.readouterr().err
    assert re.search(told, error) and error.count("\n") == 1


def test_names_of_ours_cannot_be_taken_and_others_only_once(installed, tmp_path, monkeypatch):
    assert isinstance(STATISTICS.get("kpc"), KPCStatistic) and STATISTICS.names().count("kpc") == 1
    (tmp_path / "more").mkdir()
    install(tmp_path / "more", "other-plugin", "[fairaudit.statistics]\ngap = elsewhere:Gap\n")
    monkeypatch.syspath_prepend(tmp_path / "more")
    with pytest.raises(InputError, match=r"registered by .*1\.5 and .*1\.5. Uninstall all but one"):
        STATISTICS.get("gap")


@pytest.mark.parametrize(
    "call",
    [
        lambda: statistic_named(KPCStatistic),
        lambda: density_named(Gaussian, categorical=False),
        lambda: METHODS.get(Method),
    ],
)
def test_a_class_in_the_place_of_an_object_is_one_clear_line(call):
    with pytest.raises(InputError, match=r"is the class (\w+)\. Pass an instance: \1\(\)\.$"):
        call()


def test_names_cost_no_numpy():
    code = (
        "import sys; from fairaudit.density import density_names; "
        "from fairaudit.remedy.methods import METHODS; "
        "from fairaudit.testing.statistic import STATISTICS; "
        "assert 'kpc' in STATISTICS.names() and 'ols' in density_names() and METHODS.names(); "
        "assert not {'numpy', 'torch', 'scipy', 'pandas'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_examples_of_the_page_are_short():
    text = (ROOT / "docs" / "extend.md").read_text()
    found = dict(re.findall(r"docs-test: file (\w+\.py) -->\n```python\n(.*?)```", text, re.DOTALL))
    assert len(found) == 7
    assert max(code.count("\n") for code in found.values()) < 30
