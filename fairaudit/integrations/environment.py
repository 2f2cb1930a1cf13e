"""What is installed, what is missing, and how to get it."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairaudit.models.sandbox import Layer

__all__ = ["Component", "Diagnosis", "examine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One thing that fairaudit uses.

    Attributes
    ----------
    name : str
    version : str or None
        None when it is not installed.
    problem : str or None
        Why it cannot be used although it is installed, in one line.
    needed_for : str
        ``"core"`` for what every audit needs; otherwise what is gained by installing it.
    install : str
        The line that installs it.
    """

    name: str
    version: str | None
    needed_for: str
    install: str
    problem: str | None = None

    @property
    def state(self) -> str:
        """``"ok"``, ``"missing"`` or ``"broken"`` (installed, but it does not work)."""
        if self.version is None:
            return "missing"
        return "ok" if self.problem is None else "broken"

    @property
    def core(self) -> bool:
        return self.needed_for == "core"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All components, warnings about the installation, and what confines model files here."""

    components: tuple[Component, ...]
    warnings: tuple[str, ...]
    sandbox: tuple[Layer, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether an audit can run."""
        return all(part.state == "ok" for part in self.components if part.core)


_PROJECT = "fairaudit-icp"
# import name, name on PyPI
_CORE = (
    ("numpy", "numpy"),
    ("scipy", "scipy"),
    ("sklearn", "scikit-learn"),
    ("pandas", "pandas"),
    ("narwhals", "narwhals"),
    ("joblib", "joblib"),
    ("rich", "rich"),
)
# import name, what it is for, what pip installs
_OPTIONAL = (
    ("torch", "training fairer models, .pt2 models", "torch"),
    ("nflows", "normalizing flows as densities", "nflows"),
    ("matplotlib", "plots", "matplotlib"),
    ("dask", "tables larger than memory", '"dask[dataframe]"'),
    ("distributed", "clusters of machines", "distributed"),
    ("pyarrow", "Parquet files", "pyarrow"),
    ("onnxruntime", ".onnx models", "onnxruntime"),
    ("skops", ".skops models", "skops"),
    ("xgboost", "models trained with it", "xgboost"),
    ("lightgbm", "models trained with it", "lightgbm"),
    ("catboost", "models trained with it", "catboost"),
    ("keras", ".keras models", "keras torch"),
    ("duckdb", "counts by a database", "duckdb"),
    ("pyspark", "counts by Spark", "pyspark"),
    ("ibis", "counts by other databases", "ibis-framework"),
    ("polars", "its data frames", "polars"),
    ("typst", "PDF reports", "typst"),
    ("shtab", "completion in the shell", "shtab"),
    ("cryptography", "signatures of records", "cryptography"),
)
# Tools of others that fairaudit works with: import name, name on PyPI, what meets there.
_INTEGRATIONS = (
    ("fairlearn", "fairlearn", "the reduction, MetricFrame"),
    ("mlflow", "mlflow-skinny", "audits in mlflow.evaluate, logging"),
    ("opentelemetry", "opentelemetry-sdk", "gauges of monitors"),
    ("prometheus_client", "prometheus-client", "reads .prom files of monitors, in tests"),
    ("pytest", "pytest", "assert_equalized_odds"),
    ("IPython", "ipython", "results in notebooks"),
    ("marimo", "marimo", "results in notebooks"),
    ("dagster", "dagster", "asset checks (docs/integrations)"),
    ("airflow", "apache-airflow", "tasks (docs/integrations)"),
    ("kedro", "kedro", "nodes (docs/integrations)"),
    ("dvc", "dvc", "stages (docs/integrations)"),
)


def examine() -> Diagnosis:
    """Look at the installation. Imports no package but rpy2, which is the one that can fail late.

    Examples
    --------
    >>> examine().ok
    True
    """
    core = [
        Component(
            name="Python",
            version=platform.python_version(),
            needed_for="core",
            install="https://www.python.org",
        ),
        Component(
            name="fairaudit",
            version=_version(_PROJECT),
            needed_for="core",
            install=f"pip install {_origin()}",
        ),
        *(_component(module, name, "core", name) for module, name in _CORE),
    ]
    optional = [
        *(_component(module, module, use, pip) for module, use, pip in _OPTIONAL),
        *(_component(module, name, use, name) for module, name, use in _INTEGRATIONS),
    ]
    layers, gaps = _sandbox()
    return Diagnosis((*core, *_r_components(), *optional), (*_warnings(), *gaps), layers)


def _sandbox() -> tuple[tuple[Layer, ...], tuple[str, ...]]:
    """What confines model files here, and what that leaves open."""
    try:
        from fairaudit.models.sandbox import describe_gaps, sandbox_layers
    except ImportError:  # of numpy, which stands among the missing
        return (), ()
    layers = sandbox_layers()
    gaps = describe_gaps({layer.name: layer.problem for layer in layers})
    return layers, () if gaps is None else (gaps,)


def _component(module: str, distribution: str, needed_for: str, pip: str) -> Component:
    version = problem = None
    if find_spec(module) is not None:  # xgboost also comes as xgboost-cpu
        version = _version(distribution) or _version(f"{distribution}-cpu")
    bound = _lower_bounds().get(distribution)
    if version is not None and bound is not None and _numbers(version) < _numbers(bound):
        problem = f"older than {bound}"
        pip = f'"{pip.strip(chr(34))}>={bound}"'
    return Component(
        name=distribution,
        version=version,
        needed_for=needed_for,
        install=f"pip install {pip}",
        problem=problem,
    )


@lru_cache
def _lower_bounds() -> dict[str, str]:
    """The oldest versions that this distribution and its extras ask for."""
    try:
        lines = requires(_PROJECT) or ()
    except PackageNotFoundError:
        return {}
    found = (re.match(r"([\w.-]+)[^;]*>=([\d.]+)", line) for line in lines)
    bounds = [(match[1], match[2]) for match in found if match]
    bounds.sort(key=lambda bound: _numbers(bound[1]), reverse=True)  # the lowest of each is kept
    return dict(bounds)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _r_components() -> tuple[Component, ...]:
    from fairaudit.metrics import _r_bridge as bridge

    r = bridge.status()
    problem = r.rpy2_error if r.rpy2_version is not None else None
    use, line = "backend='r'", bridge.package_install_line
    # which rpy2 fits depends on the R that is not there yet
    pip = bridge.rpy2_install_line(r.r_version) if r.r_version else "install R, then ask again"
    return (
        Component(name="R", version=r.r_version, needed_for=use, install=bridge.INSTALL_R),
        Component(
            name="rpy2", version=r.rpy2_version, needed_for=use, install=pip, problem=problem
        ),
        Component(
            name="R package KPC",
            version=r.kpc_version,
            needed_for=f"kpc, kpc_rkhs with {use}",
            install=line("KPC"),
        ),
        Component(
            name="R package FOCI",
            version=r.foci_version,
            needed_for=f"codec with {use}",
            install=line("FOCI"),
        ),
        Component(
            name="R package reticulate",
            version=r.reticulate_version,
            needed_for="fairaudit in R (docs/integrations)",
            install=line("reticulate"),
        ),
    )


def _warnings() -> tuple[str, ...]:
    other = _version("fairaudit")
    if other is None:
        return ()
    return (
        f"The distribution fairaudit {other} is installed too. It is another project with the "
        "same import name, and the two overwrite each other's files. Run: pip uninstall fairaudit "
        f"&& pip install --force-reinstall --no-deps {_origin()}",
    )


def _origin() -> str:
    """What pip was given when it installed this: a checkout, a wheel, or the project's name."""
    import json
    import shlex
    from importlib.metadata import distribution

    try:
        source = json.loads(distribution(_PROJECT).read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return ". (in a checkout of this project)"
    if "url" not in source:
        return _PROJECT
    editable = "--editable " if source.get("dir_info", {}).get("editable") else ""
    return editable + shlex.quote(source["url"])
