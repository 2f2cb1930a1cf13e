"""Audits in `mlflow.models.evaluate`, and results of any kind in a run of MLflow.

    mlflow.models.evaluate(
        data=frame, targets="repaid", predictions="score", model_type="classifier",
        evaluators=["default", "fairaudit"],
        evaluator_config={"fairaudit": {"sensitive": ["race", "sex", "age"]}},
    )

MLflow finds the evaluator by the entry point ``mlflow.model_evaluator``. Other keys of the
configuration are arguments of `fairaudit.audit`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError
from fairaudit.results import SUPPRESS, Result

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["FairauditEvaluator", "log_result"]

FOLDER = "fairaudit"
_MODEL_TYPES = ("classifier", "regressor")


class FairauditEvaluator:
    """What MLflow calls; it evaluates nothing unless its configuration names attributes."""

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any, **_: Any) -> bool:
        """Whether it was asked to, so that every other evaluation stays as it is."""
        return model_type in _MODEL_TYPES and bool((evaluator_config or {}).get("sensitive"))

    def evaluate(
        self,
        *,
        model_type: Any,
        dataset: Any,
        run_id: str,
        evaluator_config: Any,
        model: Any = None,
        **_: Any,
    ) -> Any:
        """Audit the predictions, or ask the model for them; log the result to the run."""
        from mlflow.models import EvaluationResult

        config = dict(evaluator_config)
        result = _audit(dataset, model, config.pop("sensitive"), config)
        metrics = log_result(result, run_id=run_id)
        return EvaluationResult(metrics=metrics, artifacts={})


def _audit(dataset: Any, model: Any, sensitive: Any, config: dict[str, Any]) -> AuditResult:
    from fairaudit.auditing.doors import audit

    features = dataset.features_data
    if dataset.labels_data is None:
        raise InputError("The audit needs the outcome: pass 'targets' to evaluate.")
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    missing = [name for name in names if name not in features]
    if missing:
        raise InputError(f"The data of the evaluation have no column {missing[0]!r}.")
    predictions = dataset.predictions_data
    if predictions is None:
        if model is None:
            raise InputError("The audit needs predictions or a model.")
        left = [name for name in features if name not in names or name in _inputs(model)]
        predictions = model.predict(features[left])
    return audit(
        predictions=predictions, outcome=dataset.labels_data, sensitive=features[names], **config
    )


def _inputs(model: Any) -> list[str]:
    schema = getattr(getattr(model, "metadata", None), "get_input_schema", lambda: None)()
    return list(schema.input_names()) if schema is not None else []


def log_result(
    result: Result, *, run_id: str | None = None, suppress: int = SUPPRESS
) -> dict[str, float]:
    """Log a result to a run of MLflow: its numbers, its verdict as a tag, report and record.

    Parameters
    ----------
    result : Result
        Of an audit, a comparison, a monitor, a remedy or a plan.
    run_id : str, optional
        Default: the active run.
    suppress : int
        Groups of fewer people are masked in what is logged.

    Returns
    -------
    dict of float
        The metrics that were logged.
    """
    import mlflow

    client = mlflow.MlflowClient()
    run = run_id or (mlflow.active_run() or mlflow.start_run()).info.run_id
    masked: Any = result.suppressed(suppress) if hasattr(result, "suppressed") else result
    numbers = {
        "p_value": getattr(masked, "p_value", None),
        "kpc": getattr(getattr(masked, "joint", None), "kpc", None),
        "evidence": getattr(masked, "evidence", None),
    }
    metrics = {f"fairaudit_{k}": float(v) for k, v in numbers.items() if v is not None}
    for name, value in metrics.items():
        client.log_metric(run, name, value)
    verdict = getattr(masked, "verdict", None)
    if verdict is not None:
        client.set_tag(run, "fairaudit.verdict", str(getattr(verdict, "value", verdict)))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("report.html", "record.json"):
            masked.save(Path(folder) / name)
            client.log_artifact(run, str(Path(folder) / name), FOLDER)
    return metrics
