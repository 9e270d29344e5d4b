"""Several real processes count and one sums up; counts of processes that ended are kept."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from health_app.metrics.process import ProcessMetrics
from health_app.metrics.sharing import SharedProcesses

pytestmark = pytest.mark.sqlite_only

ROOT = Path(__file__).resolve().parents[4]


class Process:
    """A process of a node that counts on command."""

    def __init__(self, role: str, place: Path) -> None:
        module = "tests.integration.health_app.metrics.counting"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, role, str(place)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid

    def tell(self, command: str) -> None:
        """Send a command, and wait until its counts are written."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, to stop, continue or end the process."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the process immediately."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process in an orderly way."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait(60)


Start = Callable[[str], Process]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory that the processes share."""
    found = tmp_path / "metrics"
    found.mkdir()
    return found


@pytest.fixture
def start(place: Path) -> Iterator[Start]:
    """Return a function that starts a process."""
    with ExitStack() as end:

        def run(role: str) -> Process:
            process = Process(role, place)
            end.callback(process.close)
            return process

        yield run


@pytest.fixture
def reader(place: Path) -> SharedProcesses:
    """A reader of the totals of all processes, which counts nothing itself."""
    return SharedProcesses(ProcessMetrics(), place)


def values(reader: SharedProcesses) -> dict[str, float]:
    """Return the totals of all processes, by name and labels."""
    return {
        "/".join(
            (sample.name, *(f"{sample.labels[name]}" for name in sorted(sample.labels)))
        ): sample.value
        for metric in reader.collect()
        for sample in metric.samples
    }


def test_two_processes_add_up(start: Start, reader: SharedProcesses) -> None:
    first, second = start("web"), start("worker")
    first.tell("call eth_chainId 3 0.00001")
    second.tell("call eth_chainId 4 0.5")
    second.tell("call bad 2 0.5")
    found = values(reader)
    assert found["svc_api_calls_total/C/eth_chainId"] == 7
    assert found["svc_api_calls_total/C/bad"] == 2
    assert found["svc_api_errors_total/C/-32000/bad"] == 2
    ranges = "svc_api_call_duration_seconds_bucket/C"
    assert [found[f"{ranges}/{le}/eth_chainId"] for le in ("5e-05", "0.25", "1.0", "+Inf")] == [
        3, 3, 7, 7,
    ]  # fmt: skip
    assert found["svc_api_call_duration_seconds_count/C/eth_chainId"] == 7
    assert found["svc_api_call_duration_seconds_sum/C/eth_chainId"] == pytest.approx(2.00003)
    assert [(process.role, process.pid) for process in reader.running()] == sorted(
        [("web", first.pid), ("worker", second.pid)], key=lambda pair: pair[1]
    )


def test_counters_of_a_dead_process_are_kept_and_gauges_dropped(
    start: Start, reader: SharedProcesses, place: Path
) -> None:
    first, second = start("web"), start("web")
    for process in (first, second):
        process.tell("call eth_chainId 5 0.5")
        process.tell("begin")
    second.tell("end 1234")
    assert values(reader)["svc_api_calls_processing"] == 2
    second.kill()
    for _ in range(2):
        found = values(reader)
        assert found["svc_api_calls_total/C/eth_chainId"] == 10
        assert found["svc_api_call_duration_seconds_bucket/C/+Inf/eth_chainId"] == 10
        assert found["svc_api_call_duration_seconds_bucket/C/0.25/eth_chainId"] == 0
        assert found["svc_api_calls_processing"] == 1
        assert found["svc_celery_task_last_ended_timestamp_seconds/tick"] == 1234
    assert [process.pid for process in reader.running()] == [first.pid]

    before = sorted(place.iterdir())
    third = start("web")
    third.tell("call eth_chainId 1 0.5")
    third.kill()
    first.tell("call eth_chainId 1 0.5")
    assert values(reader)["svc_api_calls_total/C/eth_chainId"] == 12
    assert {*before} >= {path for path in place.iterdir() if "gauge_live" not in path.name}


def test_a_forked_process_counts_from_nothing(start: Start, reader: SharedProcesses) -> None:
    parent = start("worker")
    parent.tell("call eth_chainId 5 0.5")
    parent.tell("fork")
    assert values(reader)["svc_api_calls_total/C/eth_chainId"] == 7


def test_child_does_not_keep_the_slot_of_a_dead_process(
    start: Start, reader: SharedProcesses
) -> None:
    parent = start("worker")
    parent.tell("child")
    (child,) = (process.pid for process in reader.running() if process.pid != parent.pid)
    try:
        parent.kill()
        assert [(process.role, process.pid) for process in reader.running()] == [("worker", child)]
    finally:
        os.kill(child, signal.SIGKILL)


def test_the_router_sees_the_calls_of_all_processes(start: Start, reader: SharedProcesses) -> None:
    first, second = start("web"), start("web")
    assert reader.router() == (0, 0.0)
    first.tell("begin")
    first.tell("begin")
    second.tell("begin")
    outstanding, longest = reader.router()
    assert outstanding == 3
    assert longest > 0
    # Calls of a stopped process must still be reported, because they never finish.
    first.signal(signal.SIGSTOP)
    assert reader.router()[1] > longest
    first.signal(signal.SIGCONT)
    first.kill()
    assert reader.router()[0] == 1


def test_process_that_reuses_a_slot_inherits_only_counters(
    start: Start, reader: SharedProcesses
) -> None:
    first = start("web")
    first.tell("call eth_chainId 5 0.5")
    first.tell("begin")
    first.tell("listen")
    assert values(reader)["svc_websocket_subscriptions/logs"] == 1
    first.kill()
    second = start("producer")
    second.tell("call eth_chainId 1 0.5")
    found = values(reader)
    assert found["svc_api_calls_total/C/eth_chainId"] == 6
    assert found["svc_api_calls_processing"] == 0
    assert "svc_websocket_subscriptions/logs" not in found
    assert reader.router() == (0, 0.0)
    assert [(process.role, process.pid) for process in reader.running()] == [
        ("producer", second.pid)
    ]


def test_gauges_of_the_last_dead_process_are_dropped(start: Start, reader: SharedProcesses) -> None:
    process = start("web")
    process.tell("call eth_chainId 5 0.5")
    process.tell("begin")
    process.kill()
    found = values(reader)
    assert found["svc_api_calls_total/C/eth_chainId"] == 5
    assert "svc_api_calls_processing" not in found
    assert reader.running() == []
