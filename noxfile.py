"""Every Python that is supported: `nox` runs all sessions, `nox -s "tests-3.12"` one of them.

Sessions of a Python that is not installed are skipped, with that reason. Arguments after `--` go to
pytest: `nox -s lowest -- tests/data tests/metrics`. torch is installed where `FAIRAUDIT_TRAIN` is
set (gigabytes for each Python); elsewhere the tests that train skip themselves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import nox

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
LOWEST, NEWEST = PYTHONS[0], PYTHONS[-2]  # few machines have 3.14; its wheels are there
#: Extras whose lower bounds are tried together with those of the core.
EXTRAS = ("onnx", "skops", "parquet", "dask", "plot", "reduction")
INTEGRATION_PAGES = "tests/docs/test_integration_pages.py"
#: A torch without CUDA is gigabytes smaller; TORCH_INDEX= (empty): where pip's settings say.
TORCH_INDEX = os.environ.get("TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
TORCH = ("--extra-index-url", TORCH_INDEX) if TORCH_INDEX else ()

nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True


def lower_bounds() -> Iterator[str]:
    """The lowest versions that pyproject.toml promises, as constraints."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    extras = project["optional-dependencies"]
    for requirement in (
        *project["dependencies"],
        *(one for name in EXTRAS for one in extras[name]),
    ):
        name, bound, marker = re.fullmatch(
            r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)(;.*)?", requirement
        ).groups("")
        yield f"{name}=={bound}{marker}"
    yield "onnx==1.16"  # writes what the lowest onnxruntime reads


def install(session: nox.Session, *constraints: str) -> None:
    extras = (*EXTRAS, "test", *(["train"] if os.environ.get("FAIRAUDIT_TRAIN") else []))
    session.install("--quiet", f".[{','.join(extras)}]", *constraints)


def run_tests(session: nox.Session) -> None:
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    session.run("fairaudit", "doctor", env=one_thread)
    session.run("python", "-m", "pytest", *(session.posargs or ["-n", "2"]), env=one_thread)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The pinned versions of constraints.txt, as `make test` has them."""
    install(session, "--constraint", "constraints.txt")
    run_tests(session)


@nox.session(python=LOWEST)
def lowest(session: nox.Session) -> None:
    """The lowest versions that pyproject.toml allows."""
    bounds = Path(session.create_tmp()) / "lowest.txt"
    bounds.write_text("\n".join(lower_bounds()) + "\n", encoding="utf-8")
    install(session, "--constraint", str(bounds))
    run_tests(session)


@nox.session(python="3.11")
def mlflow(session: nox.Session) -> None:
    """MLflow and its server, whose pins would hold back the versions of the other sessions."""
    session.install("--quiet", ".[mlflow,skops,onnx,catboost,test]", "mlflow", "--upgrade")
    tests = ["tests/integrations", INTEGRATION_PAGES]
    session.run("python", "-m", "pytest", *(session.posargs or tests))


@nox.session(python="3.11")
def serving(session: nox.Session) -> None:
    """Models behind MLServer (KServe's protocol), whose pins are its own."""
    session.install("--quiet", ".[test]", "mlserver", "mlserver-sklearn")
    session.run(
        "python", "-m", "pytest", *(session.posargs or ["tests/integrations/test_serving.py"])
    )


@nox.session(python="3.11")
def orchestrators(session: nox.Session) -> None:
    """Dagster, Kedro, DVC and marimo; R too where it has reticulate."""
    session.install("--quiet", ".[test]", "dagster", "kedro", "dvc", "marimo", "--upgrade")
    session.run("python", "-m", "pytest", *(session.posargs or [INTEGRATION_PAGES]))


@nox.session(python="3.11")
def airflow(session: nox.Session) -> None:
    """Airflow by itself: it wants versions of its own of nearly everything."""
    session.install("--quiet", ".[test]", "apache-airflow>=3", "--upgrade")
    session.run("python", "-m", "pytest", *(session.posargs or [INTEGRATION_PAGES]))


@nox.session(python="3.11")
def keras(session: nox.Session) -> None:
    """Model files of keras (with torch below it), torch.export and catboost."""
    session.install("--quiet", ".[keras,catboost,test]", "--upgrade", *TORCH)
    files = ["tests/models/test_networks.py", "tests/models/test_catboost.py"]
    session.run("python", "-m", "pytest", "-m", "", *(session.posargs or files))


@nox.session(python=NEWEST)
def extras(session: nox.Session) -> None:
    """All extras resolve together, with the pins of constraints.txt; nothing is installed."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    names = [name for name in project["optional-dependencies"] if name not in ("all", "dev", "r")]
    wanted = f".[{','.join(names)}]"
    options = ["--dry-run", "--quiet", "--constraint", "constraints.txt", *TORCH]
    session.run("python", "-m", "pip", "install", *options, wanted)


@nox.session(python=NEWEST)
def lazy(session: nox.Session) -> None:
    """Spark (which needs Java) and Ibis; hundreds of megabytes, for one engine."""
    ibis = ("ibis-framework[duckdb,sqlite]", "sqlglot<29")  # Ibis 12 makes no table with sqlglot 30
    session.install("--quiet", ".[counts,dask,spark,test]", *ibis)
    tests = ["tests/auditing/test_lazy_engine.py", "tests/auditing/test_counts.py"]
    session.run("python", "-m", "pytest", *(session.posargs or tests))


@nox.session(python=NEWEST)
def newest(session: nox.Session) -> None:
    """The newest versions of everything that the index has."""
    install(session, "--upgrade", "--upgrade-strategy", "eager")
    run_tests(session)
