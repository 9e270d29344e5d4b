"""The measurements of each check, from the rows and tables that contain them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import time_machine

from cchain_app.apps import evm_chain
from chaindb.building import BlocksInProgress
from chaindb.chains import C_CHAIN, P_CHAIN
from health_app.result import Finding
from health_app.writing import Writes
from network_app.models import SyncPhase
from nodeproject.apps import this_node
from platform_app.apps import platform_chain
from tests.builders import health_checks as checks
from tests.builders import network_rows, own_node
from tests.builders.node_settings import updated
from tests.integration.health_app.conftest import FOLLOWING
from tests.integration.platform_app import made
from tests.integration.platform_app.conftest import PChain

DAY = 24 * 60 * 60

together = pytest.mark.node_settings(bootstrap=FOLLOWING)


def building(of: str) -> BlocksInProgress:
    """Return this process's record of the chain's blocks in progress."""
    return platform_chain().building if of == P_CHAIN else evm_chain().building


def consensus(found: Finding) -> Any:
    message: Any = found.message
    return message["consensus"]


def network_message(found: Finding) -> Any:
    return found.message


@pytest.mark.usefixtures("pchain")
@pytest.mark.parametrize(
    ("chain", "measure"),
    [(C_CHAIN, checks.measure_c_chain), (P_CHAIN, checks.measure_p_chain)],
)
def test_block_in_progress_is_outstanding(chain: str, measure: Any) -> None:
    other = P_CHAIN if chain == C_CHAIN else C_CHAIN

    with building(chain).count(7), building(other).count(9):
        assert consensus(measure())["outstandingBlocks"] == 1
    assert consensus(measure())["outstandingBlocks"] == 0


@pytest.mark.usefixtures("pchain", "chain")
@pytest.mark.parametrize(
    ("of", "measure"),
    [(C_CHAIN, checks.measure_c_chain), (P_CHAIN, checks.measure_p_chain)],
)
def test_block_of_a_killed_process_is_not_outstanding_once_accepted(of: str, measure: Any) -> None:
    with building(of).count(0):  # an entry that was not removed
        assert consensus(measure())["outstandingBlocks"] == 0
    with building(of).count(1):
        assert consensus(measure())["outstandingBlocks"] == 1


@network_rows.still()
@pytest.mark.usefixtures("pchain")
@pytest.mark.parametrize(
    ("alias", "measure"), [("C", checks.measure_c_chain), ("P", checks.measure_p_chain)]
)
def test_undecided_blocks_of_peers_are_outstanding(alias: str, measure: Any) -> None:
    network_rows.report()
    network_rows.sync(alias, outstanding=3, oldest_outstanding_at=network_rows.ago(45))

    found = measure()

    assert consensus(found)["outstandingBlocks"] == 3
    assert consensus(found)["longestRunningBlock"] == "45s"
    assert found.error.startswith(
        "consensus is not healthy reason: time for longest running block 45s > 30s"
    )


@pytest.mark.usefixtures("pchain")
def test_undecided_blocks_of_an_ended_process_are_not_outstanding() -> None:
    network_rows.report(heartbeat_at=network_rows.ago(60))
    network_rows.sync("C", outstanding=300)

    assert consensus(checks.measure_c_chain())["outstandingBlocks"] == 0


@together
def test_the_connected_stake_is_measured(pchain: PChain) -> None:
    network_rows.report(connected=1)
    pchain.do(made.validator(pchain, "alice", end=2 * DAY, weight=1_000_000_000_000))
    pchain.do(made.validator(pchain, "bob", end=2 * DAY, weight=1_000_000_000_000))
    network_rows.peer(made.node("alice"))

    found: Any = checks.measure_p_chain()
    share = found.message["vm"]["percentConnected"]
    assert 0.0 < share < 1.0
    network_rows.peer(made.node("bob"))
    assert checks.measure_p_chain().message["vm"]["percentConnected"] == 1.0  # type: ignore[index]


@together
def test_too_little_connected_stake_fails(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    network_rows.report()
    with monkeypatch.context() as elsewhere:
        # With another node ID of this node, the only validator's stake is not connected.
        own_node.be(elsewhere, made.node("me"))
        found = checks.measure_p_chain()

    assert found.message["vm"] == {"percentConnected": 0.0}  # type: ignore[index]
    assert found.error == (
        "consensus is not healthy reason: connected to 0.00% of the stake < 80.00%"
    )


@together
@pytest.mark.usefixtures("pchain")
def test_bootstrapping_is_read_from_all_chains() -> None:
    assert checks.measure_bootstrapped().error == "subnets not bootstrapped"
    network_rows.report()
    network_rows.sync("P")
    network_rows.sync("X")
    network_rows.sync("C", phase=SyncPhase.BOOTSTRAPPING)
    assert checks.measure_bootstrapped().error == "subnets not bootstrapped"
    network_rows.sync("C")
    assert checks.measure_bootstrapped() == Finding([])
    network_rows.sync("X", phase=SyncPhase.BOOTSTRAPPING)
    assert checks.measure_bootstrapped().error == "subnets not bootstrapped"


@together
@network_rows.still()
def test_network_report_older_than_this_process_is_ignored(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    pchain.do(made.validator(pchain, "alice", end=2 * DAY, weight=1_000_000_000_000))
    network_rows.report(connected=1, heartbeat_at=network_rows.ago(2))
    network_rows.peer(made.node("alice"))
    network_rows.sync("P", outstanding=3, obstacle="its blocks are not those of the others")
    network_rows.sync("C")

    monkeypatch.setattr(checks, "BEGAN", network_rows.ago(1).timestamp())
    before: Any = [
        checks.measure_network(),
        checks.measure_p_chain(),
        checks.measure_bootstrapped(),
    ]
    monkeypatch.setattr(checks, "BEGAN", network_rows.ago(2).timestamp())
    after: Any = [checks.measure_network(), checks.measure_p_chain(), checks.measure_bootstrapped()]

    assert [result.message["connectedPeers"] for result in (before[0], after[0])] == [0, 1]
    assert before[1].message["vm"]["percentConnected"] < 0.8
    assert after[1].message["vm"]["percentConnected"] == 1.0
    assert [consensus(result)["outstandingBlocks"] for result in (before[1], after[1])] == [0, 3]
    assert ["others" in result.error for result in (before[1], after[1])] == [False, True]
    assert [result.error for result in (before[2], after[2])] == [
        "subnets not bootstrapped",
        "subnets not bootstrapped: its blocks are not those of the others",
    ]


@together
@network_rows.still()
@pytest.mark.usefixtures("pchain")
def test_clock_set_back_does_not_discard_network_reports() -> None:
    looking = replace(checks.checks(), began=network_rows.ago(10).timestamp())
    network_rows.report(connected=1, heartbeat_at=network_rows.ago(5))
    assert looking.measure_network().error == ""

    network_rows.report(connected=2, heartbeat_at=network_rows.ago(3600 + 5))
    with time_machine.travel(network_rows.ago(3600), tick=False):
        found = looking.measure_network()
    assert (network_message(found)["connectedPeers"], found.error) == (2, "")


@together
@network_rows.still()
@pytest.mark.usefixtures("pchain")
def test_network_check_uses_the_report_of_its_process() -> None:
    network_rows.report(
        connected=4,
        send_fail_rate=0.25,
        last_sent_at=network_rows.ago(3),
        last_received_at=network_rows.ago(12),
    )

    found = checks.measure_network()

    message = network_message(found)
    assert (message["connectedPeers"], message["sendFailRate"]) == (4, 0.25)
    assert message["timeSinceLastMsgSent"] == "3s"
    assert message["timeSinceLastMsgReceived"] == "12s"
    assert found.error == ""


@together
@pytest.mark.usefixtures("pchain")
def test_disconnected_node_reports_it() -> None:
    network_rows.report(connected=0, last_sent_at=None, last_received_at=None)

    assert checks.measure_network().error == (
        "network layer is unhealthy reason: not connected to a minimum of 1 peer(s) only 0, "
        "no messages received from network, no messages sent to network"
    )


def test_node_is_healthy_without_peers_until_a_validator_was_connected(pchain: PChain) -> None:
    network_rows.report(connected=0, last_sent_at=None, last_received_at=None)
    assert checks.measure_network().error == ""
    network_rows.peer(made.node("visitor"), connected_since=None)
    assert checks.measure_network().error == ""

    pchain.do(made.validator(pchain, "alice", end=2 * DAY))
    network_rows.peer(made.node("alice"), connected_since=None)
    assert "not connected to a minimum of 1 peer(s) only 0" in checks.measure_network().error


@network_rows.still()
@pytest.mark.usefixtures("pchain")
@pytest.mark.parametrize("has_reported", [False, True])
def test_silent_network_process_fails_the_check(
    monkeypatch: pytest.MonkeyPatch, settings: Any, *, has_reported: bool
) -> None:
    if has_reported:
        network_rows.report(connected=3, heartbeat_at=network_rows.ago(100))
    # This process has not been running long enough.
    monkeypatch.setattr(checks, "BEGAN", network_rows.ago(1).timestamp())
    assert checks.measure_network().error == ""

    monkeypatch.setattr(checks, "BEGAN", network_rows.ago(90.5).timestamp())
    found = checks.measure_network()
    assert found.error.startswith(
        "network layer is unhealthy reason: the network's process has not reported for 1m30."
    )
    assert network_message(found)["connectedPeers"] == 0

    settings.NODE = updated(settings.NODE, network=False)
    assert checks.measure_network().error == ""


def measure_router(router: Callable[[], tuple[int, float]]) -> Finding:
    (found,) = (check for check in checks.table(router, Writes()) if check.name == "router")
    return found.measure()


def test_router_check_counts_unanswered_requests() -> None:
    found = measure_router(lambda: (2, 400.0))

    assert found.message == {"longestRunningRequest": "6m40s", "outstandingRequests": 2}
    assert found.error == "the router is not healthy reason: time for longest request 6m40s > 5m0s"


def test_a_call_in_a_thread_is_a_request_of_the_router() -> None:
    inflight = this_node().observation.metrics.inflight
    ticket = inflight.begin("eth_call")
    try:
        found: Any = measure_router(this_node().processes.router).message
        assert found["outstandingRequests"] >= 1
    finally:
        inflight.end(ticket)


def test_an_idle_x_chain(pchain: PChain) -> None:
    assert checks.measure_x_chain() == Finding(
        {
            "consensus": {
                "outstandingVertices": 0,
                "snowstorm": {"outstandingTransactions": 0},
                "longestRunningBlock": "0s",
                "outstandingBlocks": 0,
            },
            "vm": None,
        }
    )
