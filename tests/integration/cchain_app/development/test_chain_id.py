"""anvil_setChainId: a chain that has only its genesis block uses another chain ID from then on."""

import asyncio
import json
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from cchain_app.api.eth.head_listener import HeadListener
from cchain_app.apps import evm_chain
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.services import transactions
from cchain_app.services.cheats import set_chain_id
from cchain_app.services.genesis import (
    StoredGenesisReason,
    WrongChainInDatabase,
    genesis_text,
    load_genesis,
)
from cchain_app.services.runtime import EvmRuntime
from cchain_app.store import chain as stored
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from cchain_app.txs.transaction import (
    ACCESS_LIST,
    DYNAMIC_FEE,
    LEGACY,
    SET_CODE,
    Transaction,
    TransactionReason,
)
from chaindb.connections import in_thread
from chainvm.port import BlockContext, HeadMoved
from jsonrpc.errors import JsonRpcError
from network_app.selectors import progress
from nodeproject.apps import this_node
from nodeproject.startup.identity import make_identity
from platform_app.apps import platform_chain
from platform_app.services.genesis import load_genesis as load_platform
from platform_app.store.state import DatabaseState
from primitives.evm import Address
from tests.builders.cchain import SENDERS, authorization
from tests.builders.evm_chains import another_process, produce
from tests.builders.node_settings import updated
from tests.builders.process import restart_node
from tests.builders.reasons import raises
from tests.builders.transactions import CHAIN_ID, KEY, RECIPIENT, unsigned
from tests.integration.conftest import Chain, Rpc
from tests.integration.patience import SECONDS

pytestmark = pytest.mark.sqlite_only

NEW = 31_337
HIGHEST = 2**63 - 1
OWN = f"0x{SENDERS[0].hex()}"
"""The first account that the node signs for."""
TELLER = "0x" + "5a" * 20
TELLS_CHAIN_ID = "0x465f52465f5560205ff3"
"""Code that stores CHAINID in slot 0 and returns it."""


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def made(chain: Chain, chain_id: int | None, **fields: Any) -> Transaction:
    """Return the next transaction of the well-known key's account, signed for a chain."""
    wanted = unsigned(nonce=chain.nonce, chain_id=chain_id, **fields)
    chain.nonce += 1
    return decode_transaction(sign_transaction(wanted, KEY), chain_id or 0)


def refused(rpc: Rpc, method: str, *params: Any) -> tuple[int, str]:
    with pytest.raises(JsonRpcError) as refusal:
        rpc(method, *params)
    return refusal.value.code, refusal.value.message


def shown_ids(rpc: Rpc) -> set[int]:
    """Return all chain IDs that clients can read."""
    return {
        int(rpc("eth_chainId"), 16),
        int(rpc("net_version")),
        int(rpc("eth_config")["current"]["chainId"], 16),
        rpc("eth_getChainConfig")["chainId"],
        rpc("anvil_nodeInfo")["environment"]["chainId"],
        rpc("anvil_metadata")["chainId"],
        int(rpc("eth_call", {"to": TELLER}, "latest", {TELLER: {"code": TELLS_CHAIN_ID}}), 16),
    }


@pytest.mark.parametrize("given", [NEW, hex(NEW), str(NEW)])
def test_changed_chain_id_is_shown_and_block_0_is_unchanged(
    rpc: Rpc, chain: Chain, given: object
) -> None:
    before = rpc("eth_getBlockByNumber", "0x0", True)
    assert shown_ids(rpc) == {CHAIN_ID}

    assert rpc("anvil_setChainId", given) is None

    assert shown_ids(rpc) == {NEW}
    assert rpc("eth_getBlockByNumber", "0x0", True) == before
    assert rpc("net_version") == "31337"


@pytest.mark.parametrize(
    "fields",
    [
        {"type": LEGACY},
        {"type": ACCESS_LIST},
        {"type": DYNAMIC_FEE},
        {"type": SET_CODE, "authorizations": (authorization(1, RECIPIENT, 0, NEW),), "gas": 90_000},
    ],
    ids=["legacy", "access list", "dynamic fee", "set code"],
)
def test_transactions_are_signed_for_it(rpc: Rpc, chain: Chain, fields: dict[str, Any]) -> None:
    old = made(chain, CHAIN_ID, **fields)
    rpc("anvil_setChainId", NEW)

    assert refused(rpc, "eth_sendRawTransaction", hexed(old.raw)) == (
        -32000,
        f"invalid sender: invalid chain id for signer: have {CHAIN_ID} want {NEW}",
    )
    chain.nonce = 0
    sent = rpc("eth_sendRawTransaction", hexed(made(chain, NEW, **fields).raw))
    chain.mine()

    assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
    assert rpc("eth_getTransactionByHash", sent)["chainId"] == hex(NEW)
    if fields["type"] == SET_CODE:
        delegated = rpc("eth_getCode", hexed(SENDERS[1]))
        assert delegated == "0xef0100" + RECIPIENT.hex()


def test_the_opcode_reads_it_in_blocks(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setCode", TELLER, TELLS_CHAIN_ID)
    rpc("anvil_setChainId", NEW)
    to = Address(bytes.fromhex(TELLER[2:]))
    sent = made(chain, NEW, to=to, gas=90_000, value=0)
    rpc("eth_sendRawTransaction", hexed(sent.raw))
    chain.mine()

    assert int(rpc("eth_getStorageAt", TELLER, "0x0"), 16) == NEW
    traced = rpc("debug_traceTransaction", hexed(sent.hash), {"tracer": "callTracer"})
    assert int(traced["output"], 16) == NEW


def test_the_nodes_own_accounts_sign_for_it(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setChainId", NEW)
    wanted = {"from": OWN, "to": hexed(RECIPIENT), "value": "0x1"}

    for price in ({}, {"gasPrice": hex(50 * 10**9)}):
        raw = rpc("eth_signTransaction", {**wanted, **price})
        signed = decode_transaction(bytes.fromhex(raw[2:]), NEW)
        assert (signed.chain_id, hexed(signed.sender)) == (NEW, OWN)
        assert Account.recover_transaction(raw).lower() == OWN
    sent = rpc("eth_sendTransaction", wanted)
    chain.mine()
    found = rpc("eth_getTransactionByHash", sent)
    assert (found["chainId"], found["blockNumber"]) == (hex(NEW), "0x1")
    assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
    assert refused(rpc, "eth_sendTransaction", {**wanted, "chainId": hex(CHAIN_ID)}) == (
        -32000,
        f"chainId does not match node's (have={CHAIN_ID}, want={NEW})",
    )


def test_typed_data_is_signed_for_its_domains_chain(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setChainId", NEW)
    data = {
        "types": {
            "EIP712Domain": [{"name": "chainId", "type": "uint256"}],
            "Note": [{"name": "text", "type": "string"}],
        },
        "primaryType": "Note",
        "domain": {"chainId": int(rpc("eth_chainId"), 16)},
        "message": {"text": "hello"},
    }

    signature = rpc("eth_signTypedData_v4", OWN, data)

    message = encode_typed_data(full_message=data)
    assert Account.recover_message(message, signature=signature).lower() == OWN


def test_impersonated_account_uses_the_changed_chain_id(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setChainId", NEW)
    rpc("anvil_setBalance", TELLER, hex(10**18))
    rpc("anvil_impersonateAccount", TELLER)
    sent = rpc("eth_sendTransaction", {"from": TELLER, "to": hexed(RECIPIENT), "value": "0x3"})
    chain.mine()

    assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
    assert rpc("eth_getTransactionByHash", sent)["chainId"] == hex(NEW)


def test_highest_chain_id_is_used(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setChainId", HIGHEST)
    for type_ in (LEGACY, DYNAMIC_FEE):
        sent = rpc("eth_sendRawTransaction", hexed(made(chain, HIGHEST, type=type_).raw))
        chain.mine()
        assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
    assert shown_ids(rpc) == {HIGHEST}


def test_chain_accepts_transactions_without_chain_id(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setChainId", NEW)
    unprotected = made(chain, None, type=LEGACY)
    (taken,) = transactions.submit(chain.runtime, [unprotected.raw], gossiped=True)
    chain.mine()

    assert rpc("eth_getTransactionReceipt", hexed(taken))["status"] == "0x1"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (0, "0 is not a chain ID"),
        ("0x0", "0 is not a chain ID"),
        (2**63, "9223372036854775808 is not a number of at most 63 bits"),
        (2**64, "18446744073709551616 is not a number of at most 63 bits"),
        (-1, "-1 is not a number of at most 63 bits"),
        ("one", "'one' is not a number"),
        (True, "a number was expected, not bool"),
    ],
)
def test_an_invalid_chain_id_is_refused(rpc: Rpc, chain: Chain, given: object, words: str) -> None:
    code, message = refused(rpc, "anvil_setChainId", given)
    assert code == -32602
    assert words in message
    assert shown_ids(rpc) == {CHAIN_ID}


def test_a_chain_with_blocks_keeps_its_own(rpc: Rpc, chain: Chain) -> None:
    chain.mine()

    assert refused(rpc, "anvil_setChainId", NEW) == (
        -32000,
        "the chain ID can only be changed before the first block; the head is block 1",
    )
    assert rpc("anvil_setChainId", CHAIN_ID) is None
    assert shown_ids(rpc) == {CHAIN_ID}


def test_a_chain_for_which_transactions_wait_keeps_its_own(rpc: Rpc, chain: Chain) -> None:
    chain.send(chain.make(), chain.make())

    assert refused(rpc, "anvil_setChainId", NEW) == (
        -32000,
        "the chain ID can only be changed while the pool is empty; it has 2 transactions: "
        "anvil_dropAllTransactions drops them",
    )
    rpc("anvil_dropAllTransactions")
    assert rpc("anvil_setChainId", NEW) is None
    assert shown_ids(rpc) == {NEW}


def test_chain_id_of_a_chain_with_peers_cannot_be_changed(
    rpc: Rpc, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain.evm, "has_peers", lambda: True)

    assert refused(rpc, "anvil_setChainId", NEW) == (
        -32000,
        "development methods need a chain of this node alone",
    )
    assert rpc("eth_chainId") == hex(CHAIN_ID)


def restart(**changes: Any) -> EvmChain:
    """Simulate a newly started process, with some changed settings."""
    restart_node(updated(this_node().settings, **changes))
    load_genesis(evm_chain())
    return evm_chain()


def test_changed_chain_id_survives_a_restart(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setChainId", NEW)
    rpc("eth_sendRawTransaction", hexed(made(chain, NEW).raw))
    chain.mine()

    assert restart().config.chain_id == NEW
    assert shown_ids(rpc) == {NEW}
    sent = rpc("eth_sendRawTransaction", hexed(made(chain, NEW).raw))
    chain.mine()
    assert rpc("eth_getTransactionReceipt", sent)["blockNumber"] == "0x2"
    assert restart(development=False).config.chain_id == NEW


def test_start_accepts_the_first_or_current_chain_id_only(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setChainId", 7)
    rpc("anvil_setChainId", NEW)

    for named in (CHAIN_ID, NEW):
        assert restart(chain_id=named).config.chain_id == NEW
    with raises(
        StoredGenesisReason.OTHER_CHAIN_ID,
        kind=WrongChainInDatabase,
        match="has chain ID 31337, but the settings give 7",
    ):
        restart(chain_id=7)


def test_snapshot_restores_chain_id_and_pending_transactions(rpc: Rpc, chain: Chain) -> None:
    waiting = chain.make(value=3)
    chain.send(waiting)
    first = rpc("evm_snapshot")
    rpc("anvil_dropAllTransactions")
    rpc("anvil_setChainId", NEW)
    second = rpc("evm_snapshot")
    chain.nonce = 0
    rpc("eth_sendRawTransaction", hexed(made(chain, NEW).raw))
    chain.mine()

    assert rpc("evm_revert", second) is True
    assert shown_ids(rpc) == {NEW}
    assert rpc("evm_revert", first) is True
    assert shown_ids(rpc) == {CHAIN_ID}
    chain.mine()
    assert rpc("eth_getTransactionReceipt", hexed(waiting.hash))["status"] == "0x1"
    assert restart().config.chain_id == CHAIN_ID


def test_a_snapshot_of_an_older_version_changes_none(rpc: Rpc, chain: Chain) -> None:
    number = rpc("evm_snapshot")
    chain.evm.db.execute("UPDATE cchain_app_snapshot SET chain_id = NULL")
    rpc("anvil_setChainId", NEW)

    assert rpc("evm_revert", number) is True
    assert shown_ids(rpc) == {NEW}


def test_reset_restores_the_first_chain_id(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setChainId", 7)
    rpc("anvil_setChainId", NEW)
    rpc("eth_sendRawTransaction", hexed(made(chain, NEW).raw))
    chain.mine()

    rpc("anvil_reset")

    assert shown_ids(rpc) == {CHAIN_ID}
    chain.nonce = 0
    chain.do()
    assert restart().config.chain_id == CHAIN_ID
    with raises(
        StoredGenesisReason.OTHER_CHAIN_ID,
        kind=WrongChainInDatabase,
        match="has chain ID 43112, but the settings give 31337",
    ):
        restart(chain_id=NEW)


def test_rollback_keeps_the_changed_chain_id(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setChainId", NEW)
    chain.mine()
    rpc("anvil_rollback", 1)
    assert shown_ids(rpc) == {NEW}

    rpc("anvil_setChainId", 7)

    assert shown_ids(rpc) == {7}
    chain.nonce = 0
    rpc("eth_sendRawTransaction", hexed(made(chain, 7).raw))
    assert len(chain.mine().transactions) == 1


def test_other_processes_learn_of_it(rpc: Rpc, chain: Chain) -> None:
    other = another_process(chain.evm)
    other.vm.last_accepted()
    assert other.chain.config.chain_id == CHAIN_ID

    rpc("anvil_setChainId", NEW)

    (outcome,) = transactions.submit(other, [made(chain, CHAIN_ID).raw])
    assert outcome.reason is TransactionReason.WRONG_CHAIN_ID
    chain.nonce = 0
    taken = made(chain, NEW)
    assert transactions.submit(other, [taken.raw]) == [taken.hash]
    block = produce(other, now=chain.now + 1)
    assert block is not None
    assert [transaction.chain_id for transaction in block.transactions] == [NEW]


async def test_a_web_process_learns_of_it_at_the_next_tick(
    shared_chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cchain_app.api.eth.head_listener.TICK", 0.01)
    evm = shared_chain.evm
    await in_thread(lambda: evm.config)
    heard = asyncio.Event()
    loop = asyncio.get_running_loop()
    catch_up = blocks.catch_up

    def caught_up(chain: EvmChain, told: int = 0) -> AcceptedBlock:
        head = catch_up(chain, told)
        if chain is evm and evm.config.chain_id == NEW:
            loop.call_soon_threadsafe(heard.set)
        return head

    await in_thread(set_chain_id, another_process(evm).chain, NEW)
    assert evm.config.chain_id == CHAIN_ID
    monkeypatch.setattr(blocks, "catch_up", caught_up)

    listener = HeadListener(this_node().evm_rpc, progress)
    listener.start()
    try:
        await asyncio.wait_for(heard.wait(), SECONDS)
    finally:
        await listener.stop()
    assert evm.config.chain_id == NEW


def test_transaction_checked_before_the_change_is_refused(
    rpc: Rpc, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    admit = transactions.admit

    def late(runtime: EvmRuntime, newcomers: Any) -> Any:
        set_chain_id(runtime.chain, NEW)
        return admit(runtime, newcomers)

    monkeypatch.setattr(transactions, "admit", late)
    (outcome,) = transactions.submit(chain.runtime, [chain.make().raw])

    assert outcome.reason is TransactionReason.WRONG_CHAIN_ID
    assert str(outcome) == (
        f"invalid sender: invalid chain id for signer: have {CHAIN_ID} want {NEW}"
    )
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x0"}


def test_a_block_that_was_built_before_the_change_is_built_again(rpc: Rpc, chain: Chain) -> None:
    other = another_process(chain.evm)
    vm = other.vm
    vm.set_preference(vm.last_accepted())
    built = vm.build(BlockContext(chain.now + 1), allow_empty=True)
    assert built is not None
    rpc("anvil_setChainId", NEW)

    with pytest.raises(HeadMoved):
        vm.accept([built.block_id], written=lambda _: None)

    rpc("eth_sendRawTransaction", hexed(made(chain, NEW).raw))
    block = produce(other, now=chain.now + 1)
    assert block is not None
    assert len(block.transactions) == 1


def test_stale_builder_keeps_transactions_of_the_new_chain_id(rpc: Rpc, chain: Chain) -> None:
    other = another_process(chain.evm)
    vm = other.vm
    vm.set_preference(vm.last_accepted())
    rpc("anvil_setChainId", NEW)
    sent = made(chain, NEW)
    rpc("eth_sendRawTransaction", hexed(sent.raw))

    assert other.chain.config.chain_id == CHAIN_ID
    assert vm.build(BlockContext(chain.now + 1)) is None

    block = produce(other, now=chain.now + 1)
    assert block is not None
    assert [transaction.hash for transaction in block.transactions] == [sent.hash]


def test_joining_node_gets_the_new_chain_id_and_the_p_chain_keeps_the_first(
    rpc: Rpc, chain: Chain
) -> None:
    make_identity(this_node().settings, chain.now)
    platform = platform_chain()
    network = load_platform(platform, platform.proof_of_possession, genesis_text(chain.evm))
    rpc("anvil_setChainId", NEW)

    again = load_platform(platform, platform.proof_of_possession, genesis_text(chain.evm))

    assert again == network
    created = DatabaseState(platform.db).txs.get(network.c_chain_id)
    assert created is not None
    assert json.loads(created.unsigned.genesis_data)["config"]["chainId"] == CHAIN_ID
    assert json.loads(genesis_text(chain.evm))["config"]["chainId"] == NEW


def test_row_has_first_and_current_chain_id(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setChainId", 7)
    rpc("anvil_setChainId", NEW)

    db = chain.evm.db
    assert (stored.chain_id(db), stored.first_chain_id(db)) == (NEW, CHAIN_ID)
