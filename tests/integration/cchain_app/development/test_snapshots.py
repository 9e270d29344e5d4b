"""evm_snapshot and evm_revert restore the chain, its state, the pool and the clock."""

import pytest

from cchain_app.selectors import blocks
from chaindb import clock
from primitives.evm import Address
from tests.builders import bytecode
from tests.builders.transactions import RECIPIENT, SENDER

pytestmark = pytest.mark.node_settings(profile="embedded")

SOMEBODY = "0x" + "5a" * 20


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def test_revert_restores_height_state_and_cheats(rpc, chain):
    chain.do(value=1)
    rpc("anvil_setBalance", SOMEBODY, 7)
    number = rpc("evm_snapshot")
    rpc("anvil_setBalance", SOMEBODY, 8)
    chain.do(value=2)
    rpc("anvil_setBalance", SOMEBODY, 9)
    sent, block = chain.do(value=4)
    assert rpc("evm_revert", number) is True
    assert rpc("eth_blockNumber") == "0x1"
    assert rpc("eth_getBalance", SOMEBODY) == "0x7"
    assert rpc("eth_getBalance", SOMEBODY, "0x0") == "0x0"
    assert rpc("eth_getBalance", hexed(RECIPIENT)) == "0x1"
    assert rpc("eth_getBlockByHash", hexed(block.hash), False) is None
    assert rpc("eth_getBlockByNumber", "0x2", False) is None
    assert rpc("eth_getTransactionReceipt", hexed(sent.hash)) is None
    assert rpc("evm_revert", number) is False
    chain.nonce = 1
    chain.do(value=16)
    assert rpc("eth_getBalance", hexed(RECIPIENT)) == "0x11"
    assert rpc("eth_getBalance", SOMEBODY) == "0x7"


def test_revert_without_blocks_undoes_cheats(rpc, chain):
    chain.do()
    number = rpc("evm_snapshot")
    rpc("anvil_setBalance", SOMEBODY, 8)
    rpc("anvil_setStorageAt", SOMEBODY, 1, "0x" + "11" * 32)
    assert rpc("evm_revert", number) is True
    assert rpc("eth_getBalance", SOMEBODY) == "0x0"
    assert rpc("eth_getStorageAt", SOMEBODY, "0x1") == "0x" + "00" * 32
    chain.do()


def test_revert_removes_later_snapshots(rpc, chain):
    first = rpc("evm_snapshot")
    chain.do(value=1)
    second = rpc("evm_snapshot")
    chain.do(value=1)
    assert (first, second) == ("0x1", "0x2")
    assert rpc("evm_revert", first) is True
    assert rpc("evm_revert", second) is False
    assert rpc("evm_snapshot") == "0x3"


def test_revert_restores_pending_transactions(rpc, chain):
    waiting = chain.make(value=3)
    chain.send(waiting)
    number = rpc("evm_snapshot")
    chain.mine()
    assert rpc("eth_getTransactionReceipt", hexed(waiting.hash)) is not None
    rpc("evm_revert", number)
    assert rpc("txpool_status") == {"pending": "0x1", "queued": "0x0"}
    chain.mine()
    assert rpc("eth_getBalance", hexed(RECIPIENT)) == "0x3"


def test_revert_restores_pending_impersonated_transactions(rpc, chain):
    chain.do(to=Address(bytes.fromhex(SOMEBODY[2:])), value=10**18)
    rpc("anvil_impersonateAccount", SOMEBODY)
    waiting = rpc("eth_sendTransaction", {"from": SOMEBODY, "to": hexed(RECIPIENT), "value": "0x3"})
    number = rpc("evm_snapshot")
    chain.mine()
    rpc("evm_revert", number)
    assert rpc("eth_getTransactionByHash", waiting)["from"] == SOMEBODY
    chain.mine()
    receipt = rpc("eth_getTransactionReceipt", waiting)
    assert (receipt["from"], receipt["status"]) == (SOMEBODY, "0x1")
    assert rpc("eth_getBalance", hexed(RECIPIENT)) == "0x3"


def test_reset_and_rollback(rpc, chain):
    for value in (1, 2, 3):
        chain.do(value=value)
    assert rpc("anvil_rollback", 2) is None
    assert rpc("eth_getBalance", hexed(RECIPIENT)) == "0x1"
    rpc("anvil_setBalance", SOMEBODY, 8)
    before = rpc("anvil_metadata")["instanceId"]
    assert rpc("hardhat_reset") is True
    assert rpc("eth_blockNumber") == "0x0"
    assert rpc("eth_getBalance", SOMEBODY) == "0x0"
    assert rpc("anvil_metadata")["instanceId"] != before


def test_filters_continue_at_the_new_head(rpc, chain):
    chain.do()
    asked = rpc("eth_newBlockFilter")
    number = rpc("evm_snapshot")
    chain.do()
    assert len(rpc("eth_getFilterChanges", asked)) == 1
    rpc("evm_revert", number)
    chain.nonce = 1
    blocks = [chain.do()[1], chain.do()[1]]
    assert rpc("eth_getFilterChanges", asked) == [hexed(block.hash) for block in blocks]


def test_concurrent_reverts_to_a_snapshot_succeed_once(rpc, chain):
    number = rpc("evm_snapshot")
    chain.do(value=1)

    def somebody_else() -> None:
        chain.evm.before_rewinding.remove(somebody_else)
        assert rpc("evm_revert", number) is True
        chain.nonce = 0
        chain.do(value=2)

    chain.evm.before_rewinding.append(somebody_else)
    assert rpc("evm_revert", number) is False
    assert rpc("eth_blockNumber") == "0x1"
    assert rpc("eth_getBalance", hexed(RECIPIENT)) == "0x2"


FILTERS = {"eth_newBlockFilter": [], "eth_newPendingTransactionFilter": [], "eth_newFilter": [{}]}


@pytest.mark.parametrize("method", FILTERS)
def test_filter_created_during_a_revert_misses_nothing(rpc, chain, monkeypatch, method):
    deployment = bytecode.deploy_code(bytecode.LOGGER)
    chain.do(to=None, data=deployment, gas=500_000, value=0)
    number = rpc("evm_snapshot")
    chain.do(value=1)
    chain.do(value=2)
    read = blocks.head

    def read_before_it_goes_back(evm):
        monkeypatch.setattr(blocks, "head", read)
        head = read(evm)
        assert rpc("evm_revert", number) is True
        return head

    monkeypatch.setattr(blocks, "head", read_before_it_goes_back)
    asked = rpc(method, *FILTERS[method])
    chain.nonce = 1
    logger = bytecode.created(SENDER, 0)
    sent, block = chain.do(to=logger, data=b"\x2a", gas=100_000, value=0)

    found = rpc("eth_getFilterChanges", asked)
    told = {item["blockHash"] if method == "eth_newFilter" else item for item in found}
    assert told == {hexed(sent.hash if "Pending" in method else block.hash)}


@pytest.mark.parametrize("back", ["evm_revert", "anvil_reset", "evm_setTime"])
def test_revert_moves_time_back_despite_p_chain_blocks(rpc, chain, back, monkeypatch):
    """A jump of a year ends stakers in blocks that are final: the P-Chain's time does not go back before them."""
    year = 366 * 86_400
    rpc("evm_mine")
    snapshot = rpc("evm_snapshot")
    before = clock.wall()
    assert rpc("evm_increaseTime", year) == year
    rpc("evm_mine")
    least = clock.now()
    monkeypatch.setattr(chain.evm, "least_time", lambda: least)

    rpc(back, *{"evm_revert": [snapshot], "anvil_reset": [], "evm_setTime": [before]}[back])
    passed = clock.wall() - before  # seconds by which the time that was set may be behind
    if back == "evm_setTime":
        rpc("anvil_rollback", 1)
    rpc("evm_mine")
    block = rpc("eth_getBlockByNumber", "latest", False)
    assert before <= int(block["timestamp"], 16) <= clock.wall() + 1
    assert clock.now() >= least

    assert year - passed <= rpc("evm_increaseTime", year) <= year + 60
    rpc("evm_mine")
    later = rpc("eth_getBlockByNumber", "latest", False)
    passed = int(later["timestamp"], 16) - int(block["timestamp"], 16)
    assert year <= passed <= year + 60
    assert clock.now() >= least + year
