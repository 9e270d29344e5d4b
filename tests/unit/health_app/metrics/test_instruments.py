"""Instruments by name, and values that are read on request: names, labels, cumulative buckets."""

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from health_app.metrics.instruments import Instruments, counter, gauge, grouped
from jsonrpc.dispatch.tally import Durations


@pytest.fixture
def instruments() -> Instruments:
    return Instruments()


def shown(*metrics: Metric) -> list[str]:
    class Page(Collector):
        def collect(self) -> list[Metric]:
            return grouped(metrics)

    registry = CollectorRegistry()
    registry.register(Page())
    return generate_latest(registry).decode().splitlines()


def page(instruments: Instruments) -> list[str]:
    return generate_latest(instruments.registry).decode().splitlines()


def test_a_gauge_without_labels_is_a_plain_line() -> None:
    assert shown(gauge("network_peers", 7)) == [
        "# HELP svc_network_peers Number of connected peers.",
        "# TYPE svc_network_peers gauge",
        "svc_network_peers 7.0",
    ]


def test_values_of_a_metric_are_grouped() -> None:
    lines = shown(
        counter("network_bytes", 1, direction="a"),
        gauge("network_peers", 7),
        counter("network_bytes", 2, direction='b"\n'),
    )
    assert lines == [
        "# HELP svc_network_bytes_total Bytes of messages exchanged with peers, by direction.",
        "# TYPE svc_network_bytes_total counter",
        'svc_network_bytes_total{direction="a"} 1.0',
        r'svc_network_bytes_total{direction="b\"\n"} 2.0',
        "# HELP svc_network_peers Number of connected peers.",
        "# TYPE svc_network_peers gauge",
        "svc_network_peers 7.0",
    ]


def test_the_ranges_of_a_histogram_add_up_from_the_lowest(instruments: Instruments) -> None:
    took = instruments.histogram("block_processing_duration_seconds", (0.5, 1.0), chain="C")
    took.reach(Durations((3, 0, 2), 6.5))
    assert page(instruments)[2:] == [
        'svc_block_processing_duration_seconds_bucket{chain="C",le="0.5"} 3.0',
        'svc_block_processing_duration_seconds_bucket{chain="C",le="1.0"} 3.0',
        'svc_block_processing_duration_seconds_bucket{chain="C",le="+Inf"} 5.0',
        'svc_block_processing_duration_seconds_count{chain="C"} 5.0',
        'svc_block_processing_duration_seconds_sum{chain="C"} 6.5',
    ]
    took.reach(Durations((3, 1, 2), 7.25))
    assert page(instruments)[3:7] == [
        'svc_block_processing_duration_seconds_bucket{chain="C",le="1.0"} 4.0',
        'svc_block_processing_duration_seconds_bucket{chain="C",le="+Inf"} 6.0',
        'svc_block_processing_duration_seconds_count{chain="C"} 6.0',
        'svc_block_processing_duration_seconds_sum{chain="C"} 7.25',
    ]


def test_a_counter_follows_a_total(instruments: Instruments) -> None:
    hits = instruments.counter("cache_hits", cache="one")
    for total, sum_of_all in (
        (5, 5),
        (5, 5),
        (7, 7),
        (2, 9),
    ):  # in the last step the total restarts
        hits.reach(total)
        assert page(instruments)[2:] == [f'svc_cache_hits_total{{cache="one"}} {sum_of_all}.0']


def test_instrument_is_created_on_first_use(instruments: Instruments) -> None:
    assert page(instruments) == []
    assert instruments.gauge("python_threads") is instruments.gauge("python_threads")
    assert page(instruments)[2:] == ["svc_python_threads 0.0"]


def test_metric_outside_the_catalogue_is_refused(instruments: Instruments) -> None:
    with pytest.raises(KeyError, match="no_such"):
        instruments.counter("no_such")
    with pytest.raises(KeyError, match="no_such"):
        gauge("no_such", 1)
