"""The columns of `local_network status` for each node."""

from io import StringIO

from rich.console import Console

from nodeproject.processes.local_network.running import standing_table
from nodeproject.processes.local_network.standing import NodeStatus

STAKES = {"NodeID-a": 3, "NodeID-b": 1}


def answers(c_height: int | None, *, ready: bool) -> NodeStatus:
    return NodeStatus(
        ready=ready, p_height=7, c_height=c_height, peers=frozenset({"NodeID-b"}), stakes=STAKES
    )


def shown(state: str, ending: str, one: NodeStatus | None) -> list[str]:
    """Return the cells of a node's row."""
    node = {"node_id": "NodeID-a", "url": "", "state": state, "ending": ending}
    out = StringIO()
    Console(file=out, width=200).print(standing_table([node], [one], STAKES))
    (row,) = [line for line in out.getvalue().splitlines() if "NodeID-a" in line]
    return row.split()


def test_a_node_that_answers_has_heights_and_stake() -> None:
    row = "1 ready NodeID-a 75 % 7 12 1 100 %"
    assert shown("running", "", answers(12, ready=True)) == row.split()
    row = "1 running NodeID-a 75 % 7 1 100 %"
    assert shown("running", "", answers(None, ready=False)) == row.split()


def test_a_node_that_does_not_has_its_state_and_why() -> None:
    assert shown("running", "", None) == ["1", "does", "not", "answer", "NodeID-a", "75", "%"]
    assert shown("paused", "", None) == ["1", "paused", "NodeID-a", "75", "%"]
    row = "1 ended: it was [ended] by SIGKILL NodeID-a 75 %"
    assert shown("ended", "it was [ended] by SIGKILL", None) == row.split()
