"""Peers at the size of ours: p-values on the unfair models, judged by those on their fair twins.

The file is that of `benchmarks/ci_peers.py --mode models`. A peer rejects where its p-value is at
most the one that it undercuts on 5 % of the twin's tables, whatever it claims to be: who rejects
too often there has to show more, and who rejects too seldom is helped. Where a twin was not run,
the level that the peer claims has to do, and its name says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

__all__ = ["Ahead", "Peer", "find_ahead", "read_peers"]

LEVEL = 0.05
_DRAWS = 400  # of the bootstrap


@dataclass(frozen=True, kw_only=True)
class Peer:
    """p-values of one peer on one unfair model and on its twin, in the order of the seeds.

    `twin` is empty where it was not run.
    """

    model: np.ndarray
    twin: np.ndarray

    @property
    def size(self) -> float:
        """At the level that it claims."""
        return float(np.mean(self.twin <= LEVEL))

    def rejects(self) -> np.ndarray:
        return (self.model <= find_threshold(self.twin)).astype(float)


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """The peer that finds most, and how much more than ours on the same tables."""

    name: str
    by: float
    error: float  # standard, over tables of the model and of the twin

    @property
    def beyond_noise(self) -> bool:
        return self.by > 2 * self.error


def find_threshold(twin: np.ndarray) -> float:
    """The largest p-value at which at most 5 % of these are rejected."""
    if not len(twin):
        return LEVEL
    ordered = np.sort(twin)
    allowed = int(LEVEL * len(ordered) + 1e-9)
    smaller = ordered[ordered < ordered[allowed]]
    return float(smaller[-1]) if len(smaller) else -1.0


def read_peers(path: str | None) -> dict[str, dict[str, Peer]]:
    """By model and name of the peer."""
    found: dict[tuple[str, str], list[float]] = {}
    if path:
        with open(path) as lines:
            for line in map(json.loads, lines):
                found.setdefault((line["scenario"], line["test"]), []).extend(line["p"])
    peers: dict[str, dict[str, Peer]] = {}
    for (model, test), p in found.items():
        if not model.endswith(", twin"):
            twin = found.get((f"{model}, twin", test), [])
            name = test if twin else f"{test} at its own size"
            peers.setdefault(model, {})[name] = Peer(model=np.array(p), twin=np.array(twin))
    return peers


def find_ahead(peers: dict[str, Peer], ours: np.ndarray) -> Ahead:
    """The most powerful peer beside `ours` (rejected or not, in the order of the seeds)."""
    name = max(peers, key=lambda test: peers[test].rejects().mean())
    peer, rng = peers[name], np.random.default_rng(0)
    n = min(len(peer.model), len(ours))
    draws = []
    for _ in range(_DRAWS):
        rows = rng.integers(0, n, n)
        again = rng.choice(peer.twin, len(peer.twin)) if len(peer.twin) else peer.twin
        threshold = find_threshold(again)
        draws.append(np.mean((peer.model[rows] <= threshold) - ours[rows]))
    by = np.mean(peer.rejects()[:n] - ours[:n])
    return Ahead(name=name, by=float(by), error=float(np.std(draws)))
