"""The rows of the table, and the server on which each is measured."""

from pathlib import Path

from benchmarks.groups import GROUPS, WORKLOADS
from benchmarks.node import NODE
from benchmarks.report import KINDS
from benchmarks.scale import FULL
from benchmarks.workload import AS_EMBEDDED

TRACES = [name for name in WORKLOADS if name.startswith("trace-")]


def test_a_row_has_one_group() -> None:
    names = [workload.name for group in GROUPS for workload in group.workloads]
    assert len(names) == len(set(names)) == len(WORKLOADS)


def test_traces_are_measured_without_cache(tmp_path: Path) -> None:
    assert len(TRACES) == 6
    for group in GROUPS:
        if not any(workload.name in TRACES for workload in group.workloads):
            continue
        kind = group.alone(FULL) if group.alone else group.kinds[NODE.name]
        assert kind.name == NODE.name
        assert kind.environment(1, tmp_path)["NODE_TRACE_CACHE"] == "0"
    assert "NODE_TRACE_CACHE" not in NODE.environment(1, tmp_path)


def test_left_out_servers_are_in_the_table() -> None:
    for group in GROUPS:
        assert set(group.left_out) < set(KINDS)
        assert NODE.name not in group.left_out


def test_reads_have_a_goal_in_production() -> None:
    (group,) = (group for group in GROUPS if group.name == "reads")
    without = [workload.name for workload in group.workloads if workload.production != AS_EMBEDDED]
    assert without == ["new-heads", "log-notifications"]
    assert AS_EMBEDDED.peers == (NODE.name,)
