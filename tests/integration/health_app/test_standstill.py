"""A chain that makes no blocks although transactions are pending, and a start from old rows."""

from typing import Any

import pytest

from chaindb import clock
from chaindb.chains import C_CHAIN, P_CHAIN
from chaindb.wakeup import Wakeup
from health_app.result import Finding
from network_app.apps import node_network
from network_app.models import Peer, SyncPhase
from platform_app.apps import platform_chain, platform_runtime
from platform_app.selectors import stakers
from primitives.ids import NodeID
from tests.builders import health_checks as checks
from tests.builders import network_rows, own_node
from tests.builders.deciding import deciding
from tests.builders.transactions import signed
from tests.integration.conftest import Chain as CChain
from tests.integration.health_app.conftest import FOLLOWING
from tests.integration.platform_app import made
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import payments

DAY = 24 * 60 * 60
UNHEALTHY = "consensus is not healthy reason: time for longest running block 45s > 30s"


@pytest.fixture(autouse=True)
def _nobody_makes_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore requests for blocks: otherwise a worker started by another test would make them."""
    monkeypatch.setattr(Wakeup, "request", lambda _self: None)


@pytest.fixture(autouse=True)
def _nobody_moves_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the clock that tests set as wall time."""

    def wall() -> int:
        return clock.now()  # set by the test

    monkeypatch.setattr(clock, "wall", wall)


@pytest.fixture(autouse=True)
def long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process appear to have started two minutes ago."""
    monkeypatch.setattr(checks, "BEGAN", network_rows.ago(120).timestamp())


def outstanding(found: Finding) -> tuple[int, str]:
    message: Any = found.message
    consensus = message["consensus"]
    return consensus["outstandingBlocks"], consensus["longestRunningBlock"]


def test_long_pending_transaction_is_outstanding(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    pchain.now += 60
    pchain.issue(pchain.make())
    pchain.now += 20
    assert outstanding(checks.measure_p_chain()) == (1, "20s")
    assert checks.measure_p_chain().error == ""
    pchain.now += 25
    assert checks.measure_p_chain().error == UNHEALTHY
    with platform_chain().building.count(1):  # the block with that transaction
        assert outstanding(checks.measure_p_chain())[0] == 1

    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(
            platform_runtime(), "_consensus", deciding(platform_runtime(), here=False)
        )
        assert outstanding(checks.measure_p_chain()) == (0, "0s")
    pchain.build()
    assert outstanding(checks.measure_p_chain()) == (0, "0s")


def test_due_staker_change_is_outstanding(pchain: PChain) -> None:
    pchain.do(made.validator(pchain, "alice", end=2 * DAY))
    end = stakers.current_validators(platform_chain()).by_node[made.node("alice")].end
    pchain.now = end - 1
    assert outstanding(checks.measure_p_chain()) == (0, "0s")
    pchain.now = end + 45
    assert checks.measure_p_chain().error == UNHEALTHY
    pchain.build()
    assert checks.measure_p_chain().error == ""


def test_work_due_before_the_first_check_gets_the_full_time(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    pchain.issue(pchain.make())
    pchain.now += 1_000
    monkeypatch.setattr(checks, "BEGAN", network_rows.ago(5).timestamp())

    assert checks.measure_p_chain().error == ""
    assert outstanding(checks.measure_p_chain())[0] == 1


@pytest.mark.node_settings(mining="auto")
def test_executable_transaction_without_block_is_outstanding(
    chain: CChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = chain.do()[1].header.timestamp
    monkeypatch.setattr(clock, "now", lambda: now)
    chain.send(signed(nonce=chain.nonce + 1))
    now += 45
    assert outstanding(checks.measure_c_chain()) == (0, "0s"), "it waits for another one"
    chain.send(chain.make())
    now += 45
    assert outstanding(checks.measure_c_chain()) == (1, "45s")
    assert checks.measure_c_chain().error == UNHEALTHY

    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(chain.runtime, "_consensus", deciding(chain.runtime, here=False))
        assert outstanding(checks.measure_c_chain()) == (0, "0s")
    chain.now = now
    chain.mine()
    now += 45
    assert outstanding(checks.measure_c_chain()) == (0, "0s")


@pytest.mark.node_settings(mining="auto")
def test_waiting_time_starts_at_the_last_block_without_the_transaction(
    chain: CChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = chain.genesis.header.timestamp + 10
    monkeypatch.setattr(clock, "now", lambda: now)
    chain.send(chain.make())
    now += 60
    with monkeypatch.context() as dear:
        dear.setattr("cchain_app.selectors.figures.base_fee_after", lambda *_: 10**15)
        assert outstanding(checks.measure_c_chain()) == (0, "0s"), "it does not pay the base fee"
    assert outstanding(checks.measure_c_chain()) == (1, "1m0s")

    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("cchain_app.services.vm.choose", lambda *_: [])
        chain.now = now
        assert not chain.mine().transactions
    assert outstanding(checks.measure_c_chain()) == (0, "0s"), "the chain moves"
    now += 20
    assert outstanding(checks.measure_c_chain()) == (1, "19s")


@pytest.mark.node_settings(mining="manual")
def test_manual_mining_has_no_due_blocks(chain: CChain, monkeypatch: pytest.MonkeyPatch) -> None:
    now = chain.do()[1].header.timestamp
    monkeypatch.setattr(clock, "now", lambda: now)
    chain.send(chain.make())
    now += 45

    assert outstanding(checks.measure_c_chain()) == (0, "0s")


@pytest.mark.node_settings(bootstrap=FOLLOWING)
@pytest.mark.usefixtures("pchain")
def test_report_older_than_this_process_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network_rows.report(heartbeat_at=network_rows.ago(4))
    for alias in "PXC":
        network_rows.sync(alias)

    assert checks.measure_bootstrapped() == Finding([])
    monkeypatch.setattr(checks, "BEGAN", network_rows.ago(2).timestamp())
    assert checks.measure_bootstrapped().error == "subnets not bootstrapped"


@pytest.fixture
def follower(monkeypatch: pytest.MonkeyPatch) -> NodeID:
    """Let this node follow another one, with all of its blocks; return the other node's ID."""
    producer = made.node("alice")
    node_network().producer.node_id = producer
    own_node.be(monkeypatch, made.node("bob"))
    network_rows.report(connected=1)
    for alias in (P_CHAIN, C_CHAIN):
        network_rows.sync(alias)
    network_rows.peer(producer)
    return producer


@pytest.mark.node_settings(bootstrap=FOLLOWING)
def test_follower_names_the_stalled_producer(
    pchain: PChain, follower: NodeID, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = payments(pchain, 3)
    monkeypatch.setattr(platform_runtime(), "_consensus", deciding(platform_runtime(), here=False))
    pchain.now += 60
    pchain.issue(*sent)
    pchain.now += 20
    assert stakes_apart(checks.measure_p_chain()) == ""
    pchain.now += 22
    assert stakes_apart(checks.measure_p_chain()) == (
        f"3 transactions pending for 42s, but {follower} builds no blocks"
    )
    Peer.objects.all().delete()
    assert stakes_apart(checks.measure_p_chain()) == (
        f"3 transactions pending for 42s, but {follower}, which builds all blocks, is not connected"
    )


@pytest.mark.node_settings(bootstrap=FOLLOWING, mining="auto")
def test_follower_names_the_stalled_producer_of_the_c_chain(
    chain: CChain, follower: NodeID, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = chain.do()[1].header.timestamp
    monkeypatch.setattr(chain.runtime, "_consensus", deciding(chain.runtime, here=False))
    monkeypatch.setattr(clock, "now", lambda: now)
    chain.send(signed(nonce=chain.nonce + 1))
    now += 45
    assert checks.measure_c_chain().error == "", "it waits for another one"
    chain.send(chain.make())
    now += 45
    assert checks.measure_c_chain().error == (
        "consensus is not healthy reason: "
        f"2 transactions pending for 45s, but {follower} builds no blocks"
    )


@pytest.mark.node_settings(bootstrap=FOLLOWING, mining="auto")
def test_bootstrapping_node_reports_no_stalled_producer(
    chain: CChain, follower: NodeID, monkeypatch: pytest.MonkeyPatch
) -> None:
    del follower
    now = chain.do()[1].header.timestamp
    monkeypatch.setattr(chain.runtime, "_consensus", deciding(chain.runtime, here=False))
    monkeypatch.setattr(clock, "now", lambda: now)
    chain.send(chain.make())
    now += 45
    assert "builds no blocks" in checks.measure_c_chain().error
    network_rows.sync(C_CHAIN, phase=SyncPhase.BOOTSTRAPPING)

    assert checks.measure_c_chain().error == ""


@pytest.mark.node_settings(bootstrap=FOLLOWING, mining="manual")
def test_manual_mining_reports_no_stalled_producer(
    chain: CChain, follower: NodeID, monkeypatch: pytest.MonkeyPatch
) -> None:
    del follower
    now = chain.do()[1].header.timestamp
    monkeypatch.setattr(chain.runtime, "_consensus", deciding(chain.runtime, here=False))
    monkeypatch.setattr(clock, "now", lambda: now)
    chain.send(chain.make())
    now += 45

    assert checks.measure_c_chain().error == ""


def stakes_apart(found: Finding) -> str:
    """Return the faults of a finding other than too little connected stake."""
    faults = found.error.removeprefix("consensus is not healthy reason: ").split(", connected to")
    return "" if faults[0].startswith("connected to") else faults[0]
