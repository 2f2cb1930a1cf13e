"""Since when? A monitor of equalized odds over batches, with an alarm that holds at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.auditing.descriptions import recorded
from fairaudit.auditing.findings import Verdict
from fairaudit.data.columns import split_kinds
from fairaudit.data.preparation import prepare
from fairaudit.data.roles import Roles, column_names
from fairaudit.data.table import AuditTable
from fairaudit.density import CONTINUOUS
from fairaudit.errors import InputError
from fairaudit.monitoring.batch import BatchEvidence, count_values, evidence_of, find_statistics
from fairaudit.monitoring.batch_gap import measure_gap
from fairaudit.monitoring.batch_rows import (
    find_returning,
    find_returning_keys,
    key_columns,
    reject_seen,
    reject_seen_people,
    row_facts,
    unique_rows,
)
from fairaudit.monitoring.direction import Frame
from fairaudit.monitoring.monitoring_result import MonitoredBatch, MonitorResult, evidence_text
from fairaudit.monitoring.replay import add_batch, find_rules, replay_batches
from fairaudit.monitoring.rules import CURRENT
from fairaudit.monitoring.state import StateFile
from fairaudit.monitoring.strategies import Strategies
from fairaudit.permute.copies import stream
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import STATISTICS

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.models import Predictor

__all__ = ["Monitor", "result_of"]


class Monitor:
    """Evidence against equalized odds over batches of new rows, kept in a file.

    The evidence starts at 1 and is multiplied by an e-value with every batch. If equalized odds
    holds in all of them, it reaches 1/alpha with a probability of at most alpha, ever: look as
    often as you like, and stop when you like.

    Parameters
    ----------
    state : path
        The file; begun with the first batch. It refuses other settings than those it was begun
        with, another model, and rows that it has seen.
    model : object or path, optional
        A fitted model, a function of the table, or a model file. Or name `predictions`.
    sensitive : str or sequence of str
        Columns, as ``"race,sex,age"``; a kind may follow a name (``age:continuous``).
    outcome : str, optional
        Inferred in the first batch where there is one candidate.
    predictions : str or sequence of str, optional
        Columns with labels, scores or probabilities, instead of a model.
    ids, where, missing, on, threshold, positive, classes
        See `fairaudit.data.roles.Roles`.
    alpha : float
        The chance of a false alarm, over all batches together.
    statistic, density
        See `fairaudit.equalized_odds_test`; of several statistics each is bet on.
    permutations : Permutations, optional

    Notes
    -----
    Each batch must hold new rows, independent of the earlier ones given the past; `docs/monitor.md`
    says what that excludes. With classes as outcome the guarantee is exact. With a continuous
    outcome it is as good as the fitted q(y|a); a batch whose copies fail their check adds none.

    References
    ----------
    Ville (1939). Étude critique de la notion de collectif. Ramdas, Grünwald, Vovk, Shafer (2023).
    Game-theoretic statistics and safe anytime-valid inference. Statistical Science 38(4).

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> monitor = Monitor(Path(tempfile.mkdtemp()) / "fairness.state", predictions="score",
    ...                   sensitive="sex", outcome="y", permutations=Permutations(n=199))
    >>> for day in range(4):
    ...     rng = np.random.default_rng(day)
    ...     sex, y = rng.integers(0, 2, (2, 300))
    ...     score = y + 0.5 * sex + rng.normal(size=300)
    ...     result = monitor.add(pd.DataFrame({"score": score, "sex": sex, "y": y}))
    >>> print(result.verdict, "after batch", result.alarm, "since batch", result.since)
    violation after batch 2 since batch 1
    """

    def __init__(
        self,
        state: str | Path,
        *,
        model: Any = None,
        sensitive: str | Sequence[str],
        outcome: str | None = None,
        predictions: str | Sequence[str] = (),
        ids: str | None = None,
        where: str | None = None,
        missing: str = "auto",
        on: str = "scores",
        threshold: float | None = None,
        positive: Any = None,
        classes: Mapping[str, Any] | None = None,
        alpha: float = 0.05,
        statistic: str = "kpc",
        density: str = "auto",
        permutations: Permutations | None = None,
    ) -> None:
        from fairaudit.models import predictor_of

        roles = Roles(
            sensitive=column_names(sensitive),
            outcome=outcome,
            predictions=column_names(predictions),
            ids=ids,
            where=where,
            missing=missing,
            on=on,
            threshold=threshold,
            positive=positive,
            classes=dict(classes or {}),
        )
        if (model is None) == (not roles.predictions):
            raise InputError("Pass a model, or the names of predictions, and not both.")
        self._open(
            state,
            roles,
            None if model is None else predictor_of(model),
            alpha=alpha,
            statistic=statistic,
            density=density,
            permutations=permutations or Permutations(),
        )

    @classmethod
    def with_roles(
        cls, state: str | Path, roles: Roles, predictor: Predictor | None, **options: Any
    ) -> Monitor:
        """The same from roles and a predictor, as the command line has them."""
        monitor = cls.__new__(cls)
        monitor._open(state, roles, predictor, **options)
        return monitor

    def _open(
        self,
        state: str | Path,
        roles: Roles,
        predictor: Predictor | None,
        *,
        alpha: float,
        statistic: str,
        density: str,
        permutations: Permutations,
    ) -> None:
        if not 0 < alpha < 1:
            raise InputError(f"'alpha' must lie between 0 and 1. Got {alpha:g}.", argument="alpha")
        if not isinstance(statistic, str) or not isinstance(density, str):
            raise InputError("A monitor takes its statistic and its density by name.")
        self.roles, self.predictor, self.permutations = roles, predictor, permutations
        self.statistic, self.density, self.alpha = statistic, density, alpha
        self.file = StateFile(state)
        if self.file.settings is not None:
            self._compare(self.file.settings)

    @property
    def result(self) -> MonitorResult:
        """What the batches so far say."""
        if self.file.settings is None:
            raise InputError(f"There is no state {str(self.file.path)!r} yet. Add a batch first.")
        return result_of(self.file)

    def add(self, frame: Any, *, label: str = "") -> MonitorResult:
        """Add a batch of new rows; `label` is its name in reports."""
        from fairaudit.data.reading.frames import as_pandas
        from fairaudit.results import now

        frame = as_pandas(frame)
        facts, hashes = row_facts(frame)
        reject_seen(facts, hashes, self.file.batches)
        facts["people"] = self._people(frame)
        prepared = prepare(frame, self.roles, self.predictor)
        table = prepared.table
        settings = self.file.settings or self._settings(table)
        self._check_form(table, settings)
        number = len(self.file.batches) + 1
        found = self._examine(table, settings, number)
        if self.roles.ids is None:
            facts["unique"], again = unique_rows(table)
            facts["keys"], keys = key_columns(frame)
            returning = find_returning(again, len(table), self.file.batches)
            returning = returning or find_returning_keys(keys, self.file.batches)
            found = found if returning is None else found.without_gain(returning)
        boost = found.add_to(replay_batches(settings, self.file.batches))
        batch = {
            "number": number,
            "when": now(),
            "label": label,
            "rows": len(table),
            **facts,
            "log_e": found.log_e.tolist(),
            "boost": boost,
            "p_value": found.p_value,
            "statistic": found.statistic,
            "unusable": found.unusable,
            **measure_gap(table, self.alpha),
            "products": [
                [float(f"{value:.6g}") for value in products] for products in found.products
            ],
        }
        if self.file.settings is None:
            self.file.begin(settings, batch)
            self.roles = _pin_roles(self.roles, settings)
        else:
            self.file.append(batch)
        result = self.result
        return replace(result, notes=(*result.notes, *prepared.notes))

    def _examine(
        self, table: AuditTable, settings: Mapping[str, Any], number: int
    ) -> BatchEvidence:
        seed = int(stream(self.permutations.seed, 7, number).integers(2**31))
        return evidence_of(
            table,
            Frame(settings["frame"]),
            [[np.array(products) for products in batch["products"]] for batch in self.file.batches],
            statistic=self.statistic,
            density=self.density,
            permutations=replace(self.permutations, seed=seed),
            rules=find_rules(settings),
        )

    def _people(self, frame: pd.DataFrame) -> list[str]:
        """Some of the people, as hashes, where ids are given and nobody comes back."""
        if self.roles.ids is None or self.roles.ids not in frame.columns:
            return []
        facts, hashes = row_facts(frame[[self.roles.ids]])
        reject_seen_people(hashes, self.file.batches)
        return list(facts["sample"])

    def _settings(self, table: AuditTable) -> dict[str, Any]:
        """Of a state that begins with this table."""
        from importlib.metadata import version

        outcome, frame = table.require_outcome(), Frame.of(table)
        values = count_values(find_statistics(self.statistic))
        weights = Strategies(frame, values, CURRENT).weights
        return {
            "version": version("fairaudit-icp"),
            "betting": CURRENT.version,
            **self._settings_given(),
            "outcome": outcome.name,
            "kinds": {column.name: str(column.kind) for column in (outcome, *table.attributes)},
            "form": table.prediction.form,
            "frame": frame.scales,
            "weights": [float(f"{weight:.6g}") for weight in weights],
        }

    def _settings_given(self) -> dict[str, Any]:
        """What must stay the same from batch to batch."""
        roles = asdict(self.roles)
        del roles["weights"], roles["outcome"]
        model = self.predictor
        return {
            "model": None if model is None else model.sha256 or model.source or model.kind,
            **{
                name: list(value) if isinstance(value, tuple) else value
                for name, value in roles.items()
            },
            "alpha": self.alpha,
            "statistic": recorded(STATISTICS, self.statistic),
            "density": recorded(CONTINUOUS, self.density),
            "copies": self.permutations.n,
            "steps": self.permutations.steps,
            "seed": self.permutations.seed,
        }

    def _compare(self, settings: Mapping[str, Any]) -> None:
        wanted = self._settings_given()
        if self.roles.outcome is not None:
            wanted["outcome"] = split_kinds(self.roles.outcome)[0]
        absent: dict[str, Any] = {
            "positive": None,
            "classes": {},
            "count": None,
        }  # in states that began earlier
        begun = {**absent, **settings}
        if wanted["steps"] is None:  # as many as each batch needs: any number is valid
            wanted["steps"] = begun["steps"]
        for name, value in wanted.items():
            if begun[name] != value:
                what = "another model" if name == "model" else f"other settings ({name})"
                raise InputError(
                    f"The state {str(self.file.path)!r} was begun with {what}: "
                    f"{_show(begun[name])}, and not {_show(value)}. Evidence of the two "
                    "cannot be joined: repeat the settings, or begin a new 'state'.",
                    argument="state",
                )
        self.roles = _pin_roles(self.roles, settings)

    def _check_form(self, table: AuditTable, settings: Mapping[str, Any]) -> None:
        width = len(settings["frame"]["prediction"])
        if table.prediction.form != settings["form"] or len(table.prediction.columns) != width:
            raise InputError(
                f"The prediction of this batch is {table.prediction.describe()}; the state was "
                f"begun with {settings['form']} in {width} column(s). Pass the same predictions."
            )


def result_of(file: StateFile) -> MonitorResult:
    """The evidence that a state holds."""
    from importlib.metadata import version

    settings = dict(file.settings or {})
    evidence, batches = replay_batches(settings, ()), list[MonitoredBatch]()
    alarm = since = None
    for batch in file.batches:
        before = evidence.log_wealth
        add_batch(evidence, batch)
        batches.append(
            MonitoredBatch(
                number=batch["number"],
                when=batch["when"],
                label=batch["label"],
                rows=batch["rows"],
                e_value=float(np.exp(min(evidence.log_wealth - before, 700.0))),
                log10_evidence=evidence.log_wealth / np.log(10),
                p_value=batch["p_value"],
                unusable=batch["unusable"],
                gap=batch.get("gap"),
                gap_at_most=batch.get("gap_at_most"),
            )
        )
        if alarm is None and evidence.alarmed:
            alarm, since = batch["number"], evidence.start()
    verdict, because = _verdict(batches, alarm, since, settings["alpha"])
    for name in ("frame", "weights"):  # long, and of no use without the rows
        settings.pop(name, None)
    return MonitorResult(
        verdict=verdict,
        because=because,
        alpha=settings["alpha"],
        alarm=alarm,
        since=since,
        batches=tuple(batches),
        settings=settings,
        notes=tuple(file.notes),
        head=file.head,
        version=version("fairaudit-icp"),
    )


def _verdict(
    batches: Sequence[MonitoredBatch], alarm: int | None, since: int | None, alpha: float
) -> tuple[Verdict, str]:
    last, enough = batches[-1], f"{1 / alpha:.4g}"
    if alarm is not None and since is not None:
        reached, first = batches[alarm - 1], batches[since - 1]
        return Verdict.VIOLATION, (
            f"Violation of equalized odds: with batch {alarm} the evidence reached "
            f"{evidence_text(reached.log10_evidence)}; {enough} sounds the alarm (level "
            f"{alpha:g}). It most likely began with batch {since} ({first.name})."
        )
    if last.unusable is not None:
        return Verdict.INCONCLUSIVE, (
            f"Inconclusive: batch {last.number} added no evidence ({last.unusable})."
        )
    return Verdict.NO_VIOLATION, (
        f"No violation found in {len(batches)} batch{'es' * (len(batches) > 1)}: the evidence is "
        f"{evidence_text(last.log10_evidence)}; {enough} sounds the alarm (level {alpha:g})."
    )


def _pin_roles(roles: Roles, settings: Mapping[str, Any]) -> Roles:
    """The roles with the kinds that the columns had in the first batch."""
    kinds, outcome = settings["kinds"], settings["outcome"]
    names = [name for name in kinds if name != outcome]
    return replace(
        roles,
        sensitive=tuple(f"{name}:{kinds[name]}" for name in names),
        outcome=f"{outcome}:{kinds[outcome]}",
    )


def _show(value: Any) -> str:
    text = value[:12] + "…" if isinstance(value, str) and len(value) == 64 else value
    return repr(text) if isinstance(text, str) else str(text)
