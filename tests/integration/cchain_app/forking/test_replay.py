"""A fork that starts by replaying a block's transactions of the remote chain, up to and including a given one."""

import pytest

from cchain_app import models
from cchain_app.api.wire import pool_transaction
from cchain_app.apps import evm_chain
from cchain_app.forking.errors import (
    BadUpstreamAnswer,
    ForkReason,
    ForkRefused,
    MalformedForkSetting,
    UpstreamAway,
    UpstreamError,
    UpstreamReason,
)
from cchain_app.services import forking as service
from cchain_app.services.genesis import load_genesis
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from cchain_app.txs.transaction import LEGACY
from chaindb import clock
from primitives.evm import Address
from tests.builders.node_settings import updated
from tests.builders.process import restart_node
from tests.builders.reasons import raises
from tests.builders.transactions import unsigned
from tests.integration.cchain_app.forking.conftest import COUNTER, PIN, RICH, ForkedChain
from tests.servers.upstream import GWEI, error, hash_of

pytestmark = pytest.mark.sqlite_only

KEY = b"\x77" * 32
CHAIN_ID = 777
HEIGHT = PIN + 1
TIME = 1_700_000_000 + HEIGHT
MINER = "0x" + "44" * 20
RANDAO = "0x" + "55" * 32


def sent(nonce, **fields):
    """Return a transaction of an account of the remote chain that increments the counter."""
    wanted = {
        "to": Address(bytes.fromhex(COUNTER[2:])), "data": b"\x01", "gas": 100_000, "value": 0,
        "chain_id": CHAIN_ID, "nonce": nonce, **fields,
    }  # fmt: skip
    return decode_transaction(sign_transaction(unsigned(**wanted), KEY), CHAIN_ID)


FIRST = sent(3, type=LEGACY, max_fee_per_gas=12 * GWEI)
SECOND = sent(4)
THIRD = sent(5)
OWNER = "0x" + FIRST.sender.hex()


def text(transaction):
    return "0x" + transaction.hash.hex()


@pytest.fixture
def block(with_fork, remote, settings):
    """The block after the fork block; the settings name the second of its three transactions."""
    remote.chain.accounts[OWNER] = (10**18, 3, "0x")
    remote.chain.changed[HEIGHT] = {
        "miner": MINER, "mixHash": RANDAO, "baseFeePerGas": hex(9 * GWEI), "gasLimit": hex(29_990_000),
    }  # fmt: skip
    remote.chain.transactions[HEIGHT] = [
        pool_transaction(value) for value in (FIRST, SECOND, THIRD)
    ]
    settings.NODE = updated(
        settings.NODE, fork_url=(remote.url,), fork_transaction_hash=text(SECOND)
    )
    return remote.chain


@pytest.fixture
def replayed(block, remote):
    """A newly started fork with the first two transactions."""
    load_genesis(evm_chain())
    return ForkedChain(remote)


def refused(settings, reason, words, *, kind=UpstreamError, **changes):
    """Assert that no fork is created."""
    settings.NODE = updated(settings.NODE, **changes)
    with raises(reason, kind=kind, match=words):
        load_genesis(evm_chain())
    for model in (models.Chain, models.Block, models.Transaction, models.Account):
        assert not model.objects.exists()


def counter(rpc):
    return int(rpc("eth_call", {"to": COUNTER}, "latest"), 16)


def test_the_block_is_replayed_up_to_and_with_the_transaction(rpc, replayed):
    assert rpc("eth_blockNumber") == hex(HEIGHT)
    found = rpc("eth_getBlockByNumber", "latest", False)
    assert found["transactions"] == [text(FIRST), text(SECOND)]
    assert found["parentHash"] == hash_of(PIN)
    assert found["timestamp"] == hex(TIME)
    assert found["baseFeePerGas"] == hex(9 * GWEI)
    assert found["gasLimit"] == hex(29_990_000)
    assert (found["miner"], found["mixHash"]) == (MINER, RANDAO)
    assert counter(rpc) == 9
    assert rpc("eth_getTransactionCount", OWNER, "latest") == hex(5)
    receipts = [rpc("eth_getTransactionReceipt", text(value)) for value in (FIRST, SECOND)]
    assert [receipt["status"] for receipt in receipts] == ["0x1", "0x1"]
    assert [other["effectiveGasPrice"] for other in receipts] == [hex(12 * GWEI), hex(10 * GWEI)]
    assert {item["blockHash"] for item in receipts} == {found["hash"]}
    tips = sum(
        int(one["gasUsed"], 16) * price
        for one, price in zip(receipts, (3 * GWEI, GWEI), strict=True)
    )
    assert int(rpc("eth_getBalance", MINER, "latest"), 16) == tips


def test_the_pin_is_the_block_before(rpc, replayed, remote):
    row = models.Chain.objects.get()
    assert (row.fork_number, row.fork_transaction) == (PIN, SECOND.hash)
    assert rpc("anvil_nodeInfo")["forkConfig"]["forkBlockNumber"] == PIN
    assert rpc("eth_call", {"to": COUNTER}, hex(PIN)) == f"0x{7:064x}"
    assert rpc("eth_getTransactionByHash", text(THIRD)) is None
    remote.asked.clear()
    trace = rpc("debug_traceTransaction", text(SECOND))
    assert trace["failed"] is False
    assert remote.asked == []


def test_the_chain_continues_from_there(rpc, replayed):
    assert abs(clock.now() - TIME) < 60
    block = replayed.mine(THIRD, replayed.make(to=Address(bytes.fromhex(RICH[2:]))))
    assert block.number == HEIGHT + 1
    assert len(block.transactions) == 2
    assert block.header.timestamp > TIME
    assert block.header.coinbase == evm_chain().config.coinbase
    assert counter(rpc) == 10


def test_replay_sends_few_requests(replayed, remote):
    counts = remote.counts
    assert counts["eth_getTransactionByHash"] == 1
    assert counts["eth_getBlockByNumber"] == 2
    assert counts["eth_blockNumber"] == 0
    assert ("eth_getBlockByNumber", [hex(HEIGHT), True]) in remote.asked


def test_second_start_sends_no_remote_request(rpc, replayed, remote):
    replayed.asks_nothing()
    assert replayed.restart().number == PIN
    assert remote.asked == []
    assert rpc("eth_blockNumber") == hex(HEIGHT)
    assert counter(rpc) == 9


def test_changed_replay_settings_are_refused(replayed, settings):
    stored = f"fork with transaction {text(SECOND)}, but the settings give"
    before = settings.NODE
    for changes, words in (
        ({"fork_transaction_hash": text(FIRST)}, f"{stored} {text(FIRST)}"),
        ({"fork_transaction_hash": "", "fork_block_number": str(PIN)}, f"{stored} none"),
        ({"fork_transaction_hash": "", "fork_block_number": "14"}, "with block 15, but the"),
    ):
        settings.NODE = updated(before, **changes)
        with raises(ForkReason.OTHER_FORK, kind=ForkRefused, match=words):
            load_genesis(evm_chain())
    settings.NODE = updated(before, fork_transaction_hash="")
    assert load_genesis(evm_chain()).number == PIN


def test_existing_fork_without_replay_gets_none(forked, settings):
    settings.NODE = updated(settings.NODE, fork_url=(), fork_transaction_hash=text(SECOND))
    with raises(
        ForkReason.OTHER_FORK,
        kind=ForkRefused,
        match=f"transaction none, but the settings give {text(SECOND)}",
    ):
        load_genesis(evm_chain())


@pytest.mark.parametrize("options", [(), ({},), ({"forking": {}},)])
def test_reset_returns_to_the_replayed_block(rpc, replayed, remote, options):
    head = rpc("eth_getBlockByNumber", "latest", True)
    rpc("anvil_setBalance", RICH, "0x1")
    replayed.mine(THIRD)
    replayed.asks_nothing()
    assert rpc("anvil_reset", *options) is None
    assert remote.asked == []
    assert rpc("eth_getBlockByNumber", "latest", True) == head
    assert counter(rpc) == 9
    assert int(rpc("eth_getBalance", RICH, "latest"), 16) == 10**20
    funded = "0x" + replayed.make().sender.hex()
    assert int(rpc("eth_getBalance", funded, "latest"), 16) > 10**20
    assert abs(clock.now() - TIME) < 60
    assert replayed.mine(THIRD).number == HEIGHT + 1


def test_reset_to_the_pin_drops_the_replay(rpc, replayed, settings):
    assert rpc("anvil_reset", {"forking": {"blockNumber": PIN}}) is None
    assert rpc("eth_blockNumber") == hex(PIN)
    assert counter(rpc) == 7
    assert models.Chain.objects.get().fork_transaction is None
    with raises(
        ForkReason.OTHER_FORK,
        kind=ForkRefused,
        match="with transaction none, but the settings give",
    ):
        replayed.restart()


def test_rollback_below_the_replay_is_refused(rpc, replayed):
    with pytest.raises(Exception, match="Rollback depth must not exceed"):
        rpc("anvil_rollback", 1)
    replayed.mine(THIRD)
    assert rpc("anvil_rollback", 1) is None
    assert rpc("eth_blockNumber") == hex(HEIGHT)


def test_admin_shows_the_replayed_transaction(replayed, admin_client):
    page = admin_client.get("/admin/").content.decode()
    assert f"from block 15 on, with the next up to {text(SECOND)}; state roots cover" in page


def test_a_transaction_that_is_not_known_is_refused(block, settings):
    unknown = "0x" + "99" * 32
    words = f"http://127.0.0.1:[0-9]+ does not have transaction {unknown}"
    refused(settings, UpstreamReason.NO_SUCH_TRANSACTION, words, fork_transaction_hash=unknown)


def test_pending_fork_transaction_is_refused(block, settings):
    waiting = sent(9)
    block.transactions[None] = [pool_transaction(waiting)]
    words = f"has not included transaction {text(waiting)} in a block yet"
    refused(
        settings, UpstreamReason.TRANSACTION_PENDING, words, fork_transaction_hash=text(waiting)
    )


def test_fork_transaction_of_block_0_is_refused(block, settings):
    block.transactions[0] = [pool_transaction(FIRST)]
    del block.transactions[HEIGHT]
    words = "is in block 0, which has no parent from which a fork could start"
    refused(settings, UpstreamReason.IN_FIRST_BLOCK, words, fork_transaction_hash=text(FIRST))


@pytest.mark.parametrize("changes", [{"fork_block_number": "15"}, {"fork_url": ("http://a@15",)}])
def test_a_block_and_a_transaction_are_refused(block, remote, settings, changes):
    kind = MalformedForkSetting
    words = "remove either setting"
    refused(settings, ForkReason.BLOCK_AND_TRANSACTION, words, kind=kind, **changes)
    assert remote.asked == []


def test_malformed_transaction_hash_is_refused(block, settings):
    words = "0x and 64 hexadecimal digits"
    refused(
        settings,
        ForkReason.TRANSACTION_HASH,
        words,
        kind=MalformedForkSetting,
        fork_transaction_hash="0x12",
    )


def test_a_type_that_is_not_executed_is_refused(block, settings):
    block.transactions[HEIGHT][0]["type"] = "0x7e"
    words = f"{text(FIRST)} of block {HEIGHT} .* transactions of type 0x7e are not executed here"
    refused(settings, ForkReason.CANNOT_REPLAY, words, kind=ForkRefused)


def test_another_chain_id_is_refused(block, settings):
    words = "invalid chain id for signer: have 777 want 5"
    refused(settings, ForkReason.CANNOT_REPLAY, words, kind=ForkRefused, fork_chain_id=5)


def test_fork_transaction_that_violates_local_rules_is_refused(block, remote, settings):
    block.accounts[OWNER] = (10**18, 4, "0x")  # the first transaction has nonce 3
    words = f"{text(FIRST)} of block {HEIGHT} cannot be executed here, so the fork cannot start"
    refused(settings, ForkReason.CANNOT_REPLAY, words, kind=ForkRefused)
    block.accounts[OWNER] = (10**18, 3, "0x")
    restart_node()
    assert load_genesis(evm_chain()).number == PIN
    assert models.Block.objects.count() == 2


def test_blocks_that_do_not_follow_each_other_are_refused(block, settings):
    block.changed[HEIGHT]["parentHash"] = hash_of(3)
    words = f"returned two different blocks {PIN}"
    refused(settings, UpstreamReason.DIFFERENT_BLOCKS, words, kind=BadUpstreamAnswer)


@pytest.mark.parametrize("answer", [5, {"blockNumber": "x"}, {"blockNumber": "0x63"}])
def test_an_answer_that_cannot_be_read_is_refused(block, remote, settings, answer):
    told = {"jsonrpc": "2.0", "id": 1, "result": answer}
    remote.fails = lambda method: (200, {}, told) if method.endswith("TransactionByHash") else None
    words = "does not have the requested form"
    refused(settings, UpstreamReason.OTHER_FORM, words, kind=BadUpstreamAnswer)


def test_missing_upstream_state_ends_the_start(block, remote, settings):
    gone = error(-32000, "missing trie node")
    remote.fails = lambda method: (200, {}, gone) if method == "eth_getStorageAt" else None
    refused(settings, UpstreamReason.ARCHIVE_NEEDED, "needs an archive node")


def test_a_replay_that_was_interrupted_restarts(rpc, block, remote, settings, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(service, "replay", lambda *_: None)  # the process ends before the replay
        load_genesis(evm_chain())
    assert models.Block.objects.count() == 1
    restart_node()
    wanted = settings.NODE
    settings.NODE = updated(wanted, fork_url=())
    with pytest.raises(UpstreamAway, match="NODE_FORK_URL is not set, so it cannot be fetched"):
        load_genesis(evm_chain())
    assert models.Block.objects.count() == 1
    restart_node()
    settings.NODE = wanted
    assert load_genesis(evm_chain()).number == PIN
    assert rpc("eth_blockNumber") == hex(HEIGHT)
    assert counter(rpc) == 9
