"""The rules of health and their messages, which have the formats of the specification."""

import pytest

from health_app import rules
from health_app.rules import NetworkTraffic, Outstanding, Standstill

NONE = Outstanding()
PRIMARY_NETWORK = "11111111111111111111111111111111LpoYY"
BUSY = NetworkTraffic(
    connected=4, send_fail_rate=0.0, since_sent=0.3, since_received=1.2, has_sent=True,
    has_received=True, silent=None,
)  # fmt: skip
ALONE = NetworkTraffic(0, 0.0, 90.0, 90.0, has_sent=False, has_received=False, silent=None)


def test_the_c_chain() -> None:
    found = rules.evm_chain(Outstanding(2, 0.25))

    assert found.message == {
        "consensus": {"longestRunningBlock": "250ms", "outstandingBlocks": 2},
        "vm": None,
    }
    assert found.error == ""


def test_the_p_chain() -> None:
    found = rules.p_chain(NONE, 0.9967, in_network=True)

    assert found.message == {
        "consensus": {"longestRunningBlock": "0s", "outstandingBlocks": 0},
        "vm": {"percentConnected": 0.9967},
    }
    assert found.error == ""


def test_the_x_chain() -> None:
    found = rules.x_chain(Outstanding(2, 3.0), 5)

    assert found.message == {
        "consensus": {
            "outstandingVertices": 2,
            "snowstorm": {"outstandingTransactions": 5},
            "longestRunningBlock": "3s",
            "outstandingBlocks": 2,
        },
        "vm": None,
    }
    assert found.error == ""


def test_the_network() -> None:
    found = rules.network(BUSY, in_network=True)

    assert found.message == {
        "connectedPeers": 4,
        "sendFailRate": 0.0,
        "timeSinceLastMsgReceived": "1.2s",
        "timeSinceLastMsgSent": "300ms",
    }
    assert found.error == ""


def test_the_router() -> None:
    found = rules.router(Outstanding(3, 1.5))

    assert found.message == {"longestRunningRequest": "1.5s", "outstandingRequests": 3}
    assert found.error == ""


def test_all_chains_bootstrapped() -> None:
    found = rules.bootstrapped({"P": True, "X": True, "C": True})
    assert (found.message, found.error) == ([], "")


@pytest.mark.parametrize("syncing", ["P", "C"])
def test_a_chain_that_syncs_names_its_subnet(syncing: str) -> None:
    found = rules.bootstrapped({alias: alias != syncing for alias in ("P", "X", "C")})
    assert (found.message, found.error) == ([PRIMARY_NETWORK], "subnets not bootstrapped")


@pytest.mark.parametrize(
    ("blocks", "reasons"),
    [
        (Outstanding(256, 30.0), ""),
        (Outstanding(257, 1.0), "number of outstanding blocks 257 > 256"),
        (Outstanding(1, 30.5), "time for longest running block 30.5s > 30s"),
        (
            Outstanding(300, 90.0),
            "number of outstanding blocks 300 > 256, time for longest running block 1m30s > 30s",
        ),
    ],
)
def test_blocks_that_are_stuck(blocks: Outstanding, reasons: str) -> None:
    expected = f"consensus is not healthy reason: {reasons}" if reasons else ""

    assert rules.evm_chain(blocks).error == expected
    assert rules.p_chain(blocks, 1.0, in_network=True).error == expected


def test_too_little_stake() -> None:
    assert rules.p_chain(NONE, 0.8, in_network=True).error == ""
    assert rules.p_chain(NONE, 0.75, in_network=True).error == (
        "consensus is not healthy reason: connected to 75.00% of the stake < 80.00%"
    )


def test_node_without_network_needs_no_connected_stake() -> None:
    found = rules.p_chain(NONE, 0.2, in_network=False)

    assert found.error == ""
    assert found.message["vm"] == {"percentConnected": 0.2}  # type: ignore[index]


def test_too_many_undecided_blocks_of_the_x_chain() -> None:
    assert rules.x_chain(Outstanding(257, 0.0), 0).error == (
        "consensus is not healthy reason: number of outstanding blocks 257 > 256"
    )


def test_a_network_of_one_needs_no_peers() -> None:
    found = rules.network(ALONE, in_network=False)

    assert found.error == ""
    assert found.message == {
        "connectedPeers": 0,
        "sendFailRate": 0.0,
        "timeSinceLastMsgReceived": "1m30s",
        "timeSinceLastMsgSent": "1m30s",
    }


def test_a_node_that_is_cut_off() -> None:
    assert rules.network(ALONE, in_network=True).error == (
        "network layer is unhealthy reason: not connected to a minimum of 1 peer(s) only 0, "
        "no messages received from network, no messages sent to network"
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"since_received": 60.0, "since_sent": 60.0, "send_fail_rate": 0.9}, ""),
        ({"since_received": 61.0}, "no messages received from network in 1m1s > 1m0s"),
        ({"since_sent": 75.5}, "no messages sent to network in 1m15.5s > 1m0s"),
        ({"send_fail_rate": 0.95}, "rate of failed sends 0.95 > 0.9"),
        ({"silent": 16.0}, "the network's process has not reported for 16s"),
    ],
)
def test_silence_and_failures(changes: dict[str, float], reason: str) -> None:
    error = rules.network(BUSY._replace(**changes), in_network=True).error
    assert error == (f"network layer is unhealthy reason: {reason}" if reason else "")


def test_silent_network_process_is_unhealthy_without_peers() -> None:
    error = rules.network(ALONE._replace(silent=20.0), in_network=False).error
    assert error == (
        "network layer is unhealthy reason: the network's process has not reported for 20s"
    )


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        (Outstanding(1024, 300.0), ""),
        (Outstanding(1025, 1.0), "number of outstanding requests 1025 > 1024"),
        (Outstanding(1, 301.0), "time for longest request 5m1s > 5m0s"),
    ],
)
def test_requests_that_are_stuck(requests: Outstanding, reason: str) -> None:
    error = rules.router(requests).error
    assert error == (f"the router is not healthy reason: {reason}" if reason else "")


@pytest.mark.parametrize(
    ("standstill", "words"),
    [
        (
            Standstill(3, 42.0, "NodeID-x", connected=True),
            "3 transactions pending for 42s, but NodeID-x builds no blocks",
        ),
        (
            Standstill(0, 42.0, "", connected=False),
            "a staker change is overdue by 42s, but the validators accept no blocks",
        ),
        (
            Standstill(1, 42.0, "NodeID-x", connected=False),
            "1 transaction pending for 42s, but NodeID-x, which builds all blocks, is not connected",
        ),
    ],
)
def test_stalled_block_production_is_unhealthy(standstill: Standstill, words: str) -> None:
    short = standstill._replace(seconds=rules.LONGEST_STANDSTILL)
    for judged in (
        lambda standstill: rules.evm_chain(Outstanding(), standstill=standstill),
        lambda standstill: rules.p_chain(
            Outstanding(), 1.0, standstill=standstill, in_network=True
        ),
    ):
        assert judged(standstill).error == f"consensus is not healthy reason: {words}"
        assert judged(short).error == ""
