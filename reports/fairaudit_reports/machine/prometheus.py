"""A monitor as a text file of Prometheus, for the textfile collector of its node exporter."""

from __future__ import annotations

from fairaudit.monitoring.gauges import monitor_gauges
from fairaudit.monitoring.monitoring_result import MonitorResult

__all__ = ["render"]


def render(result: MonitorResult) -> str:
    """One gauge a number, with its help."""
    lines = []
    for gauge in monitor_gauges(result):
        lines += [
            f"# HELP {gauge.name} {gauge.help}",
            f"# TYPE {gauge.name} gauge",
            f"{gauge.name} {gauge.value!r}",
        ]
    return "\n".join(lines) + "\n"
