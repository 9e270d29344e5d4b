"""Development changes survive SIGKILL: balances, the clock, snapshots and the mining mode."""

import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.anvil import Anvil
from tests.servers.client import RpcClient, RpcUnreachable
from tests.servers.node import RunningNode

SOMEBODY = "0x" + "5a" * 20
KILLS = 3


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    made = RunningNode(tmp_path_factory.mktemp("development"), env={"NODE_MINING": "manual"})
    try:
        yield made
    finally:
        made.kill()


def test_cheats_and_snapshots_survive_a_kill(node: RunningNode) -> None:
    node.start()
    with node.client() as client:
        client.call("anvil_setBalance", SOMEBODY, "0x7")
        first = client.call("evm_snapshot")
        client.call("evm_mine")
        client.call("anvil_setBalance", SOMEBODY, "0x8")
        client.call("evm_setAutomine", True)
        ahead = client.call("evm_increaseTime", 86_400)
    node.kill()
    node.start()
    with node.client() as client:
        assert client.call("eth_getBalance", SOMEBODY, "latest") == "0x8"
        assert client.call("eth_getBalance", SOMEBODY, "0x0") == "0x7"
        assert client.call("anvil_getAutomine") is True
        assert client.call("evm_increaseTime", 0) == ahead
        assert client.call("evm_revert", first) is True
        assert client.call("eth_blockNumber") == "0x0"
        assert client.call("eth_getBalance", SOMEBODY, "latest") == "0x7"


def test_another_chain_id_survives_a_kill(node: RunningNode) -> None:
    node.start()
    with node.client() as client:
        first = client.call("eth_chainId")
        client.call("anvil_setChainId", 31_337)
        assert client.call("eth_chainId") == "0x7a69"
    node.kill()
    node.start()
    with node.client() as client:
        assert (client.call("eth_chainId"), client.call("net_version")) == ("0x7a69", "31337")
        account = client.call("eth_accounts")[0]
        sent = client.call("eth_sendTransaction", {"from": account, "to": SOMEBODY, "value": "0x1"})
        client.call("evm_mine")
    node.kill()
    node.start()
    with node.client() as client:
        assert client.call("eth_getTransactionByHash", sent)["chainId"] == "0x7a69"
        assert client.call("eth_getBalance", SOMEBODY, "latest") == "0x1"
        client.call("anvil_reset")
    node.kill()
    node.start()
    with node.client() as client:
        assert client.call("eth_chainId") == first


def test_acknowledged_changes_survive_a_kill_at_any_point(node: RunningNode) -> None:
    """Kill the node while it edits balances, mines and reverts; acknowledged changes must survive."""
    draw = random.Random(20_261_125)
    node.start()
    for _ in range(KILLS):
        with node.client() as client:
            height, balance = _busy_until_killed(node, client, draw.randrange(20, 60))
        node.start()
        with node.client() as client:
            assert int(client.call("eth_blockNumber"), 16) in height
            assert int(client.call("eth_getBalance", SOMEBODY, "latest"), 16) in balance
            client.call("evm_mine")


def _busy_until_killed(
    node: RunningNode, client: RpcClient, steps: int
) -> tuple[set[int], set[int]]:
    """Send requests until the node is killed; return the possible heights and balances after that.

    The request that was interrupted by the kill may or may not have taken effect.
    """
    height = int(client.call("eth_blockNumber"), 16)
    balance = int(client.call("eth_getBalance", SOMEBODY, "latest"), 16)
    killer = threading.Timer(steps / 20, node.kill)
    killer.start()
    step = 0
    while True:
        snapshot = None
        after = (height, balance)
        try:
            if step % 3 == 0:
                after = (height, step)
                client.call("anvil_setBalance", SOMEBODY, hex(step))
            elif step % 3 == 1:
                after = (height + 2, balance)
                client.call("anvil_mine", 2)
            else:
                snapshot = client.call("evm_snapshot")
                client.call("evm_mine")
                client.call("evm_revert", snapshot)
        except RpcUnreachable:
            killer.join()
            heights = {height, after[0], height + 1} if snapshot else {height, after[0]}
            return heights, {balance, after[1]}
        height, balance = after
        step += 1


def test_state_file_is_written_at_shutdown_and_loaded_by_a_new_chain(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state.json"
    env = {"NODE_STATE": str(state), "NODE_MINING": "manual"}
    with RunningNode(tmp_path / "first", env=env) as first:
        first.start()
        first.rpc("anvil_setBalance", SOMEBODY, "0x7")
        first.rpc("evm_mine")
        dumped = first.rpc("anvil_dumpState")
        first.stop()
    assert SOMEBODY in json.loads(state.read_bytes())["accounts"]
    with RunningNode(tmp_path / "second", env=env) as second:
        second.start()
        assert second.rpc("eth_getBalance", SOMEBODY, "latest") == "0x7"
        second.rpc("evm_mine")
        second.restart()
        assert "is not loaded: the chain here already has blocks" in second.log()
    with Anvil(tmp_path) as anvil:
        assert anvil.rpc("anvil_loadState", dumped) is True
        assert anvil.rpc("eth_getBalance", SOMEBODY, "latest") == "0x7"
    with Anvil(tmp_path, "--load-state", str(state)) as anvil:
        assert anvil.rpc("eth_getBalance", SOMEBODY, "latest") == "0x7"
