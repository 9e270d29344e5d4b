"""The table's rows: which server they are measured on."""

from pathlib import Path

from benchmarks.groups import GROUPS, WORKLOADS
from benchmarks.node import NODE
from benchmarks.peers import PEERS
from benchmarks.scale import FULL

TRACES = [name for name in WORKLOADS if name.startswith("trace-")]


def test_a_row_has_one_group() -> None:
    names = [one.name for group in GROUPS for one in group.workloads]
    assert len(names) == len(set(names)) == len(WORKLOADS)


def test_traces_are_measured_and_not_what_is_kept_of_them(tmp_path: Path) -> None:
    assert len(TRACES) == 6
    for group in GROUPS:
        if not any(one.name in TRACES for one in group.workloads):
            continue
        kind = group.alone(FULL) if group.alone else group.kinds[NODE.name]
        assert kind.name == NODE.name
        assert kind.environment(1, tmp_path)["NODE_TRACE_CACHE"] == "0"
    assert "NODE_TRACE_CACHE" not in NODE.environment(1, tmp_path)


def test_who_is_left_out_is_a_peer() -> None:
    left_out = {name for group in GROUPS for name in group.left_out}
    assert left_out == {"hardhat", "ganache"} < set(PEERS)
