"""Tools that fairaudit meets, the real packages: each skips with the reason where it is absent."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.errors import InputError
from fairaudit.integrations.fairlearn_frames import equalized_odds_p_value, metric_frame
from fairaudit.integrations.opentelemetry_gauges import record_monitor

FEW = fa.Permutations(n=99)


def batch(number: int, harm: float) -> pd.DataFrame:
    rng = np.random.default_rng(number)
    sex, y = rng.choice(["f", "m"], 300), rng.integers(0, 2, 300)
    score = 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(size=300) - harm * (sex == "f"))))
    return pd.DataFrame({"sex": sex, "y": y, "score": score})


@pytest.fixture(scope="module")
def monitored(tmp_path_factory):
    state = tmp_path_factory.mktemp("monitor") / "fairness.state"
    monitor = fa.Monitor(state, predictions="score", sensitive="sex", outcome="y", alpha=0.01)
    return [monitor.add(batch(number, 1.5 * (number > 1))) for number in range(1, 5)]


def test_prometheus_reads_what_a_monitor_writes(monitored, tmp_path):
    parser = pytest.importorskip("prometheus_client.parser")
    for result, alarm in ((monitored[0], 0.0), (monitored[-1], 1.0)):
        result.save(tmp_path / "fairness.prom")
        families = parser.text_string_to_metric_families((tmp_path / "fairness.prom").read_text())
        read = {family.name: family for family in families}
        values = {name: family.samples[0].value for name, family in read.items()}
        assert all(family.type == "gauge" and family.documentation for family in read.values())
        assert values["fairaudit_alarm"] == alarm
        assert values["fairaudit_batches"] == len(result.batches)
        assert values["fairaudit_threshold_log10"] == pytest.approx(2)
        evidence = values["fairaudit_evidence_log10"]
        assert (evidence >= 2) is bool(alarm)
        assert evidence == pytest.approx(result.batches[-1].log10_evidence, rel=0.01)
    assert values["fairaudit_alarm_batch"] == monitored[-1].alarm


def test_opentelemetry_has_the_same_gauges(monitored):
    sdk = pytest.importorskip("opentelemetry.sdk.metrics")
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    reader = export.InMemoryMetricReader()
    provider = sdk.MeterProvider(metric_readers=[reader])
    for result in monitored:
        record_monitor(result, meter=provider.get_meter("fairness"), model="credit")
    (resource,) = reader.get_metrics_data().resource_metrics
    points = {
        metric.name: metric.data.data_points
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    (alarm,), (evidence,) = points["fairaudit.alarm"], points["fairaudit.evidence_log10"]
    assert alarm.value == 1 and dict(alarm.attributes) == {"model": "credit"}
    assert evidence.value == round(monitored[-1].batches[-1].log10_evidence, 3)


def test_fairlearn_has_the_rates_of_our_reports():
    pytest.importorskip("fairlearn")
    rng = np.random.default_rng(0)
    groups = pd.DataFrame({"sex": rng.choice(["f", "m"], 600), "race": rng.choice(["a", "b"], 600)})
    y, score = rng.integers(0, 2, 600), rng.random(600)
    frame = metric_frame(score, sensitive=groups, y_true=y, threshold=0.4).by_group
    ours = fa.metrics.group_rates(score, sensitive=groups, y_true=y, threshold=0.4).to_frame()
    for name, rate in (("TPR", "tpr"), ("FPR", "fpr"), ("selected", "selection")):
        expected = ours[ours["rate"] == rate].set_index(["sex", "race"])["value"]
        np.testing.assert_allclose(frame[name].sort_index(), expected.sort_index())


def test_a_metric_frame_of_a_number_is_refused():
    pytest.importorskip("fairlearn")
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"'age' has more than 50"):
        metric_frame(
            rng.integers(0, 2, 200), {"age": rng.normal(size=200)}, rng.integers(0, 2, 200)
        )


def test_the_p_value_has_the_signature_of_fairlearn():
    rng = np.random.default_rng(1)
    y, age = rng.integers(0, 2, 400), rng.normal(size=400)
    said = y + age + rng.normal(size=400)
    p = equalized_odds_p_value(y, said, sensitive_features=age, permutations=99)
    direct = fa.equalized_odds_test(said, y_true=y, sensitive=age, permutations=FEW)
    assert p == direct.p_value == 0.01


def test_ipython_shows_a_result_as_a_page():
    formatters = pytest.importorskip("IPython.core.formatters")
    frame = batch(0, 1.0)
    result = fa.audit(frame, predictions="score", outcome="y", sensitive="sex", permutations=FEW)
    shown, _ = formatters.DisplayFormatter().format(result)
    assert "text/html" in shown and "text/plain" in shown
    assert "iolation" in shown["text/html"] and "<script src" not in shown["text/html"]


def test_scikit_learn_routes_the_attributes_to_the_scorer():
    import sklearn
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_validate

    frame = batch(0, 0.0)
    X = np.column_stack([frame["score"], frame["sex"] == "f"])
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_validate(
            LogisticRegression(),
            X,
            frame["y"],
            scoring=fa.equalized_odds_score(5),
            cv=3,
            params={"sensitive_features": frame["sex"].to_numpy()},
        )["test_score"]
    assert len(scores) == 3 and all(math.isfinite(score) and score <= 0 for score in scores)
