"""eth_call: prices, funds, limits, overrides and failures, with geth's messages."""

import asyncio

import pytest

from cchain_app.api import loop_gas
from cchain_app.api.eth import execution
from cchain_app.api.params.call import CallRequest
from cchain_app.api.params.values import Tag
from cchain_app.apps import evm_chain
from cchain_app.chain_options import GAS_CAP
from cchain_app.evm.engine import CallInterrupted
from chaindb.connections import WouldBlock
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from primitives.hexadecimal import checksum_address
from tests.builders import bytecode
from tests.builders.cchain import COIN, SENDERS
from tests.builders.transactions import RECIPIENT

CONTRACT = b"\xc0" * 20
POOR = b"\x99" * 20
IDENTITY = bytes(19) + b"\x04"
GWEI = 10**9


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def word(number: int) -> str:
    return "0x" + number.to_bytes(32, "big").hex()


@pytest.fixture
def call(rpc, memory_chain):
    def ask(code: bytes, data: bytes = b"", *rest, **members):
        memory_chain.state.put(CONTRACT, code=code, balance=5, storage={0: 7})
        given = {"to": hexed(CONTRACT), "input": hexed(data), **members}
        return rpc("eth_call", given, *rest)

    return ask


def test_a_call_returns_what_the_contract_returns(call):
    assert call(bytecode.COUNTER) == word(8)


@pytest.mark.parametrize(
    "method", ["eth_call", "eth_estimateGas", "eth_createAccessList", "eth_fillTransaction"]
)
@pytest.mark.parametrize(
    ("member", "words"),
    [
        (
            "authorizationList",
            "EIP-7702 transaction with empty auth list (sender 0x0000000000000000000000000000000000000000)",
        ),
        ("blobVersionedHashes", "blob transaction missing blob hashes"),
    ],
)
def test_empty_list_differs_from_omitted_list(rpc, memory_chain, method, member, words):
    given = {"to": hexed(RECIPIENT), "value": "0x0"}
    with pytest.raises(JsonRpcError) as refusal:
        rpc(method, {**given, member: []})
    assert (refusal.value.code, refusal.value.message) == (-32000, words)
    assert rpc("eth_call", {**given, member: None}) == "0x"


def test_a_call_changes_nothing(call):
    assert call(bytecode.COUNTER) == call(bytecode.COUNTER)


def test_an_account_without_code_returns_nothing(rpc, memory_chain):
    assert rpc("eth_call", {"to": hexed(RECIPIENT)}, "latest") == "0x"


def test_a_call_without_recipient_runs_init_code_and_returns_the_code(rpc, memory_chain):
    init = bytecode.deploy_code(bytecode.COUNTER)
    assert rpc("eth_call", {"data": hexed(init)}) == hexed(bytecode.COUNTER)


def test_a_sender_without_funds_may_call_when_no_price_is_named(call):
    assert call(bytecode.COUNTER, **{"from": hexed(POOR)}) == word(8)


def test_contract_can_be_the_sender(call):
    assert call(bytecode.COUNTER, **{"from": hexed(CONTRACT)}) == word(8)


def test_the_nonce_is_not_checked(call):
    assert call(bytecode.COUNTER, nonce="0xffff", **{"from": hexed(SENDERS[0])}) == word(8)


def test_basefee_opcode_is_zero_without_a_gas_price(call):
    read = bytecode.assemble("BASEFEE 0 MSTORE 32 0 RETURN")
    assert call(read) == word(0)
    rich = {"from": hexed(SENDERS[0]), "gas": "0x186a0"}
    assert call(read, gasPrice=hex(2 * GWEI), **rich) == word(GWEI)


def test_the_surroundings_are_the_blocks_own(call, memory_chain):
    head = memory_chain.head().header
    seen = bytes.fromhex(call(bytecode.SURROUNDINGS)[2:])
    values = [int.from_bytes(seen[i : i + 32], "big") for i in range(0, 160, 32)]
    assert values[0] == head.number
    assert values[1] == head.timestamp
    assert values[2] == int.from_bytes(head.coinbase, "big")
    assert values[3:5] == [head.gas_limit, 43_112]


def test_a_revert_with_a_reason_has_code_3_and_its_data(call):
    data = bytes.fromhex("08c379a0") + bytecode.words(32, 2) + b"no".ljust(32, b"\0")
    with pytest.raises(JsonRpcError) as failure:
        call(bytecode.ECHO_REVERT, data)
    assert (failure.value.code, failure.value.message, failure.value.data) == (
        3, "execution reverted: no", hexed(data),
    )  # fmt: skip


def test_a_custom_error_keeps_its_raw_data(call):
    with pytest.raises(JsonRpcError) as failure:
        call(bytecode.ECHO_REVERT, b"\xde\xad\xbe\xef")
    assert (failure.value.code, failure.value.message, failure.value.data) == (
        3, "execution reverted", "0xdeadbeef",
    )  # fmt: skip


def test_an_empty_revert_has_empty_data(call):
    with pytest.raises(JsonRpcError) as failure:
        call(bytecode.ECHO_REVERT)
    assert (failure.value.code, failure.value.data) == (3, "0x")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (bytecode.BAD_JUMP, "invalid jump destination"),
        (bytecode.UNDERFLOW, "stack underflow (1 <=> 2)"),
        (bytecode.OVERFLOW, "stack limit reached 1024 (1023)"),
        (bytes([0xFE]), "invalid opcode: INVALID"),
    ],
)
def test_other_failures_have_code_32000_and_no_data(call, code, words):
    with pytest.raises(JsonRpcError) as failure:
        call(code)
    assert failure.value.code == -32000
    assert failure.value.message == words
    assert repr(failure.value.data) == "NO_DATA"


def test_out_of_gas_is_reported(call):
    with pytest.raises(JsonRpcError) as failure:
        call(bytecode.LOOP, gas="0x186a0")
    assert (failure.value.code, failure.value.message) == (-32000, "out of gas")


def test_gas_is_capped_by_the_node(call):
    read = bytecode.assemble("GAS 0 MSTORE 32 0 RETURN")
    cap = GAS_CAP
    left = int(call(read, gas=hex(10 * cap)), 16)
    assert cap - 30_000 < left < cap


def test_gas_below_intrinsic_cost_is_reported(call):
    with pytest.raises(JsonRpcError) as failure:
        call(bytecode.COUNTER, gas="0x5207")
    assert failure.value.message == (
        "err: intrinsic gas too low: have 20999, want 21000 (supplied gas 20999)"
    )


def test_funds_are_checked_against_value_and_gas(call):
    with pytest.raises(JsonRpcError) as failure:
        call(b"", value="0x1", **{"from": hexed(POOR)})
    assert failure.value.code == -32000
    assert failure.value.message == (
        "err: insufficient funds for gas * price + value: address "
        f"{checksum_address(POOR)} have 0 want 1 (supplied gas 50000000)"
    )


def test_two_styles_of_fees_at_once_are_refused(call):
    with pytest.raises(JsonRpcError) as failure:
        call(b"", gasPrice="0x1", maxFeePerGas="0x1")
    assert (failure.value.code, failure.value.message) == (
        -32000, "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
    )  # fmt: skip


def test_another_chains_id_is_refused(call):
    with pytest.raises(JsonRpcError) as failure:
        call(b"", chainId="0x1")
    assert failure.value.message == "chainId does not match node's (have=1, want=43112)"
    assert call(b"", chainId=hex(43_112)) == "0x"


def test_a_fee_cap_below_the_base_fee_is_refused(call):
    rich = {"from": hexed(SENDERS[0]), "gas": "0x186a0"}
    with pytest.raises(JsonRpcError) as failure:
        call(b"", maxFeePerGas="0x1", **rich)
    assert failure.value.message == (
        "err: max fee per gas less than block base fee: address "
        f"{checksum_address(SENDERS[0])}, maxFeePerGas: 1, baseFee: 1000000000 "
        "(supplied gas 100000)"
    )


def test_a_tip_above_the_fee_cap_is_refused(call):
    with pytest.raises(JsonRpcError, match="max priority fee per gas higher than max fee per gas"):
        call(b"", maxFeePerGas=hex(2 * GWEI), maxPriorityFeePerGas=hex(3 * GWEI))


def test_the_price_is_base_fee_and_tip_up_to_the_cap(call):
    read = bytecode.assemble("GASPRICE 0 MSTORE 32 0 RETURN")
    rich = {"from": hexed(SENDERS[0]), "gas": "0x186a0"}
    fees = {"maxFeePerGas": hex(9 * GWEI), "maxPriorityFeePerGas": hex(GWEI)}
    assert call(read, **fees, **rich) == word(2 * GWEI)
    fees = {"maxFeePerGas": hex(2 * GWEI), "maxPriorityFeePerGas": hex(2 * GWEI)}
    assert call(read, **fees, **rich) == word(2 * GWEI)


def test_unknown_height_is_reported(rpc, memory_chain):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_call", {}, "0x64")
    assert (failure.value.code, failure.value.message) == (-32000, "header not found")


def test_a_call_that_takes_too_long_is_ended(call, settings, monkeypatch):
    class Slow:
        def call(self, *_args, **_limits):
            raise CallInterrupted

    monkeypatch.setattr(evm_chain(), "engine", Slow())
    with pytest.raises(JsonRpcError) as failure:
        call(bytecode.LOOP)
    assert (failure.value.code, failure.value.message) == (
        -32000, "execution aborted (timeout = 5s)",
    )  # fmt: skip


def test_on_the_event_loop_a_long_call_is_given_to_a_thread(memory_chain, monkeypatch):
    monkeypatch.setattr(loop_gas, "SECONDS_OF_REQUEST", 60.0)  # only the gas limit applies
    memory_chain.state.put(CONTRACT, code=bytecode.LOOP)
    memory_chain.state.put(POOR, code=bytecode.assemble("1 0 MSTORE 32 0 RETURN"))

    async def ask(to):
        return execution.call(this_node().evm_rpc, CallRequest(to=to), Tag.LATEST, None, None)

    assert asyncio.run(ask(POOR)) == word(1)
    with pytest.raises(WouldBlock):
        asyncio.run(ask(CONTRACT))


def test_balance_nonce_and_code_are_overridden(call):
    read = bytecode.assemble("SELFBALANCE 0 MSTORE 32 0 RETURN")
    change = {hexed(CONTRACT): {"balance": hex(COIN), "code": hexed(read), "nonce": "0x9"}}
    assert call(bytecode.COUNTER, b"", "latest", change) == word(COIN)


def test_state_replaces_all_storage_and_state_diff_single_slots(call):
    read = bytecode.assemble("0 SLOAD 1 SLOAD ADD 0 MSTORE 32 0 RETURN")
    one = {"0x" + (1).to_bytes(32, "big").hex(): word(100)}
    assert call(read, b"", "latest", {hexed(CONTRACT): {"state": one}}) == word(100)
    assert call(read, b"", "latest", {hexed(CONTRACT): {"stateDiff": one}}) == word(107)


def test_state_and_state_diff_together_are_refused(call):
    change = {hexed(CONTRACT): {"state": {}, "stateDiff": {}}}
    with pytest.raises(JsonRpcError) as failure:
        call(b"", b"", "latest", change)
    assert (failure.value.code, failure.value.message) == (
        -32000, f"account {checksum_address(CONTRACT)} has both 'state' and 'stateDiff'",
    )  # fmt: skip


def test_moving_an_address_without_precompile_is_refused(call):
    change = {hexed(CONTRACT): {"movePrecompileToAddress": hexed(POOR)}}
    with pytest.raises(JsonRpcError) as failure:
        call(b"", b"", "latest", change)
    assert failure.value.message == f"account {checksum_address(CONTRACT)} is not a precompile"


def test_a_precompile_is_moved_for_a_call(rpc):
    change = {hexed(IDENTITY): {"movePrecompileToAddress": hexed(POOR)}}
    for to, answer in ((POOR, "0x1234"), (IDENTITY, "0x")):
        assert rpc("eth_call", {"to": hexed(to), "data": "0x1234"}, "latest", change) == answer
        assert rpc("eth_estimateGas", {"to": hexed(to), "data": "0x1234"}, "latest", change)


def test_a_precompile_cannot_be_moved_onto_an_overridden_account(call):
    change = {
        hexed(IDENTITY): {"movePrecompileToAddress": hexed(POOR)},
        hexed(POOR): {"balance": "0x1"},
    }
    with pytest.raises(JsonRpcError) as failure:
        call(b"", b"", "latest", change)
    assert (failure.value.code, failure.value.message) == (
        -32000, f"account {checksum_address(POOR)} is already overridden",
    )  # fmt: skip


def test_code_may_replace_a_precompile(rpc, memory_chain):
    change = {hexed(IDENTITY): {"code": hexed(bytecode.COUNTER)}}
    assert rpc("eth_call", {"to": hexed(IDENTITY)}, "latest", change) == word(1)


READ_BLOB_BASE_FEE = bytes([0x4A]) + bytecode.assemble("0 MSTORE 32 0 RETURN")


def test_the_blob_base_fee_is_overridden(call):
    assert call(READ_BLOB_BASE_FEE) == word(1)
    wanted = {"blobBaseFee": "0x2a"}
    assert call(READ_BLOB_BASE_FEE, b"", "latest", None, wanted) == word(42)


def test_blob_base_fee_above_engine_maximum_is_refused(call):
    with pytest.raises(JsonRpcError, match="blob base fee higher than"):
        call(READ_BLOB_BASE_FEE, b"", "latest", None, {"blobBaseFee": LARGEST})


def test_block_overrides_change_what_the_call_sees(call):
    wanted = {
        "number": "0x64", "time": "0xc8", "gasLimit": "0x12c", "feeRecipient": hexed(POOR),
        "prevRandao": word(400), "baseFeePerGas": "0x0",
    }  # fmt: skip
    seen = bytes.fromhex(call(bytecode.SURROUNDINGS, b"", "latest", None, wanted)[2:])
    values = [int.from_bytes(seen[i : i + 32], "big") for i in range(0, 256, 32)]
    assert values[:4] == [100, 200, int.from_bytes(POOR, "big"), 300]
    assert values[7] == 400


def test_null_overrides_change_nothing(call):
    assert call(bytecode.COUNTER, b"", "latest", None, None) == word(8)


LARGEST = "0x" + "f" * 64
LARGEST64 = "0x" + "f" * 16


@pytest.mark.parametrize(
    "members",
    [
        {"gasPrice": LARGEST},
        {"maxFeePerGas": LARGEST, "maxPriorityFeePerGas": LARGEST},
        {"value": LARGEST},
        {"value": LARGEST, "gasPrice": LARGEST, "gas": LARGEST64},
    ],
)
def test_largest_value_or_price_exceeds_any_balance(call, members):
    with pytest.raises(JsonRpcError, match="insufficient funds for gas") as failure:
        call(bytecode.COUNTER, **{"from": hexed(SENDERS[0])}, **members)
    assert failure.value.code == -32000


def test_the_largest_overrides_are_taken(call):
    change = {hexed(POOR): {"balance": LARGEST, "nonce": LARGEST64}}
    wanted = {
        "number": LARGEST64, "time": LARGEST64, "gasLimit": LARGEST64, "baseFeePerGas": LARGEST64,
        "difficulty": LARGEST,
    }  # fmt: skip
    sender = {"from": hexed(POOR)}
    assert call(bytecode.COUNTER, b"", "latest", change, wanted, **sender) == word(8)


def test_base_fee_override_above_gas_price_is_refused(call):
    wanted = {"baseFeePerGas": LARGEST}
    assert call(bytecode.COUNTER, b"", "latest", None, wanted) == word(8)
    with pytest.raises(JsonRpcError, match="max fee per gas less than block base fee"):
        call(bytecode.COUNTER, b"", "latest", None, wanted, gasPrice="0x1")


def test_a_price_that_only_an_override_could_pay_is_refused(call):
    change = {hexed(POOR): {"balance": LARGEST}}
    price = {"gasPrice": hex(2**128), "gas": "0x186a0", "from": hexed(POOR)}
    with pytest.raises(JsonRpcError, match=r"^.*gas price higher than 2\^128-1"):
        call(bytecode.COUNTER, b"", "latest", change, **price)
    wanted = {"baseFeePerGas": hex(2**64)}
    price = {"gasPrice": hex(2**65), "gas": "0x186a0", "from": hexed(POOR)}
    with pytest.raises(JsonRpcError, match=r"block base fee higher than 2\^64-1"):
        call(bytecode.COUNTER, b"", "latest", change, wanted, **price)
