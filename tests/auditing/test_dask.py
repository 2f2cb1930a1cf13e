"""The audit in shards through Dask, and what happens when parts of it fail."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing.audit_plan import Plan
from fairaudit.data.roles import Roles
from fairaudit.errors import InputError
from fairaudit_cli.main import main

distributed = pytest.importorskip("distributed")
pytest.importorskip("dask.dataframe")
pytest.importorskip("pyarrow")

from fairaudit.auditing.engines.dask_engine import DaskEngine, dask_cluster  # noqa: E402
from fairaudit.auditing.engines.entry import audit_files  # noqa: E402

pytestmark = pytest.mark.timeout(300)
ROLES = Roles(sensitive=("race", "sex", "age"), outcome="y", predictions=("score",))
PLAN = Plan(permutations=fa.Permutations(n=19))


def frame_of(n=6_000):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "race": rng.choice(list("abc"), n),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 60, n),
            "y": y,
            "x": rng.normal(size=n) + y,
        }
    )
    score = 1 / (1 + np.exp(-frame["x"] - 0.3 * (frame["sex"] == "m")))
    return frame.assign(score=score, target=frame["x"] + rng.normal(size=n))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    frame = frame_of()
    for k in range(3):
        part = frame[k * 2_000 : (k + 1) * 2_000]
        part.to_parquet(folder / f"part-{k}.parquet", row_group_size=700, index=False)
    return str(folder / "*.parquet")


@pytest.fixture(scope="module")
def cluster():
    with dask_cluster(2) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def numbers(result):
    record = result.to_dict()
    kept = ("verdict", "because", "findings", "measures", "cells", "quality", "null", "table")
    for finding in record["findings"]:
        del finding["seconds"]
    return json.dumps({name: record[name] for name in kept}), record["capsule"]["table_sha256"]


def test_dask_gives_the_bytes_of_one_machine(files, client):
    alone = audit_files([files], ROLES, PLAN, shards=4)
    spread = audit_files([files], ROLES, PLAN, shards=4, engine="dask")
    assert numbers(spread) == numbers(alone)
    assert str(alone.verdict) == "violation"


def test_a_table_of_dask_is_audited_as_the_files_are(files, client):
    import dask.dataframe as dd

    table = dd.from_pandas(frame_of(), npartitions=5)
    options = {
        "predictions": "score",
        "outcome": "y",
        "sensitive": "race,sex,age",
        "shards": 4,
        "permutations": PLAN.permutations,
    }
    spread = fa.audit(table, engine="dask", **options)
    assert numbers(spread) == numbers(audit_files([files], ROLES, PLAN, shards=4))
    assert numbers(fa.audit(X=frame_of(), **options)) == numbers(spread)
    with pytest.raises(InputError, match="needs engine='dask'"):
        fa.audit(table, engine="local", **options)
    with pytest.raises(InputError, match="Pass engine='dask'"):
        fa.audit(table, predictions="score", outcome="y", sensitive="sex")


def test_a_continuous_outcome_in_shards(files, client):
    plan = Plan(permutations=fa.Permutations(n=9, steps=5), density="ols", statistic="features")
    roles = Roles(sensitive=("age", "sex"), outcome="target", predictions=("score",))
    alone = audit_files([files], roles, plan, shards=2)
    spread = audit_files([files], roles, plan, shards=2, engine="dask")
    assert numbers(spread) == numbers(alone)
    assert "rows that are not tested" in alone.quality.copies_by
    assert alone.joint.rows < 6_000


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])
def test_local_copies_have_the_same_bytes_for_any_number_of_workers(files, workers):
    roles = Roles(sensitive=("race", "age"), outcome="target", predictions=("score",))
    alone = audit_files([files], roles, PLAN, shards=3)
    assert alone.quality.law == "local" and alone.joint.rows == 6_000
    with dask_cluster(workers) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(workers)
        assert numbers(audit_files([files], roles, PLAN, shards=3, engine="dask")) == numbers(alone)


def test_local_copies_have_the_same_bytes_on_two_workers(files, client):
    roles = Roles(sensitive=("race", "age"), outcome="target", predictions=("score",))
    found = [audit_files([files], roles, PLAN, shards=3, engine=e) for e in ("local", "dask")]
    assert numbers(found[0]) == numbers(found[1])


def test_the_model_is_loaded_by_every_worker(files, client, tmp_path):
    import joblib
    from sklearn.linear_model import LogisticRegression

    frame = frame_of()
    model = LogisticRegression().fit(frame[["x", "age"]], frame["y"])
    path = tmp_path / "model.joblib"
    joblib.dump(model, path)
    from fairaudit.models import load_model

    predictor = load_model(str(path))
    roles = Roles(sensitive=("race", "sex"), outcome="y")
    alone = audit_files([files], roles, PLAN, shards=2, predictor=predictor)
    spread = audit_files([files], roles, PLAN, shards=2, predictor=predictor, engine="dask")
    assert numbers(spread) == numbers(alone)
    assert spread.table.features == ("x", "age")


def test_a_worker_killed_in_the_middle_changes_nothing(files, client):
    victims = []

    def kill(what, done, total):
        if what == "copies" and not victims:
            victims.append(next(iter(client.run(os.getpid).values())))
            os.kill(victims[0], signal.SIGKILL)

    alone = audit_files([files], ROLES, PLAN, shards=4)
    spread = audit_files([files], ROLES, PLAN, shards=4, engine="dask", progress=kill)
    assert victims
    assert numbers(spread) == numbers(alone)
    client.wait_for_workers(2)


HARMFUL = """
import os, signal, time
def scores(table):
    if table["x"].iloc[0] == {first!r}:
        {harm}
    return table["x"]
"""


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "probably ran out of memory"),
        ("raise MemoryError", "It ran out of memory"),
        pytest.param(
            "held = bytearray(b'x' * 900_000_000); time.sleep(20)",
            "probably ran out of memory",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_worker_out_of_memory_is_named(files, tmp_path, monkeypatch, harm, told, capsys):
    """The first is what the kernel does to a process that takes too much, the last what Dask does
    to a worker beyond its limit."""
    first = float(frame_of()["x"].iloc[2_000])
    (tmp_path / "harmful.py").write_text(HARMFUL.format(first=first, harm=harm))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.chdir(tmp_path)
    import dask

    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        status = main(
            [
                "test",
                "--data",
                files,
                "--model",
                "harmful:scores",
                "--outcome",
                "y",
                "--sensitive",
                "sex",
                "--engine",
                "dask",
                "--shards",
                "2",
                "--permutations",
                "19",
                "--memory",
                "800MB",
                "--report",
                str(tmp_path / "audit.html"),
            ]
        )
    error = capsys.readouterr().err
    assert status == 2
    assert told in error
    assert "part-1.parquet" in error
    assert not (tmp_path / "audit.html").exists()


def lose_worker(frame, place, always):
    """The process that counts this piece is killed, the first time or always."""
    if always or not os.path.exists(place):
        with open(place, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    return frame


@pytest.mark.parametrize("always", [False, True], ids=["once", "always"])
def test_a_worker_killed_while_it_counts(client, tmp_path, always):
    """Its pieces are counted again, or one line says that they were not."""
    import dask
    import dask.dataframe as dd

    frame = frame_of(2_000)
    lose = dask.delayed(lose_worker)
    pieces = [dask.delayed(frame[:1_000]), lose(frame[1_000:], str(tmp_path / "lost"), always)]
    table = dd.from_delayed(pieces, meta=frame[:0], verify_meta=False)
    named = {"predictions": "score", "outcome": "y", "sensitive": "race,sex"}
    if not always:
        pd.testing.assert_frame_equal(fa.counts(table, **named), fa.counts(frame, **named))
        assert (tmp_path / "lost").exists()
        return
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    with pytest.raises(InputError, match="The Dask table was not counted: KilledWorker") as caught:
        fa.counts(table, **named)
    assert "Nothing was concluded" in str(caught.value) and "\n" not in str(caught.value)
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 3))
    client.wait_for_workers(2)


def test_a_partition_that_cannot_be_read_is_named(files, client, tmp_path, capsys):
    frame_of().to_parquet(tmp_path / "good.parquet", index=False)
    path = tmp_path / "torn.parquet"
    frame_of().to_parquet(path, index=False, compression=None)
    data = bytearray(path.read_bytes())
    data[100:40_000] = bytes(39_900)  # the footer is whole
    path.write_bytes(data)
    status = main(
        [
            "test",
            "--data",
            str(tmp_path / "good.parquet"),
            str(path),
            "--predictions",
            "score",
            "--outcome",
            "y",
            "--sensitive",
            "race,sex",
            "--engine",
            "dask",
            "--json",
            "--report",
            str(tmp_path / "audit.json"),
        ]
    )
    shown = capsys.readouterr()
    assert status == 2
    assert "Partition" in shown.err and "torn.parquet" in shown.err
    assert shown.out == ""
    assert not (tmp_path / "audit.json").exists()


def test_a_scheduler_that_goes_away(files, tmp_path):
    address = tmp_path / "scheduler.json"
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(address),
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen(command, **quiet)
    worker = None
    try:
        while not address.exists():
            time.sleep(0.1)
            assert scheduler.poll() is None
        time.sleep(0.5)
        where = json.loads(address.read_text())["address"]
        worker = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_worker",
                where,
                "--no-dashboard",
                "--no-nanny",
                "--nthreads",
                "1",
            ],
            **quiet,
        )

        def stop(what, done, total):
            if what == "shuffle":
                scheduler.kill()

        with pytest.raises(InputError, match="Dask scheduler was lost"):
            audit_files(
                [files], ROLES, PLAN, shards=2, engine="dask", scheduler=where, progress=stop
            )
    finally:
        scheduler.kill()
        if worker is not None:
            worker.kill()


def test_a_timeout_of_asyncio_is_a_lost_scheduler():
    """Before Python 3.11 it is no `TimeoutError`, and ended as an internal error."""
    with (
        pytest.raises(InputError, match=r"Dask scheduler was lost .* 'shuffle'"),
        DaskEngine()._explain_errors("shuffle"),
    ):
        raise asyncio.TimeoutError


def test_no_scheduler_at_an_address(files, capsys):
    status = main(
        [
            "test",
            "--data",
            files,
            "--predictions",
            "score",
            "--outcome",
            "y",
            "--sensitive",
            "sex",
            "--scheduler",
            "tcp://127.0.0.1:1",
        ]
    )
    assert status == 2
    assert "There is no Dask scheduler at 'tcp://127.0.0.1:1'" in capsys.readouterr().err


def test_joblib_through_dask(client):
    import joblib

    frame = frame_of(1_000)
    given = {"y_true": frame["y"], "sensitive": frame[["race", "sex", "age"]]}
    alone = fa.equalized_odds_test(
        frame["score"], **given, permutations=fa.Permutations(n=39, batch=10)
    )
    with joblib.parallel_config("dask"):
        spread = fa.equalized_odds_test(
            frame["score"], **given, permutations=fa.Permutations(n=39, batch=10, n_jobs=2)
        )
    assert spread.p_value == alone.p_value
    assert spread.null.tolist() == alone.null.tolist()
