"""State of a fork: fetched once, stored as rows, changed by local blocks, and available without the remote node."""

import json

import pytest

from cchain_app import models
from cchain_app.apps import evm_chain
from cchain_app.forking.errors import MissingState, UpstreamAway
from cchain_app.selectors import state
from cchain_app.services import cheats
from cchain_app.services.genesis import load_genesis
from primitives.evm import Address
from tests.builders.node_settings import updated
from tests.builders.transactions import SENDER
from tests.integration.cchain_app.forking.conftest import COUNTER, PIN, RICH
from tests.servers.upstream import GWEI, error, hash_of

pytestmark = pytest.mark.sqlite_only

NOBODY = "0x" + "99" * 20
STATE = ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")


def address(text):
    return Address(bytes.fromhex(text[2:]))


def counter(rpc, block="latest"):
    return int(rpc("eth_call", {"to": COUNTER}, block), 16)


def noting(function, calls):
    """Return a wrapper of the function that records its calls."""

    def noted(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return noted


def count(forked):
    return forked.make(to=address(COUNTER), data=b"\x01", gas=100_000, value=0)


def test_the_chain_continues_from_the_pin(rpc, forked):
    assert rpc("eth_chainId") == hex(777)
    assert rpc("eth_blockNumber") == hex(PIN)
    block = forked.mine()
    assert block.number == PIN + 1
    assert "0x" + block.header.parent_hash.hex() == hash_of(PIN)
    # The gas used by the fork block is at its target, so the base fee stays; no minimum applies.
    assert block.header.base_fee == 8 * GWEI
    assert block.header.gas_limit == 30_000_000
    assert block.header.timestamp > 1_700_000_000 + PIN


def test_dump_of_many_accounts_reads_the_remote_state_once(rpc, forked, remote, monkeypatch):
    many = [f"0x{number + 10**9:040x}" for number in range(80)]
    remote.chain.accounts[many[0]] = (10**20, 5, "0x")
    dump = {"accounts": {item: {"nonce": 6, "balance": "0x1"} for item in many}}
    begun = []
    monkeypatch.setattr(cheats, "exclusively", noting(cheats.exclusively, begun))
    forked.asks_nothing()

    assert rpc("anvil_loadState", "0x" + json.dumps(dump).encode().hex()) is True

    assert len(begun) == 2
    assert remote.counts["eth_getBalance"] == 80
    assert rpc("eth_getTransactionCount", many[0]) == "0x6"
    assert rpc("eth_getBalance", many[79]) == "0x1"


def test_the_base_fee_has_no_floor_but_eip_1559(rpc, with_fork, remote):
    remote.chain.base_fee = 50_000_000
    load_genesis(evm_chain())
    assert int(rpc("eth_gasPrice"), 16) <= 50_000_001
    rpc("evm_mine")
    rpc("evm_mine")
    assert int(rpc("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16) == 43_750_000


def test_funded_accounts_get_their_balance_on_top_of_upstreams_nonce(rpc, with_fork, remote):
    owner = "0x" + SENDER.hex()
    remote.chain.accounts[owner] = (5, 9, "0x")
    load_genesis(evm_chain())
    alloc = evm_chain().own_genesis.alloc[SENDER]
    assert int(rpc("eth_getBalance", owner, "latest"), 16) == alloc.balance
    assert rpc("eth_getTransactionCount", owner, "latest") == "0x9"
    change = models.DevelopmentChange.objects.get(address=SENDER)
    assert (change.number, int.from_bytes(change.old, "big")) == (PIN + 1, 5)


def test_account_is_requested_once(rpc, forked, remote):
    forked.asks_nothing()
    for _ in range(2):
        assert int(rpc("eth_getBalance", RICH, "latest"), 16) == 10**20
        assert rpc("eth_getTransactionCount", RICH, "latest") == "0x5"
    assert remote.counts == dict.fromkeys(STATE, 1)
    assert {tuple(params) for _, params in remote.asked} == {(RICH, hex(PIN))}
    row = models.ForkedAccount.objects.get(address=address(RICH))
    assert (int(row.balance), row.nonce) == (10**20, 5)
    assert models.Account.objects.get(address=address(RICH)).nonce == 5


def test_missing_account_is_fetched_once(rpc, forked, remote):
    forked.asks_nothing()
    for _ in range(2):
        forked.restart()
        assert rpc("eth_getBalance", NOBODY, "latest") == "0x0"
        assert rpc("eth_getStorageAt", NOBODY, "0x0", "latest") == "0x" + "00" * 32
    assert {name: remote.counts[name] for name in STATE} == dict.fromkeys(STATE, 1)
    assert models.ForkedAccount.objects.get(address=address(NOBODY)).balance is None
    assert not models.Account.objects.filter(address=address(NOBODY)).exists()


def test_slot_is_requested_once_even_if_zero(rpc, forked, remote):
    assert counter(rpc) == 7
    forked.asks_nothing()
    for slot in ("0x0", "0x5", "0x5"):
        rpc("eth_getStorageAt", COUNTER, slot, "latest")
    assert remote.asked == [("eth_getStorageAt", [COUNTER, "0x5", hex(PIN)])]
    assert models.ForkedSlot.objects.filter(key__gte=address(COUNTER)).count() == 2
    assert models.StorageSlot.objects.filter(key__gte=address(COUNTER)).count() == 1


def test_local_writes_shadow_the_fork_block(rpc, forked):
    forked.mine(count(forked))
    forked.mine(count(forked))
    assert [counter(rpc, hex(PIN + index)) for index in range(3)] == [7, 8, 9]
    rpc("anvil_setStorageAt", COUNTER, "0x0", "0x" + "00" * 32)
    assert counter(rpc) == 0
    forked.restart()
    assert counter(rpc) == 0
    assert models.ForkedSlot.objects.get(key__gte=address(COUNTER)).value[-1] == 7


def test_locally_deleted_account_is_not_fetched_again(rpc, forked, remote):
    rpc("anvil_setBalance", RICH, "0x0")
    rpc("anvil_setNonce", RICH, "0x0")
    assert not models.Account.objects.filter(address=address(RICH)).exists()
    forked.mine()
    forked.asks_nothing()
    forked.restart()
    assert rpc("eth_getBalance", RICH, "latest") == "0x0"
    assert remote.asked == []


def test_without_the_remote_node_the_chain_continues(rpc, forked, remote):
    sent = count(forked)
    forked.mine(sent)
    remote.stop()
    first = forked.restart()
    assert first.number == PIN
    assert counter(rpc) == 8
    forked.nonce = 1
    forked.mine(count(forked))
    assert counter(rpc) == 9
    assert (
        rpc("debug_traceTransaction", "0x" + sent.hash.hex(), {"tracer": "callTracer"})["type"]
        == "CALL"
    )
    assert rpc("eth_getBlockByNumber", hex(PIN), False) == remote.chain.block(PIN)


def test_unfetched_state_fails_while_upstream_is_absent(rpc, forked, remote):
    remote.stop()
    with pytest.raises(Exception, match="does not answer") as failure:
        rpc("eth_getBalance", RICH, "latest")
    assert failure.value.code == -32603
    assert "s3cr3t" not in failure.value.message
    assert not models.ForkedAccount.objects.filter(address=address(RICH)).exists()


def test_nothing_is_kept_of_an_account_that_was_reported_in_part(rpc, forked, remote):
    remote.fails = lambda method: (
        (200, {}, error(-32000, "no code today")) if method == "eth_getCode" else None
    )
    with pytest.raises(Exception, match=r"^.*no code today") as failure:
        rpc("eth_getBalance", RICH, "latest")
    assert failure.value.code == -32603
    assert not models.ForkedAccount.objects.filter(address=address(RICH)).exists()
    remote.fails = lambda _: None
    assert int(rpc("eth_getBalance", RICH, "latest"), 16) == 10**20


def test_pruned_upstream_state_is_reported_with_advice(rpc, forked, remote):
    remote.fails = lambda _: (
        200,
        {},
        error(-32000, "missing trie node 12 (path ) state is not available"),
    )
    with pytest.raises(Exception, match="needs an archive node"):
        rpc("eth_getBalance", RICH, "latest")


def test_block_with_unavailable_state_is_not_built(rpc, forked, remote):
    counting = count(forked)
    rpc("eth_sendRawTransaction", "0x" + counting.raw.hex())
    remote.fails = lambda method: (503, {}, b"") if method == "eth_getStorageAt" else None
    with pytest.raises(Exception, match="HTTP status 503"):
        rpc("evm_mine")
    assert rpc("eth_blockNumber") == hex(PIN)
    assert rpc("txpool_status")["pending"] == "0x1"
    remote.fails = lambda _: None
    rpc("evm_mine")
    assert counter(rpc) == 8


def test_unfetched_state_without_url_is_refused(rpc, forked, settings):
    settings.NODE = updated(settings.NODE, fork_url=())
    forked.restart()
    assert rpc("eth_blockNumber") == hex(PIN)
    with pytest.raises(Exception, match="NODE_FORK_URL is not set, so it cannot be fetched"):
        rpc("eth_getBalance", RICH, "latest")


def test_no_upstream_request_inside_a_database_transaction(forked, remote):
    """Cheats fetch the state before the transaction begins; here it was not fetched."""
    chain = forked.evm
    forked.asks_nothing()
    with chain.db.atomic(), pytest.raises(MissingState):
        state.state_at(chain, PIN).account(address(RICH))
    assert remote.asked == []


def test_blockhash_reads_before_the_pin_and_is_kept(rpc, forked, remote):
    # PUSH1 3 BLOCKHASH PUSH0 MSTORE PUSH1 32 PUSH0 RETURN
    code = "0x6003405f5260205ff3"
    rpc("anvil_setCode", NOBODY, code)
    forked.mine()
    forked.asks_nothing()
    for _ in range(2):
        assert rpc("eth_call", {"to": NOBODY}, "latest") == hash_of(3)
    assert remote.counts["eth_getBlockByNumber"] == 1
    remote.stop()
    forked.restart()
    assert rpc("eth_call", {"to": NOBODY}, "latest") == hash_of(3)


def test_ring_buffer_slots_do_not_need_upstream(rpc, with_fork, remote):
    """EIP-2935's contract exists on the remote chain: each block overwrites another of its slots."""
    ring = "0x0000f90827f1c53a10cb7a02335b175320002935"
    # A short form of its system call: SSTORE(NUMBER, CALLDATALOAD(0)).
    remote.chain.accounts[ring] = (0, 1, "0x5f354355")
    remote.chain.slots[ring, PIN + 1] = 5
    load_genesis(evm_chain())
    rpc("evm_mine")
    assert rpc("eth_getStorageAt", ring, hex(PIN + 1), "latest") == hash_of(PIN)
    assert rpc("eth_getStorageAt", ring, hex(PIN + 1), hex(PIN)) == f"0x{5:064x}"
    remote.stop()
    rpc("evm_mine")
    block = rpc("eth_getBlockByNumber", hex(PIN + 1), False)
    assert rpc("eth_getStorageAt", ring, hex(PIN + 2), "latest") == block["hash"]


def test_an_error_has_its_own_class(forked, remote):
    remote.stop()
    with pytest.raises(UpstreamAway):
        state.state_at(forked.evm, PIN).account(address(RICH))


@pytest.mark.parametrize("own_blocks", [0, 1])
def test_the_pending_block_is_the_forks_own(forked, rpc, own_blocks):
    for _ in range(own_blocks):
        forked.mine()
    made = forked.make(to=address(RICH), value=7)
    rpc("eth_sendRawTransaction", "0x" + made.raw.hex())

    block = rpc("eth_getBlockByNumber", "pending", False)

    assert int(block["number"], 16) == PIN + own_blocks + 1
    assert block["transactions"] == ["0x" + made.hash.hex()]
    assert rpc("eth_getBalance", RICH, "pending") == hex(10**20 + 7)
    assert rpc("eth_getBlockTransactionCountByNumber", "pending") == "0x1"
    simulated = rpc("eth_simulateV1", {"blockStateCalls": [{}]}, "pending")
    assert int(simulated[0]["number"], 16) == PIN + own_blocks + 2


def test_on_a_fork_a_transaction_is_mined_before_its_hash_is_returned(forked, rpc):
    forked.runtime.mine_on_arrival()
    rpc("evm_setAutomine", True)

    sent = rpc("eth_sendRawTransaction", "0x" + count(forked).raw.hex())

    assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
    assert counter(rpc) == 8
