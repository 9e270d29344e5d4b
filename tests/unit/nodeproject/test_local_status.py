"""The status of a local network: its answers, the quorum, and the tables that show it."""

from io import StringIO

import pytest
from rich.console import Console

from nodeproject.processes.local_network.running import status_table
from nodeproject.processes.local_network.status import NodeStatus, Quorum, in_words

EQUAL = dict.fromkeys("abcde", 2000)
VOTES = Quorum(13, 20)


@pytest.mark.parametrize(
    ("stakes", "present", "words"),
    [
        (EQUAL, "abcde", "5 of 5 validators run, with 100 % of the stake; 65 % must be there: the "
         "network decides, and 1 more may be missing."),
        (EQUAL, "abde", "4 of 5 validators run, with 80 % of the stake; 65 % must be there: the "
         "network decides, and no other may be missing."),
        (EQUAL, "abe", "3 of 5 validators run, with 60 % of the stake; 65 % must be there: no block "
         "is decided until more of them run."),
        (EQUAL, "", "0 of 5 validators run, with 0 % of the stake; 65 % must be there: no block "
         "is decided until more of them run."),
        # A node that is not a validator has no weight, and the node that stops may be the heaviest.
        ({"a": 50, "b": 30, "c": 20}, "abcx", "3 of 3 validators run, with 100 % of the stake; "
         "65 % must be there: the network decides, and no other may be missing."),
    ],
)  # fmt: skip
def test_status_reports_whether_blocks_are_decided(
    stakes: dict[str, int], present: str, words: str
) -> None:
    assert in_words(VOTES, stakes, set(present)) == words


def test_exactly_the_needed_share_is_enough() -> None:
    assert VOTES.reached(65, 100)
    assert not VOTES.reached(64, 100)
    assert VOTES.spare([65, 20, 15], 100) == 0
    assert Quorum(15, 20).spare([1] * 8, 8) == 2


def test_only_the_sole_producer_counts() -> None:
    sole = Quorum(13, 20, "a")
    assert in_words(sole, EQUAL, {"a"}).endswith("it runs: the network decides.")
    assert in_words(sole, EQUAL, set("bcde")).endswith("no block is produced until it does.")


def test_connected_stake_includes_the_own_stake() -> None:
    answers = NodeStatus(
        ready=True, p_height=0, c_height=0, peers=frozenset({"b", "c", "x"}), stakes=EQUAL
    )
    assert answers.connected("a") == pytest.approx(0.6)
    assert answers.connected("x") == pytest.approx(0.4)


def test_unreachable_node_has_no_status() -> None:
    assert NodeStatus.of("http://127.0.0.1:0", "a", {}) is None


STAKES = {"NodeID-a": 3, "NodeID-b": 1}


def answers(c_height: int | None, *, ready: bool) -> NodeStatus:
    return NodeStatus(
        ready=ready, p_height=7, c_height=c_height, peers=frozenset({"NodeID-b"}), stakes=STAKES
    )


def shown(state: str, ending: str, one: NodeStatus | None) -> list[str]:
    """Return the cells of a node's row."""
    node = {"node_id": "NodeID-a", "url": "", "state": state, "ending": ending}
    out = StringIO()
    Console(file=out, width=200).print(status_table([node], [one], STAKES))
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
