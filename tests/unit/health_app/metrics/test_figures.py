"""Figures become the client library's metrics: names, labels, ranges that add up."""

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from health_app.metrics.figures import Family, Figure, Kind, metrics
from jsonrpc.tally import Durations

CALLS = Family("calls", "Calls.", Kind.COUNTER, ("method",))
HEIGHT = Family("height", "Height.")
TOOK = Family("took_seconds", "Time.", Kind.HISTOGRAM, ("method",), bounds=(0.5, 1.0))


def shown(*figures: Figure) -> list[str]:
    class Page(Collector):
        def collect(self) -> list[Metric]:
            return metrics(figures)

    registry = CollectorRegistry()
    registry.register(Page())
    return generate_latest(registry).decode().splitlines()


def test_a_gauge_without_labels_is_a_plain_line() -> None:
    assert shown(HEIGHT.of(7)) == [
        "# HELP svc_height Height.",
        "# TYPE svc_height gauge",
        "svc_height 7.0",
    ]


def test_the_values_of_a_family_stand_together() -> None:
    lines = shown(CALLS.of(1, "a"), HEIGHT.of(7), CALLS.of(2, 'b"\n'))
    assert lines == [
        "# HELP svc_calls_total Calls.",
        "# TYPE svc_calls_total counter",
        'svc_calls_total{method="a"} 1.0',
        r'svc_calls_total{method="b\"\n"} 2.0',
        "# HELP svc_height Height.",
        "# TYPE svc_height gauge",
        "svc_height 7.0",
    ]


def test_the_ranges_of_a_histogram_add_up_from_the_lowest() -> None:
    assert shown(TOOK.took(Durations((3, 0, 2), 6.5), "a"))[2:] == [
        'svc_took_seconds_bucket{le="0.5",method="a"} 3.0',
        'svc_took_seconds_bucket{le="1.0",method="a"} 3.0',
        'svc_took_seconds_bucket{le="+Inf",method="a"} 5.0',
        'svc_took_seconds_count{method="a"} 5.0',
        'svc_took_seconds_sum{method="a"} 6.5',
    ]
