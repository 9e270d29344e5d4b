"""eth_sendRawTransaction, eth_getTransactionByHash, eth_getTransactionReceipt on a real chain."""

import pytest

from cchain_app.apps import evm_chain
from cchain_app.txs.signing import sign_transaction
from cchain_app.txs.transaction import ACCESS_LIST, SET_CODE
from jsonrpc.errors import JsonRpcError
from tests.builders import bytecode
from tests.builders.cchain import JUNK_KEYS, SENDERS, authorization
from tests.builders.transactions import KEY, RECIPIENT, SENDER, legacy, signed, unsigned

GWEI = 10**9


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def test_send_raw_transaction_returns_the_hash(rpc, chain):
    sent = chain.make()
    assert rpc("eth_sendRawTransaction", hexed(sent.raw)) == hexed(sent.hash)


def test_a_transaction_waits_then_has_a_block_and_a_receipt(rpc, chain):
    sent = chain.make()
    chain.send(sent)
    assert rpc("eth_getTransactionByHash", hexed(sent.hash))["blockHash"] is None
    assert rpc("eth_getTransactionReceipt", hexed(sent.hash)) is None
    block = chain.mine()
    assert rpc("eth_getTransactionByHash", hexed(sent.hash))["blockHash"] == hexed(block.hash)
    receipt = rpc("eth_getTransactionReceipt", hexed(sent.hash))
    assert (receipt["status"], receipt["gasUsed"]) == ("0x1", "0x5208")


@pytest.mark.parametrize(
    "fields",
    [
        {"type": 0},
        {"type": ACCESS_LIST, "access_list": ((RECIPIENT, (bytes(32),)),), "gas": 50_000},
        {},
        {"type": SET_CODE, "authorizations": (authorization(0, RECIPIENT, 0),), "gas": 100_000},
    ],
    ids=["legacy", "access list", "dynamic fee", "set code"],
)
def test_every_type_gets_into_a_block(rpc, chain, fields):
    sent, _ = chain.do(**fields)
    assert rpc("eth_getTransactionReceipt", hexed(sent.hash))["status"] == "0x1"
    found = rpc("eth_getTransactionByHash", hexed(sent.hash))
    assert found["type"] == hex(sent.type)
    assert rpc("eth_getRawTransactionByHash", hexed(sent.hash)) == hexed(sent.raw)


def test_the_effective_price_is_base_fee_and_tip(rpc, chain):
    sent, block = chain.do(max_priority_fee_per_gas=3 * GWEI)
    price = hex(block.header.base_fee + 3 * GWEI)
    assert rpc("eth_getTransactionReceipt", hexed(sent.hash))["effectiveGasPrice"] == price
    assert rpc("eth_getTransactionByHash", hexed(sent.hash))["gasPrice"] == price


def test_a_creation_has_the_address_of_its_contract(rpc, chain):
    sent, _ = chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    receipt = rpc("eth_getTransactionReceipt", hexed(sent.hash))
    assert receipt["to"] is None
    assert receipt["contractAddress"] == hexed(bytecode.created(SENDER, 0))
    assert rpc("eth_getCode", receipt["contractAddress"]) == hexed(bytecode.COUNTER)


def test_a_failed_transaction_pays_and_uses_its_nonce(rpc, chain):
    sent, _ = chain.do(to=None, data=bytecode.BAD_JUMP, gas=100_000, value=0)
    receipt = rpc("eth_getTransactionReceipt", hexed(sent.hash))
    assert (receipt["status"], receipt["gasUsed"], receipt["logs"]) == ("0x0", hex(100_000), [])
    assert receipt["logsBloom"] == "0x" + "00" * 256
    assert receipt["contractAddress"] == hexed(bytecode.created(SENDER, 0))
    assert rpc("eth_getTransactionCount", hexed(SENDER)) == "0x1"


def test_a_replaced_transaction_is_unknown(rpc, chain):
    old, new = (
        signed(nonce=0),
        signed(nonce=0, max_fee_per_gas=60 * GWEI, max_priority_fee_per_gas=2 * GWEI),
    )
    chain.send(old)
    chain.send(new)
    assert rpc("eth_getTransactionByHash", hexed(old.hash)) is None
    assert rpc("eth_getTransactionByHash", hexed(new.hash)) is not None


REFUSED = [
    ("0x", "typed transaction too short"),
    ("0x02", "typed transaction too short"),
    ("0x05c0", "transaction type not supported"),
    ("0x03" + "00" * 140_000, "rlp: input contains more than one value for blobs"),
    (hexed(signed(nonce=0).raw + b"\x00"), "rlp: input contains more than one value"),
    (
        hexed(sign_transaction(unsigned(chain_id=1), KEY)),
        "invalid sender: invalid chain id for signer: have 1 want 43112",
    ),
    (
        hexed(legacy(chain_id=None).raw),
        "only replay-protected (EIP-155) transactions allowed over RPC",
    ),
    (hexed(signed(gas=20_999).raw), "intrinsic gas too low: gas 20999, minimum needed 21000"),
    (hexed(signed(gas=10**9, max_fee_per_gas=2 * GWEI).raw), "exceeds block gas limit"),
    (
        hexed(signed(max_fee_per_gas=GWEI, max_priority_fee_per_gas=2 * GWEI).raw),
        "max priority fee per gas higher than max fee per gas",
    ),
    (hexed(signed(nonce=2**64 - 1).raw), "nonce has max value"),
    (
        hexed(signed(max_fee_per_gas=10**16).raw),
        "tx fee (210.00 ether) exceeds the configured cap (100.00 ether)",
    ),
    (
        hexed(signed(gas=53_000, data=b"\x01" * 2_000).raw),
        "insufficient gas for floor data gas cost: gas 53000, minimum needed 101000",
    ),
]


@pytest.mark.node_settings(rpc_tx_fee_cap=100.0)
@pytest.mark.parametrize(("raw", "words"), REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_pool_rejection_has_geths_message(rpc, chain, raw, words):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_sendRawTransaction", raw)
    assert failure.value.code == -32000
    assert failure.value.message.startswith(words)


def test_on_a_chain_to_develop_against_fees_have_no_cap(rpc, chain):
    dear = chain.make(max_fee_per_gas=10**16)
    assert rpc("eth_sendRawTransaction", hexed(dear.raw)) == hexed(dear.hash)


def test_on_a_chain_to_develop_against_as_many_wait_behind_a_gap_as_the_pool_takes(rpc, chain):
    for nonce in range(100, 0, -1):
        rpc("eth_sendRawTransaction", hexed(signed(nonce=nonce).raw))
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x64"}


@pytest.mark.node_settings(network_id=5)
def test_public_network_has_geths_limits(node_settings):
    evm = evm_chain()
    assert (evm.pool_limits.fee_cap, evm.pool_limits.account_queued) == (100 * 10**18, 64)
    assert evm.gas_cap(10**9) == 50_000_000


def test_the_same_transaction_twice_is_already_known(rpc, chain):
    sent = chain.make()
    chain.send(sent)
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_sendRawTransaction", hexed(sent.raw))
    assert (failure.value.code, failure.value.message) == (-32000, "already known")


def test_a_nonce_that_was_used_is_too_low(rpc, chain):
    chain.do()
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_sendRawTransaction", hexed(signed(nonce=0, value=2).raw))
    assert failure.value.message == "nonce too low: next nonce 1, tx nonce 0"


def test_a_replacement_has_to_pay_ten_percent_more(rpc, chain):
    chain.send(signed(nonce=0))
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_sendRawTransaction", hexed(signed(nonce=0, value=2).raw))
    assert failure.value.message == "replacement transaction underpriced"


def test_without_funds_nothing_gets_in(rpc, chain):
    poor = signed(key=b"\x07" * 32, nonce=0)
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_sendRawTransaction", hexed(poor.raw))
    assert failure.value.message.startswith(
        "insufficient funds for gas * price + value: balance 0, tx cost "
    )


def test_the_pool_is_shown(rpc, chain):
    chain.send(chain.make(), signed(nonce=9), signed(key=JUNK_KEYS[0], nonce=0))
    assert rpc("txpool_status") == {"pending": "0x2", "queued": "0x1"}
    content = rpc("txpool_content")
    assert {sender.lower() for sender in content["pending"]} == {hexed(SENDER), hexed(SENDERS[0])}
    assert [list(listed) for listed in content["queued"].values()] == [["9"]]
    found = rpc("txpool_contentFrom", hexed(SENDER))
    assert (list(found["pending"]), list(found["queued"])) == (["0"], ["9"])
    chain.mine()
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x1"}


def test_sending_and_waiting_ends_with_code_4_while_no_block_is_made(rpc, chain):
    sent = chain.make()
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_sendRawTransactionSync", hexed(sent.raw), 1)
    assert (failure.value.code, failure.value.data) == (4, hexed(sent.hash))
    chain.mine()
    assert rpc("eth_getTransactionReceipt", hexed(sent.hash))["status"] == "0x1"
