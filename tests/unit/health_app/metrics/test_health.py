"""Health as metrics: the gauge for alerts, and the labels of checks and tags."""

from health_app.metrics.exposition import of_checks
from health_app.result import CheckResult

RESULTS = {
    "C": CheckResult(error="bad", duration=250_000_000, contiguous_failures=3),
    "P": CheckResult(duration=500_000_000),
    "router": CheckResult(),
}
TAGS = {"C": {"all", "chain"}, "P": {"all", "chain"}, "router": {"all", "application"}}


def test_the_plain_gauge_counts_each_failing_check_once() -> None:
    found = {
        "/".join((sample.name, *sample.labels.values())): sample.value
        for metric in of_checks(RESULTS, TAGS)
        for sample in metric.samples
    }
    assert found["svc_health_checks_failing"] == 1
    assert found["svc_health_checks_failing_of_tag/all"] == 1
    assert found["svc_health_checks_failing_of_tag/chain"] == 1
    assert found["svc_health_checks_failing_of_tag/application"] == 0
    assert [found[f"svc_health_check_fails/{name}"] for name in ("C", "P", "router")] == [1, 0, 0]
    assert found["svc_health_check_duration_seconds/P"] == 0.5
    assert found["svc_health_check_contiguous_failures/C"] == 3
