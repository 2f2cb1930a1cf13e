"""The monitor beside sequential tests of others, on the stream of car insurance by ZIP code.

    python benchmarks/streams.py --data DIR --peers DIR --python PYTHON

The stream is that of He and Sutherland (ICML 2026, arXiv 2606.18993): is the premium of a company
independent of whether a ZIP code is of a minority, given its risk? *fair*: premiums exchanged
among ZIP codes of the same of 20 ranges of risk (the null hypothesis holds); *real*: as charged.
`--data` holds `tx-per-zip.csv` and the like (github.com/felipemaiapolo/cit, folder
data/car-insurance-public/data). `--peers` is a clone of github.com/he-zh/SKCI (SKCI, eCRT, EC2ST,
DAVT as its authors set them for this stream, 20 rows a batch), `--python` an interpreter with
torch, hydra-core, scipy and pandas; nothing of it is part of fairaudit. Without them only the
monitor runs. All see the same rows in the same order, up to `--rows`, and stop at the alarm.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
import types
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

ALPHA = 0.05
_RANGES = 20


def load_stream(data: Path, state: str, company: int, seed: int, kind: str):
    """Premium, minority and risk of the ZIP codes of a company, in a random order."""
    table = pd.read_csv(data / f"{state}-per-zip.csv")
    table = table[["state_risk", "combined_premium", "minority", "companies_name"]].dropna()
    name = sorted(table["companies_name"].unique())[company]
    table = table[table["companies_name"] == name]
    rng = np.random.default_rng([seed, company])
    table = table.iloc[rng.permutation(len(table))]
    risk, premium = table["state_risk"].to_numpy(float), table["combined_premium"].to_numpy(float)
    minority = table["minority"].to_numpy().astype(int)
    if kind == "fair":
        centers = np.linspace(risk.min(), risk.max(), _RANGES + 2)[1:-1]
        place = np.abs(risk[:, None] - centers).argmin(axis=1)
        risk = centers[place]
        for number in np.unique(place):
            inside = np.flatnonzero(place == number)
            premium[inside] = premium[rng.permutation(inside)]
    return premium, minority, risk


def watch(premium, minority, risk, *, size: int, copies: int, seed: int):
    """Rows until the alarm of the monitor (None: none), and how many batches could not be used."""
    import fairaudit as fa
    from fairaudit.monitoring.batch import evidence_of
    from fairaudit.monitoring.direction import Frame
    from fairaudit.monitoring.evidence import Evidence
    from fairaudit.monitoring.strategies import Strategies

    evidence, frame, earlier, unusable = None, None, [], 0
    for number in range(len(risk) // size):
        rows = slice(number * size, (number + 1) * size)
        attributes = pd.DataFrame({"minority": minority[rows]})
        table = fa.AuditTable.of(premium[rows], attributes, risk[rows])
        frame = frame or Frame.of(table)
        drawn = fa.Permutations(n=copies, seed=1000 * seed + number)
        found = evidence_of(table, frame, earlier, permutations=drawn)
        evidence = evidence or Evidence(Strategies(frame).weights, ALPHA)
        found.add_to(evidence)
        earlier.append(found.products)
        unusable += found.unusable is not None
        if evidence.alarmed:
            return (number + 1) * size, unusable
    return None, unusable


class Stop(Exception):
    """The alarm, or the end of the rows."""


def drive_peer(peers: Path, method: str, arrays: str, seed: int) -> None:
    """In the interpreter of the peers: rows until the alarm and CPU seconds, as JSON."""
    sys.path.insert(0, str(peers))
    sys.modules["wandb"] = types.SimpleNamespace(log=lambda *_, **__: None)
    import torch

    torch.set_num_threads(1)
    from data.carinsurance import CarInsuranceCIT
    from hydra import compose, initialize_config_dir
    from omegaconf import open_dict
    from train import build_trainer

    loaded = np.load(arrays)
    a, b, c = (torch.tensor(loaded[k], dtype=torch.float32)[:, None] for k in "abc")

    class Rows:
        at = 0

        def generate(self, seed, samples=None):
            size = samples or 20
            if self.at + size > len(a):
                raise Stop
            rows = slice(self.at, self.at + size)
            self.at += size
            return CarInsuranceCIT(a[rows], b[rows], c[rows])

    with initialize_config_dir(str(peers / "configs"), version_base=None):
        suffix = "" if method == "skci" else f"_{method}"
        cfg = compose("config", overrides=[f"+experiment=carinsurance{suffix}"])
    with open_dict(cfg):
        cfg.train.seed, cfg.train.seqs = seed, len(a) // 20
    rows, found = Rows(), {"rows": None}
    trainer = build_trainer(cfg, rows, torch.device("cpu"))

    def log(logs):
        wealth = {key: value for key, value in logs.items() if "wealth" in key or "davt" in key}
        found["last"] = {key: float(value) for key, value in wealth.items()} or found.get("last")
        if logs.get("reject_null"):
            found["rows"] = rows.at
            raise Stop

    trainer.log = log
    begun = time.process_time()
    with contextlib.suppress(Stop):
        trainer.train()
    print(json.dumps({**found, "cpu": time.process_time() - begun}))


def run_peer(args, method: str, stream, seed: int) -> tuple[int | None, float]:
    premium, minority, risk = stream
    path = Path(args.scratch) / f"stream-{os.getpid()}.npz"
    np.savez(path, a=premium, b=minority, c=risk)
    command = [args.python, __file__, "--drive", method, "--peers", str(args.peers)]
    command += ["--arrays", str(path), "--first", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    path.unlink()
    if done.returncode:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return found["rows"], found["cpu"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--state", default="tx")
    parser.add_argument("--companies", type=int, default=18)
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--rows", type=int, default=1800)
    parser.add_argument("--size", type=int, default=100, help="rows in a batch of the monitor")
    parser.add_argument("--copies", type=int, default=99)
    parser.add_argument("--methods", default="monitor,skci,ecrt,ec2st,davt")
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--scratch", default="/tmp")
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    parser.add_argument("--arrays", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.drive:
        drive_peer(args.peers, args.drive, args.arrays, args.first)
        return
    print("| test | stream | streams | alarms | rows until the alarm: median | CPU s | not used |")
    print("|---|---|---|---|---|---|---|")
    for method in args.methods.split(","):
        for kind in ("fair", "real"):
            reached, cpu, unusable = [], [], []
            for company in range(args.companies):
                stream = load_stream(args.data, args.state, company, args.first, kind)
                stream = tuple(column[: args.rows] for column in stream)
                if method == "monitor":
                    begun = time.process_time()
                    rows, left = watch(
                        *stream, size=args.size, copies=args.copies, seed=100 * args.first + company
                    )
                    seconds = time.process_time() - begun
                    unusable.append(left)
                else:
                    rows, seconds = run_peer(args, method, stream, args.first)
                reached.append(np.inf if rows is None else rows)
                cpu.append(seconds)
                print(method, kind, company, rows, f"{seconds:.1f}", file=sys.stderr, flush=True)
            alarms = np.isfinite(reached).sum()
            text = f"{np.median(reached):.0f}" if alarms > len(reached) / 2 else "–"
            left = f"{np.sum(unusable)}" if unusable else ""
            print(
                f"| {method} | {kind} | {len(reached)} | {alarms} | {text} "
                f"| {np.mean(cpu):.1f} | {left} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
