"""Damaged model files and tables: the loaders answer with a result or a one-line error.

    python tests/hostile/fuzz.py --seconds 600

Hypothesis cuts, flips, copies and inserts bytes of honest files; anything but a loaded file or a
FairAuditError is a finding, which hypothesis makes small and prints. Every loader runs in a process
of its own, so that a crash of compiled code is seen.
"""

from __future__ import annotations

import argparse
import io
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st


def corpus() -> dict[str, list[tuple[str, bytes]]]:
    """Loader → honest files."""
    import joblib
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from fairaudit.datasets import DEMO_FEATURES, load_demo

    frame = load_demo(60)
    X, y = frame[list(DEMO_FEATURES)], frame["repaid"]
    models = [
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y),
        RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y),
    ]
    files = [(f"m{p}.pkl", pickle.dumps(m, protocol=p)) for m in models for p in (2, 4, 5)]
    for model in models:
        for packed in (0, 3):
            buffer = io.BytesIO()
            joblib.dump(model, buffer, compress=packed)
            files.append(("m.joblib", buffer.getvalue()))
    import skops.io

    archives = [("m.skops", skops.io.dumps(model)) for model in models]
    text = frame.to_csv(index=False).encode()
    parquet = io.BytesIO()
    frame.to_parquet(parquet)
    tables = [
        ("t.csv", text),
        ("t.csv", text.replace(b",", b";")),
        ("t.parquet", parquet.getvalue()),
    ]
    return {"pickles": files, "skops": archives, "tables": tables}


def edited(data: bytes, edits: list[tuple[str, float, int, bytes]]) -> bytes:
    """The file after some cuts, flips, copies and insertions."""
    for what, place, size, new in edits:
        at = int(place * len(data))
        if what == "cut":
            data = data[:at] + data[at + size :]
        elif what == "flip":
            data = (
                data[:at] + bytes(b ^ (size | 1) & 255 for b in data[at : at + 1]) + data[at + 1 :]
            )
        elif what == "copy":
            data = data[:at] + data[at : at + size] + data[at:]
        else:
            data = data[:at] + new + data[at:]
    return data


def load(loader: str, folder: Path, name: str, data: bytes) -> None:
    from fairaudit.data.reading.files import read_tables
    from fairaudit.errors import FairAuditError
    from fairaudit.models import load_model

    path = folder / name
    path.write_bytes(data)
    try:
        if loader == "tables":
            read_tables([str(path)])
        else:
            load_model(str(path))
    except FairAuditError as error:
        if not str(error):
            raise AssertionError("an error without words") from error


def fuzz(loader: str, seconds: float) -> int:
    """Number of files tried; a finding ends it with an exception."""
    files, tried, end = corpus()[loader], 0, time.monotonic() + seconds
    edits = st.lists(
        st.tuples(
            st.sampled_from(["cut", "flip", "copy", "insert"]),
            st.floats(0, 1),
            st.integers(1, 64),
            st.binary(min_size=1, max_size=12),
        ),
        min_size=1,
        max_size=6,
    )
    with tempfile.TemporaryDirectory() as name:

        @settings(
            max_examples=2000,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.sampled_from(files), edits)
        def one(file: tuple[str, bytes], changes: list) -> None:
            nonlocal tried
            if time.monotonic() < end:
                tried += 1
                load(loader, Path(name), file[0], edited(file[1], changes))

        while time.monotonic() < end:
            one()
    return tried


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--only", choices=("pickles", "skops", "tables"), help="in this process")
    args = parser.parse_args()
    if args.only:
        print(f"{args.only}: {fuzz(args.only, args.seconds):,} files, no finding", flush=True)
        return 0
    status = 0
    for loader in ("pickles", "skops", "tables"):
        command = [sys.executable, __file__, "--only", loader, "--seconds", str(args.seconds / 3)]
        code = subprocess.run(command, check=False).returncode
        if code:
            print(f"{loader}: a finding (exit status {code})", flush=True)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
