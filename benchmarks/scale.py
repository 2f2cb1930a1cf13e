"""Time and memory of an audit by rows: 10⁴ … 10⁷, one machine and Dask, and peers beside it.

    python benchmarks/scale.py                          # 10⁴ … 10⁶, binary and continuous
    python benchmarks/scale.py --only counted --rows 1e6,1e7,1e8,1e9
    python benchmarks/scale.py --only dask --rows 1e6
    PEERS_PYTHON=<python> python benchmarks/scale.py --only peers --rows 1e5,1e6

binary      outcome of two classes; race (5), sex, integer age; scores in [0, 1]
rare        the same with an event of 2 %: most probabilities are close to 0, some far away
continuous  continuous outcome, one continuous attribute
regression  continuous outcome; race (5), sex and integer age, all of which it depends on
dealt       the table of regression with sex alone, in shards of 200,000 rows that wait on disk
            (--engine local --memory 500MB)
mixed       binary outcome; race (5), sex and a continuous attribute: no ties to use
counted     30 % positive; race (5), sex, integer age; scores in [0, 1]; written by DuckDB for many
            rows: `--only counted --rows 1e6,1e7,1e8,1e9`; beyond 10⁸ rows a folder of files of
            10⁸ rows each (9 GB for 10⁹ rows)
dask        binary, in shards: in this process, then through Dask with 1 and 2 workers
peers       fairlearn's MetricFrame with 100 bootstraps, fairpipe's permutation test, RCIT of
            causal-learn, where PEERS_PYTHON (default: this Python) has them

Tables are generated in chunks and written as Parquet. Each line is `fairaudit test` in a fresh
process on one thread: CPU is that of the whole process and of its workers, imports and reading
included; the peak is the largest resident size of all of them together, seen five times a second.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import json  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

CHUNK = 1_000_000
PART = 100_000_000  # rows of a file
SENSITIVE = {
    "binary": "race,sex,age",
    "counted": "race,sex,age",
    "rare": "race,sex,age",
    "continuous": "a",
    "regression": "race,sex,age",
    "dealt": "sex",
    "mixed": "race,sex,a",
}


def chunk(kind: str, n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng([n, seed])
    a = rng.normal(size=n)
    if kind == "continuous":
        y = 0.8 * a + rng.normal(size=n)
        return pd.DataFrame({"score": y + rng.normal(size=n), "y": y, "a": a, "unused": a})
    if kind in ("regression", "dealt"):
        race, sex, age = rng.integers(0, 5, n), rng.integers(0, 2, n), rng.integers(18, 90, n)
        y = 0.3 * race + 0.5 * sex + 0.02 * age + rng.normal(size=n)
        names = np.array(list("abcde"))[race], np.array(["f", "m"])[sex]
        score = y + 0.7 * rng.normal(size=n)
        return pd.DataFrame({"score": score, "y": y, "race": names[0], "sex": names[1], "age": age})
    y = (rng.random(n) < 0.02).astype(int) if kind == "rare" else rng.integers(0, 2, n)
    logit = 1.5 * rng.normal(size=n) + 2 * y - 5 if kind == "rare" else rng.normal(size=n) + y
    frame = pd.DataFrame(
        {
            "score": 1 / (1 + np.exp(-logit)),
            "y": y,
            "race": rng.choice(["a", "b", "c", "d", "e"], n),
            "sex": rng.choice(["f", "m"], n),
            "unused": a,
        }
    )
    return frame.assign(**({"a": a} if kind == "mixed" else {"age": rng.integers(18, 90, n)}))


COUNTED = """
COPY (
    SELECT (1 / (1 + exp(-(y + u1 + u2 + u3 + u4 - 2))))::DOUBLE AS score, y,
        ['a', 'b', 'c', 'd', 'e'][1 + floor(random() * 5)::INT] AS race,
        ['f', 'm'][1 + floor(random() * 2)::INT] AS sex,
        (18 + floor(random() * 72))::UTINYINT AS age
    FROM (
        SELECT (random() < 0.3)::INT::UTINYINT AS y, 2 * random() AS u1, random() AS u2,
            random() AS u3, random() AS u4
        FROM range({rows})
    )
) TO '{path}' (FORMAT parquet, COMPRESSION zstd)
"""


def write_counted(rows: int, path: Path, seed: int = 50) -> None:
    import duckdb

    if rows > PART:
        path.mkdir(exist_ok=True)
        for number in range(rows // PART):
            part = path / f"{number}.parquet"
            if not part.exists():
                write_counted(PART, part, seed=number)
        return

    with duckdb.connect() as connection:
        seeded = f"SELECT setseed({seed / 100})"
        connection.execute(f"SET threads = 1; SET memory_limit = '2GB'; {seeded}")
        connection.execute(COUNTED.format(rows=rows, path=path))


def write(kind: str, rows: int, path: Path) -> None:
    if kind == "counted":
        write_counted(rows, path)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for number, start in enumerate(range(0, rows, CHUNK)):
        table = pa.Table.from_pandas(chunk(kind, min(CHUNK, rows - start), number))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def peak_mb(process: str = "self") -> float:
    with open(f"/proc/{process}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def measured(arguments: list[str]) -> dict[str, float]:
    """One `fairaudit test`, in this process; workers are children of it."""
    import contextlib
    import io
    import resource

    from fairaudit_cli.main import main

    start, cpu = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = main(["test", *arguments, "--json"])
    if status == 2:
        raise SystemExit("fairaudit test failed")
    record = json.loads(out.getvalue())
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "wall": time.perf_counter() - start,
        "cpu": time.process_time() - cpu + children.ru_utime + children.ru_stime,
        "peak": peak_mb(),
        "worker": children.ru_maxrss / 1024,
        "p": record["findings"][0]["p_value"],
        "copies": record["findings"][0]["copies"],
        "statistic": record["findings"][0]["value"],
    }


def fresh(*arguments: str, python: str = sys.executable) -> dict[str, float]:
    command = [python, __file__, "--measure", *arguments]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors)
        together = 0.0
        while process.poll() is None:
            together = max(together, resident_mb(process.pid))
            time.sleep(0.2)
        out.seek(0)
        errors.seek(0)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, None, errors.read())
        return {**json.loads(out.read().splitlines()[-1]), "together": together}


def resident_mb(process: int) -> float:
    """Of a process and those that it started, one by one."""
    try:
        resident = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / 2**20
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it has ended
        return 0.0
    return resident + sum(resident_mb(int(child)) for child in children)


def table_of(folder: Path, kind: str, rows: int) -> Path:
    path = folder / (f"{kind}-{rows}.parquet" if rows <= PART else f"{kind}-{rows}")
    if not path.exists():
        write(kind, rows, path)
    return path


def command_of(path: Path, kind: str, copies: str) -> list[str]:
    more = ["--engine", "local", "--memory", "500MB"] if kind == "dealt" else []
    return [
        *more,
        "--data",
        str(path),
        "--predictions",
        "score",
        "--outcome",
        "y",
        "--sensitive",
        SENSITIVE[kind],
        "--permutations",
        copies,
    ]


def lines(folder: Path, kinds: list[str], sizes: list[int], copies: str) -> None:
    print("| table | rows | copies | CPU s | growth | wall s | peak MB | p |")
    print("|---" * 8 + "|")
    for kind in kinds:
        before = None
        for rows in sizes:
            got = fresh(*command_of(table_of(folder, kind, rows), kind, copies))
            growth = f"{got['cpu'] / before:.1f}-fold" if before else ""
            before = got["cpu"]
            told = f"| {kind} | {rows:,} | {got['copies']} | {got['cpu']:.1f} | {growth} | "
            peak = max(got["peak"], got["together"])
            print(f"{told}{got['wall']:.0f} | {peak:.0f} | {got['p']:.3f} |", flush=True)


def through_dask(folder: Path, sizes: list[int], copies: str) -> None:
    """The same shards in this process and on workers; the numbers must not differ."""
    print("| rows | shards | engine | CPU s | wall s | peak MB, a worker | p |")
    print("|---" * 7 + "|")
    for rows in sizes:
        command = command_of(table_of(folder, "binary", rows), "binary", copies)
        shards = str(max(4, rows // 250_000))
        seen = []
        for name, more in (
            ("local", ()),
            ("dask, 1 worker", ("--engine", "dask")),
            ("dask, 2 workers", ("--engine", "dask", "--jobs", "2")),
        ):
            got = fresh(*command, "--shards", shards, *more)
            seen.append((got["p"], got["statistic"]))
            peak = got["peak"] if name == "local" else got["worker"]
            told = f"| {rows:,} | {shards} | {name} | {got['cpu']:.1f} | {got['wall']:.0f} | "
            print(f"{told}{peak:.0f} | {got['p']:.3f} |", flush=True)
        assert len(set(seen)) == 1, seen


def fairlearn_bootstrap(frame: pd.DataFrame) -> None:
    from fairlearn.metrics import MetricFrame, false_positive_rate, true_positive_rate

    labels = (frame["score"] >= 0.5).astype(int)
    ages = pd.cut(frame["age"], 5).astype(str)
    table = MetricFrame(
        metrics={"tpr": true_positive_rate, "fpr": false_positive_rate},
        y_true=frame["y"],
        y_pred=labels,
        sensitive_features=frame[["race", "sex"]].assign(age=ages),
        n_boot=100,
        ci_quantiles=[0.025, 0.975],
        random_state=0,
    )
    assert len(table.by_group_ci) == 2


def rcit(frame: pd.DataFrame) -> None:
    """RCIT of causal-learn: the score and age given the outcome, both one column."""
    from causallearn.utils.RCIT.RCIT import RCIT

    columns = [frame[[name]].to_numpy(dtype=float) for name in ("score", "age", "y")]
    RCIT().compute_pvalue(*columns)


def fairpipe(frame: pd.DataFrame) -> None:
    """Its permutation test of the largest gap, within outcomes."""
    from fairness_pipeline_dev_toolkit.metrics import FairnessAnalyzer

    attributes = frame[["race", "sex"]].assign(age=pd.cut(frame["age"], 5).astype(str))
    found = FairnessAnalyzer(backend="native").equalized_odds_difference(
        frame["y"],
        (frame["score"] >= 0.5).astype(int),
        None,
        intersectional=True,
        attrs_df=attributes,
        columns=list(attributes.columns),
        n_permutations=99,
    )
    assert found.p_value is not None


#: name → what it is, its module, its function
PEERS = {
    "fairlearn": ("fairlearn MetricFrame, 100 bootstraps, age in 5 bins", fairlearn_bootstrap),
    "fairpipe": ("fairpipe, 99 permutations, age in 5 bins", fairpipe),
    "rcit": ("causal-learn RCIT, age alone", rcit),
}


def measured_peer(name: str, path: str) -> dict[str, float]:
    frame = pd.read_parquet(path)
    run = PEERS[name][1]
    run(frame[:20_000])  # imports
    start = time.process_time()
    run(frame)
    return {"cpu": time.process_time() - start, "peak": peak_mb()}


def peers(folder: Path, sizes: list[int]) -> None:
    python = os.environ.get("PEERS_PYTHON", sys.executable)
    print("| rows | what | CPU s | peak MB |")
    print("|---" * 4 + "|")
    for rows in sizes:
        path = table_of(folder, "binary", rows)
        for copies in ("99", "999"):
            got = fresh(*command_of(path, "binary", copies))
            told = f"fairaudit test, {copies} copies, 6 questions"
            print(f"| {rows:,} | {told} | {got['cpu']:.1f} | {got['peak']:.0f} |", flush=True)
        for name, (told, _) in PEERS.items():
            try:
                got = fresh("peer", name, str(path), python=python)
            except subprocess.CalledProcessError as error:
                why = error.stderr.strip().splitlines()[-1]
                print(f"| {rows:,} | {told} | {why} | |", flush=True)
                continue
            print(f"| {rows:,} | {told} | {got['cpu']:.1f} | {got['peak']:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="binary,continuous")
    parser.add_argument("--rows", default="1e4,1e5,1e6")
    parser.add_argument("--copies", help="default: 999, and 99 for a continuous outcome")
    parser.add_argument("--folder", help="where tables are kept (default: a temporary one)")
    parser.add_argument("--measure", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        peer = args.measure[0] == "peer"
        print(json.dumps(measured_peer(*args.measure[1:]) if peer else measured(args.measure)))
        return
    sizes = [int(float(text)) for text in args.rows.split(",")]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(args.folder or made)
        folder.mkdir(exist_ok=True)
        for kind in args.only.split(","):
            if kind == "dask":
                through_dask(folder, sizes, args.copies or "199")
                continue
            if kind == "peers":
                peers(folder, sizes)
                continue
            lines(folder, [kind], sizes, args.copies or ("99" if kind == "continuous" else "999"))


if __name__ == "__main__":
    main()
