"""R's own estimators, called through rpy2: KPC (Huang, Deb, Sen) and FOCI (Azadkia, Chatterjee).

Nothing here is needed by the native measures. rpy2 is imported, and R started, on first use.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.metrics._r_session import call, files_of_user, one_line, start

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "INSTALL_R",
    "RStatus",
    "codec",
    "kpc_graph",
    "kpc_rkhs",
    "package_install_line",
    "rpy2_install_line",
    "status",
]

KERNELS = ("rbf", "linear", "laplace", "discrete")
INSTALL_R = (
    "apt-get install r-base-core r-base-dev "
    "r-cran-kernlab r-cran-rann r-cran-data.table r-cran-proxy r-cran-gmp"
)

_KPC_GRAPH = """function(seed, u, x, z, knn, kernel, bandwidth) {
  set.seed(seed)
  k <- switch(kernel,
    rbf = kernlab::rbfdot(1 / (2 * bandwidth^2)),
    laplace = kernlab::laplacedot(1 / bandwidth),
    linear = kernlab::vanilladot(),
    discrete = structure(function(a, b) as.numeric(all(a == b)), class = "kernel"))
  suppressWarnings(KPC::KPCgraph(Y = u, X = x, Z = z, k = k, Knn = knn))
}"""
_KPC_RKHS = """function(seed, u, x, z, eps) {
  set.seed(seed)
  suppressWarnings(KPC::KPCRKHS(Y = u, X = x, Z = z, eps = eps))
}"""
_CODEC = """function(seed, u, z, x) {
  set.seed(seed)
  suppressWarnings(FOCI::codec(Y = u, Z = z, X = x))
}"""
_MEDIAN_DISTANCE = "function(u) stats::median(stats::dist(u))"
_HAS_PACKAGE = "function(name) as.numeric(suppressWarnings(requireNamespace(name, quietly = TRUE)))"
_VERSIONS = """v <- function(p) tryCatch(as.character(packageVersion(p)), error = function(e) "")
cat("\\nversions", as.character(getRversion()), v("KPC"), v("FOCI"), v("reticulate"),
    sep = "|")"""


def kpc_graph(
    u: NDArray[np.float64],
    x: NDArray[np.float64] | None,
    z: NDArray[np.float64],
    *,
    knn: int | str,
    kernel: str,
    bandwidth: float | None,
    seed: int,
) -> float:
    """R's ``KPCgraph(Y=u, X=x, Z=z)``; ``KMAc(Y=u, X=z)`` when `x` is None.

    Parameters
    ----------
    u, x, z : n × d arrays
        Prediction, outcome (or None) and attributes, already encoded.
    knn : int or "mst"
        Neighbors, or the minimum spanning tree (which needs the R package mlpack).
    kernel : {"rbf", "linear", "laplace", "discrete"}
    bandwidth : float or None
        Of the kernels rbf (None: the median distance of `u`) and laplace (None: 1).
    seed : int
        Passed to ``set.seed``; R breaks ties at random.
    """
    if kernel not in KERNELS:
        raise InputError(
            f"The 'kernel' parameter must be one of {', '.join(KERNELS)}. Got {kernel!r} instead."
        )
    _require("KPC")
    if knn == "mst" and (x is not None or z.shape[1] > 1):
        _require("mlpack")
    if kernel == "rbf" and bandwidth is None:
        bandwidth = call(_MEDIAN_DISTANCE, u)
        if bandwidth == 0:
            raise InputError(
                "The median distance between predictions is 0: most of them are equal. "
                "Pass a bandwidth or kernel='discrete'."
            )
    width = 1.0 if bandwidth is None else float(bandwidth)
    neighbors = "MST" if knn == "mst" else int(knn)
    arguments = (u, x, z, neighbors, kernel, width)
    return _checked("KPCgraph", call(_KPC_GRAPH, _seed(seed), *arguments))


def kpc_rkhs(
    u: NDArray[np.float64],
    x: NDArray[np.float64] | None,
    z: NDArray[np.float64],
    *,
    eps: float,
    seed: int,
) -> float:
    """R's ``KPCRKHS(Y=u, X=x, Z=z, eps=eps)`` with its default kernels."""
    _require("KPC")
    return _checked("KPCRKHS", call(_KPC_RKHS, _seed(seed), *(u, x, z, float(eps))))


def codec(
    u: NDArray[np.float64], z: NDArray[np.float64], x: NDArray[np.float64] | None, *, seed: int
) -> float:
    """FOCI's ``codec(Y=u, Z=z, X=x)``; `u` has one column."""
    if u.shape[1] != 1:
        raise InputError(f"codec takes one column of predictions. Got {u.shape[1]} instead.")
    _require("FOCI")
    return _checked("codec", call(_CODEC, _seed(seed), u, z, x))


@dataclass(frozen=True, slots=True, kw_only=True)
class RStatus:
    """What of R can be used; None means absent.

    Attributes
    ----------
    r_version, rpy2_version, kpc_version, foci_version, reticulate_version : str or None
    rpy2_error : str or None
        Why rpy2 cannot start R, in one line; None when it can.
    """

    r_version: str | None
    rpy2_version: str | None
    rpy2_error: str | None
    kpc_version: str | None
    foci_version: str | None
    reticulate_version: str | None


def status() -> RStatus:
    """Look for R, rpy2 and the R packages. Never raises."""
    r_version, kpc_version, foci_version, reticulate_version = _versions_in_r()
    error = None
    try:
        start()
    except Exception as problem:
        error = one_line(problem)
    return RStatus(
        r_version=r_version,
        rpy2_version=_rpy2_version(),
        rpy2_error=error,
        kpc_version=kpc_version,
        foci_version=foci_version,
        reticulate_version=reticulate_version,
    )


def rpy2_install_line(r_version: str | None) -> str:
    """The pip line that fits the R at hand: newer rpy2 needs functions of R 4.5.

    Examples
    --------
    >>> rpy2_install_line("4.5.1")
    'pip install rpy2'
    """
    if r_version is not None and tuple(map(int, r_version.split(".")[:2])) < (4, 5):
        return 'pip install "rpy2-rinterface>=3.6.3,<3.6.6" rpy2-robjects'
    return "pip install rpy2"


def package_install_line(name: str) -> str:
    """The line that installs an R package from CRAN."""
    return f"Rscript -e 'install.packages(\"{name}\")'"


def _versions_in_r() -> tuple[str | None, ...]:
    """Versions of R, KPC, FOCI and reticulate, asked of Rscript: rpy2 has no part in it."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return (None,) * 4
    try:
        answer = subprocess.run(  # noqa: S603  no shell, and only our own arguments
            [rscript, "-e", _VERSIONS],
            env={**os.environ, **files_of_user()},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        # a user's profile may have printed other lines
        lines = [line for line in answer.stdout.splitlines() if line.startswith("versions|")]
        _, r, kpc, foci, reticulate = lines[-1].split("|")
    except (OSError, LookupError, ValueError, subprocess.SubprocessError):
        return (None,) * 4
    return tuple(version or None for version in (r, kpc, foci, reticulate))


def _rpy2_version() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    for name in ("rpy2-rinterface", "rpy2"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def _require(package: str) -> None:
    """Raise unless R runs and has the package, saying what to install."""
    try:
        start()
    except Exception as problem:
        raise MissingDependencyError(_cannot_start(problem)) from None
    if not call(_HAS_PACKAGE, package):
        raise MissingDependencyError(
            f"backend='r' needs the R package {package}, which cannot be loaded. "
            f"Run: {package_install_line(package)}"
        )


def _cannot_start(problem: Exception) -> str:
    r_version = _versions_in_r()[0]
    if r_version is None:
        return f"backend='r' needs R, which was not found. Run: {INSTALL_R}"
    return (
        f"backend='r' needs rpy2, which does not start R {r_version} ({one_line(problem)}). "
        f"Run: {rpy2_install_line(r_version)}"
    )


def _seed(seed: int) -> int:
    if not 0 <= seed < 2**31:
        raise InputError(f"'seed' must lie in 0 … 2147483647 for R. Got {seed}.", argument="seed")
    return int(seed)


def _checked(name: str, value: float) -> float:
    if math.isfinite(value):
        return value
    raise InputError(
        f"R's {name} gives {value} for these columns: one is constant, or most of its values "
        "are equal (the median distance is then 0). Use backend='native'."
    )
