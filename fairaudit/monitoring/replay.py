"""From the lines of a state to its evidence, by the rules that it was begun with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairaudit.errors import InputError
from fairaudit.monitoring.direction import Frame
from fairaudit.monitoring.evidence import Evidence
from fairaudit.monitoring.rules import RULES, Rules
from fairaudit.monitoring.strategies import Strategies

__all__ = ["add_batch", "find_rules", "replay_batches"]


def find_rules(settings: Mapping[str, Any]) -> Rules:
    """The rules that a state was begun with; states of 0.1 do not name theirs."""
    version = settings.get("betting", 1)
    if version not in RULES:
        raise InputError(
            f"The state was begun by a later version of fairaudit ({settings['version']}). "
            "Continue it with that version, or begin a new 'state'.",
            argument="state",
        )
    return RULES[version]


def replay_batches(settings: Mapping[str, Any], batches: Sequence[Mapping[str, Any]]) -> Evidence:
    """The evidence after these batches."""
    rules = find_rules(settings)
    weights = settings.get("weights")
    if weights is None:
        weights = Strategies(Frame(settings["frame"]), rules=rules).weights
    evidence = Evidence(np.array(weights), settings["alpha"], rules)
    for batch in batches:
        add_batch(evidence, batch)
    return evidence


def add_batch(evidence: Evidence, batch: Mapping[str, Any]) -> None:
    """Add a batch as it stands in a state."""
    evidence.add(np.array(batch["log_e"]), batch.get("boost", 0.0))
