"""The capsule: what is needed to repeat an audit, collected while it runs."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.auditing.descriptions import packages_in, recorded
from fairaudit.auditing.findings import Capsule
from fairaudit.data.columns import level_text
from fairaudit.data.facts import Source
from fairaudit.data.table import AuditTable
from fairaudit.density import CONTINUOUS
from fairaudit.permute.laws import LAWS
from fairaudit.results import now
from fairaudit.testing.statistic import STATISTICS

if TYPE_CHECKING:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.data.roles import Roles

__all__ = ["hash_table", "make_capsule", "make_table_capsule"]


def make_table_capsule(
    table: AuditTable,
    plan: Plan,
    roles: Roles | None,
    model: Source | None,
    data: tuple[Source, ...],
    command: str | None,
) -> Capsule:
    """Versions, settings and hashes."""
    capsule = make_capsule(
        hash_table(table), plan, roles=roles, model=model, data=data, command=command
    )
    if roles is None and table.positive is not None:
        capsule.options["positive"] = level_text(table.positive)
    return capsule


def make_capsule(
    fingerprint: str,
    plan: Plan,
    roles: Roles | None,
    model: Source | None,
    data: tuple[Source, ...],
    command: str | None,
) -> Capsule:
    """The capsule of a table with this hash."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    statistic, density = recorded(STATISTICS, plan.statistic), recorded(CONTINUOUS, plan.density)
    law = recorded(LAWS, plan.law)
    packages = {}
    added = [*packages_in(statistic), *packages_in(density), *packages_in(law)]
    for name in ("numpy", "scipy", "scikit-learn", "pandas", *added):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    permutations = plan.permutations
    options: dict[str, Any] = {}
    if roles is not None:
        options = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(roles).items()}
    if options.get("count") is None:  # said where rows are counts only
        options.pop("count", None)
    options |= {**plan.record(), "statistic": statistic, "density": density, "law": law}
    for rule in ("stop_after", "settle_at"):
        if getattr(permutations, rule) is not None:
            options[rule] = getattr(permutations, rule)
    return Capsule(
        created=now(),
        version=version("fairaudit-icp"),
        python=platform.python_version(),
        platform=platform.platform(),
        packages=packages,
        seed=permutations.seed,
        copies=permutations.n,
        steps=permutations.steps,
        model=model,
        data=data,
        table_sha256=fingerprint,
        options=options,
        command=command,
    )


def hash_table(table: AuditTable) -> str:
    """SHA-256 of the columns that enter the tests."""
    digest = hashlib.sha256()
    columns = [*table.prediction.columns, table.require_outcome(), *table.attributes]
    for column in columns + ([table.ids] if table.ids is not None else []):
        values = column.levels.astype(str) if column.numeric is None else column.numeric
        digest.update(f"{column.name}:{column.kind}:{len(column)}".encode())
        digest.update("\0".join(values).encode() if column.numeric is None else values.tobytes())
        digest.update(column.codes.astype(np.int64).tobytes())
    for numbers in (table.weights, table.times):
        if numbers is not None:
            digest.update(numbers.tobytes())
    return digest.hexdigest()
