"""The bridge to R: the numbers of R itself, quiet, interruptible, clear about what is missing."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairaudit.errors import FairAuditError, InputError, MissingDependencyError
from fairaudit.metrics import _r_bridge as bridge

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = pd.read_csv(GOLDEN / "expected.csv")
TIE_FREE = ["continuous_unfair_d1", "continuous_fair_d3", "partial_correlation"]


def columns(case):
    table = pd.read_csv(GOLDEN / f"{case}.csv")
    return [table.filter(regex=f"^{role}").to_numpy(float) for role in ("yhat", "y1", "a")]


def expected(case, statistic, kernel, knn=1):
    rows = EXPECTED.query("case == @case and statistic == @statistic and kernel == @kernel")
    if statistic == "KPCgraph":
        rows = rows[rows["knn"] == knn]
    assert len(rows) == 1 and rows["sd"].item() == 0
    return rows["mean"].item()


@pytest.fixture(scope="session")
def r():
    found = bridge.status()
    if found.r_version is None:
        pytest.skip("R is not installed")
    if found.rpy2_error is not None:
        pytest.skip(f"rpy2 cannot start R: {found.rpy2_error}")
    if found.kpc_version is None or found.foci_version is None:
        pytest.skip("the R packages KPC and FOCI are not installed")
    return found


@pytest.mark.parametrize("case", TIE_FREE)
@pytest.mark.parametrize(
    ("kernel", "name", "knn"),
    [
        ("rbf", "rbf_median", 1),
        ("rbf", "rbf_median", 5),
        ("linear", "linear", 1),
        ("laplace", "laplace_1", 1),
    ],
)
def test_kpc_graph(r, case, kernel, name, knn):
    u, y, a = columns(case)
    value = bridge.kpc_graph(u, y, a, knn=knn, kernel=kernel, bandwidth=None, seed=1)
    assert value == pytest.approx(expected(case, "KPCgraph", name, knn), abs=1e-9)


@pytest.mark.parametrize("case", TIE_FREE)
def test_without_outcome_is_kmac(r, case):
    u, _, a = columns(case)
    value = bridge.kpc_graph(u, None, a, knn=1, kernel="rbf", bandwidth=None, seed=1)
    assert value == pytest.approx(expected(case, "KMAc", "rbf_median"), abs=1e-9)


@pytest.mark.parametrize("case", TIE_FREE)
def test_kpc_rkhs(r, case):
    value = bridge.kpc_rkhs(*columns(case), eps=1e-3, seed=1)
    assert value == pytest.approx(expected(case, "KPCRKHS", "rbf_median_eps1e-3"), abs=1e-9)


@pytest.mark.parametrize("case", TIE_FREE)
def test_codec(r, case):
    u, y, a = columns(case)
    assert bridge.codec(u, a, y, seed=1) == pytest.approx(expected(case, "codec", "rank"), abs=1e-9)


def test_bandwidth_given_is_the_bandwidth_used(r):
    u, y, a = columns("continuous_unfair_d1")
    median = expected("continuous_unfair_d1", "median_distance", "euclidean")
    call = {"knn": 1, "kernel": "rbf", "seed": 1}
    default = bridge.kpc_graph(u, y, a, bandwidth=None, **call)
    assert bridge.kpc_graph(u, y, a, bandwidth=median, **call) == pytest.approx(default, abs=1e-9)
    assert bridge.kpc_graph(u, y, a, bandwidth=median / 4, **call) != pytest.approx(default)


@pytest.mark.parametrize("knn", [1, 3])
def test_discrete_kernel_is_the_linear_kernel_of_unit_vectors(r, knn):
    _, y, a = columns("continuous_unfair_d1")
    label = np.digitize(y[:, 0] + a[:, 0], [-1.0, 1.0])
    call = {"knn": knn, "bandwidth": None, "seed": 1}
    discrete = bridge.kpc_graph(label[:, None].astype(float), y, a, kernel="discrete", **call)
    linear = bridge.kpc_graph(np.eye(3)[label], y, a, kernel="linear", **call)
    assert discrete == pytest.approx(linear, abs=1e-12)


def test_same_seed_same_number_with_ties(r):
    u, y, a = columns("rounded_everything")
    call = {"knn": 1, "kernel": "rbf", "bandwidth": None}
    values = [bridge.kpc_graph(u, y, a, seed=seed, **call) for seed in (3, 3, 4)]
    assert values[0] == values[1] != values[2]
    assert bridge.codec(u, a, y, seed=3) == bridge.codec(u, a, y, seed=3)


def test_array_layout_does_not_matter(r):
    u, y, a = columns("continuous_fair_d3")
    assert bridge.codec(u, np.ascontiguousarray(a), y, seed=0) == bridge.codec(
        u, np.asfortranarray(np.repeat(a, 2, axis=1))[:, ::2], y, seed=0
    )


def test_from_threads(r):
    u, y, a = columns("continuous_fair_d1")
    values = []
    threads = [
        threading.Thread(target=lambda: values.append(bridge.codec(u, a, y, seed=0)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [bridge.codec(u, a, y, seed=0)] * 4


def test_errors_of_r_are_one_line(r, capfd):
    u, y, a = columns("continuous_fair_d1")
    with pytest.raises(FairAuditError, match=r"^R stopped: .*Knn \+ 1$"):
        bridge.kpc_graph(u, y, a, knn=10**6, kernel="rbf", bandwidth=None, seed=0)
    with pytest.raises(InputError, match="median distance between predictions is 0"):
        bridge.kpc_graph(0 * u, y, a, knn=1, kernel="rbf", bandwidth=None, seed=0)
    assert capfd.readouterr() == ("", "")


def test_ctrl_c_stops_r_and_nothing_is_printed(r, tmp_path):
    (tmp_path / ".Rprofile").write_text('cat("noise\\n"); message("noise")\n')
    script = """
import os, signal, threading
import numpy as np
from fairaudit.metrics import _r_bridge as bridge

def handler(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, handler)
u, y, a = np.random.default_rng(0).normal(size=(3, 20_000, 1))
options = dict(knn=2, kernel="linear", bandwidth=None, seed=0)
bridge.kpc_graph(u[:50], y[:50], a[:50], **options)
assert signal.getsignal(signal.SIGINT) is handler
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    bridge.kpc_graph(u, y, a, **options)
except KeyboardInterrupt:
    bridge.kpc_graph(u[:50], y[:50], a[:50], **options)
    print("interrupted", end="")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("interrupted", "")


ONE = np.arange(6.0)[:, None]


@pytest.mark.parametrize(
    ("r_version", "advice"),
    [
        (None, "apt-get install r-base-core r-base-dev r-cran-kernlab r-cran-rann"),
        ("4.2.2", 'pip install "rpy2-rinterface>=3.6.3,<3.6.6" rpy2-robjects'),
        ("4.10.0", "pip install rpy2"),
    ],
)
def test_missing_r_or_rpy2_names_the_install_line(monkeypatch, r_version, advice):
    def fail():
        raise ImportError("No module named\n'rpy2'")

    monkeypatch.setattr(bridge, "start", fail)
    monkeypatch.setattr(bridge, "_versions_in_r", lambda: (r_version, None, None, None))
    with pytest.raises(MissingDependencyError) as caught:
        bridge.codec(ONE, ONE, ONE, seed=0)
    message = str(caught.value)
    assert f"Run: {advice}" in message and "\n" not in message
    found = bridge.status()
    assert found.r_version == r_version
    assert found.rpy2_error == "No module named 'rpy2'"


@pytest.mark.parametrize(
    ("missing", "call"),
    [
        ("KPC", lambda: bridge.kpc_rkhs(ONE, ONE, ONE, eps=1e-3, seed=0)),
        ("FOCI", lambda: bridge.codec(ONE, ONE, None, seed=0)),
        (
            "mlpack",
            lambda: bridge.kpc_graph(
                ONE, ONE, ONE, knn="mst", kernel="rbf", bandwidth=None, seed=0
            ),
        ),
    ],
)
def test_missing_r_package_is_named(monkeypatch, missing, call):
    monkeypatch.setattr(bridge, "start", lambda: None)
    monkeypatch.setattr(bridge, "call", lambda function, *values: float(missing not in values))
    with pytest.raises(MissingDependencyError) as caught:
        call()
    assert f"Run: Rscript -e 'install.packages(\"{missing}\")'" in str(caught.value)


def test_bad_arguments_need_no_r():
    call = {"knn": 1, "bandwidth": None, "seed": 0}
    with pytest.raises(InputError, match="must be one of rbf, linear, laplace, discrete"):
        bridge.kpc_graph(ONE, ONE, ONE, kernel="cosine", **call)
    with pytest.raises(InputError, match="one column of predictions"):
        bridge.codec(np.ones((6, 2)), ONE, ONE, seed=0)


def test_public_functions_take_r_as_backend(r):
    import fairaudit as fa

    u, y, a = columns("continuous_unfair_d1")
    for measure in (fa.metrics.kpc, fa.metrics.codec, fa.metrics.kpc_rkhs):
        native, by_r = (
            measure(u, sensitive=a, y_true=y, encode="raw", backend=b) for b in ("native", "r")
        )
        assert by_r.backend == "r"
        assert float(by_r) == pytest.approx(float(native), abs=1e-9)
