"""The evidence of a monitor as gauges of OpenTelemetry.

    from opentelemetry import metrics
    from fairaudit.integrations.opentelemetry_gauges import record_monitor

    record_monitor(monitor.add(frame), meter=metrics.get_meter("fairness"), model="credit-score")

The names are those of the Prometheus text file (``result.save("fairness.prom")``), with a dot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairaudit.results import SUPPRESS

if TYPE_CHECKING:
    from fairaudit.monitoring.monitoring_result import MonitorResult

__all__ = ["record_monitor"]


def record_monitor(
    result: MonitorResult, *, meter: Any = None, suppress: int = SUPPRESS, **attributes: str
) -> None:
    """Set the gauges to what a monitor says after its last batch.

    Parameters
    ----------
    result : MonitorResult
    meter : opentelemetry.metrics.Meter, default: that of the name ``"fairaudit"``
    suppress : int
        Below 2 evidence and gaps keep all digits; otherwise they are rounded, as in files.
    **attributes : str
        Of every point: the model, the deployment.
    """
    from fairaudit.monitoring.gauges import monitor_gauges

    if meter is None:
        from fairaudit.errors import MissingDependencyError

        try:
            from opentelemetry import metrics
        except ImportError as error:
            raise MissingDependencyError(
                "OpenTelemetry is not installed. Run: pip install opentelemetry-sdk"
            ) from error
        meter = metrics.get_meter("fairaudit")
    for gauge in monitor_gauges(result.suppressed(suppress)):
        name = gauge.name.replace("_", ".", 1)
        meter.create_gauge(name, unit="1", description=gauge.help).set(gauge.value, attributes)
