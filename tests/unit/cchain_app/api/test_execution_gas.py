"""eth_estimateGas and eth_createAccessList."""

import asyncio
import re
from dataclasses import replace

import pytest

from cchain_app.api.eth import execution_gas
from cchain_app.api.params.call import CallRequest
from cchain_app.api.params.values import Tag
from cchain_app.api.rendered import RenderedCache
from cchain_app.apps import evm_chain
from cchain_app.config import ETHEREUM_LIMITS
from cchain_app.evm.engine import CallInterrupted
from cchain_app.rules.ethereum import EthereumRules
from chaindb.connections import WouldBlock
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from primitives.hexadecimal import checksum_address
from tests.builders import bytecode
from tests.builders.cchain import SENDERS, authorization
from tests.builders.transactions import RECIPIENT

CONTRACT, OTHER, POOR = b"\xc0" * 20, b"\xc1" * 20, b"\x99" * 20
GWEI = 10**9
NOT_APPLIED = "failed to apply transaction: 0x[0-9a-f]{64} err: "


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


@pytest.fixture
def estimate(rpc, memory_chain):
    def ask(code: bytes = b"", data: bytes = b"", *rest, **members) -> int:
        memory_chain.state.put(CONTRACT, code=code, storage={0: 7})
        given = {"from": hexed(SENDERS[0]), "to": hexed(CONTRACT), "input": hexed(data), **members}
        return int(rpc("eth_estimateGas", given, *rest), 16)

    return ask


def test_a_transfer_needs_21000(rpc, memory_chain):
    given = {"from": hexed(SENDERS[0]), "to": hexed(RECIPIENT), "value": "0x1"}
    assert rpc("eth_estimateGas", given) == "0x5208"


def test_a_transfer_with_an_access_list_needs_more(rpc, memory_chain):
    listed = [{"address": hexed(OTHER), "storageKeys": []}]
    given = {"from": hexed(SENDERS[0]), "to": hexed(RECIPIENT), "accessList": listed}
    assert 23_400 <= int(rpc("eth_estimateGas", given), 16) <= 23_400 * 1.016


def test_the_answer_works_and_is_at_most_one_and_a_half_percent_too_high(estimate, rpc):
    data = bytecode.words(5, 6)
    found = estimate(bytecode.STORE, data)
    call = {"from": hexed(SENDERS[0]), "to": hexed(CONTRACT), "input": hexed(data)}
    rpc("eth_call", {**call, "gas": hex(found)})
    with pytest.raises(JsonRpcError, match="out of gas"):
        rpc("eth_call", {**call, "gas": hex(int(found / 1.016))})


def test_a_call_that_passes_gas_on_gets_enough_for_the_63_64_rule(estimate, rpc, memory_chain):
    memory_chain.state.put(OTHER, code=bytecode.STORE)
    data = bytecode.words(OTHER, 5, 6)
    found = estimate(bytecode.PROXY, data)
    call = {"from": hexed(SENDERS[0]), "to": hexed(CONTRACT), "input": hexed(data)}
    worked = rpc("eth_call", {**call, "gas": hex(found)})
    assert int(worked[:66], 16) == 1


def test_a_creation_is_estimated(rpc, memory_chain):
    init = bytecode.deploy_code(bytecode.COUNTER)
    given = {"from": hexed(SENDERS[0]), "data": hexed(init)}
    assert 53_000 < int(rpc("eth_estimateGas", given), 16) < 70_000


def test_extra_members_of_web3_js_are_ignored(estimate):
    extras = {"nonce": "0x0", "type": "0x2", "chain": "mainnet", "hardfork": "london"}
    assert estimate(bytecode.COUNTER, b"", "pending", **extras) > 21_000


def test_revert_is_reported_with_its_data(estimate):
    with pytest.raises(JsonRpcError) as failure:
        estimate(bytecode.ECHO_REVERT, b"\xde\xad\xbe\xef")
    assert (failure.value.code, failure.value.message, failure.value.data) == (
        3, "execution reverted", "0xdeadbeef",
    )  # fmt: skip


def test_another_failure_is_reported_unchanged(estimate):
    with pytest.raises(JsonRpcError) as failure:
        estimate(bytecode.BAD_JUMP)
    assert (failure.value.code, failure.value.message) == (-32000, "invalid jump destination")


def test_gas_above_allowance_is_reported_with_the_allowance(estimate):
    with pytest.raises(JsonRpcError) as failure:
        estimate(bytecode.LOOP, gas=hex(100_000))
    assert (failure.value.code, failure.value.message) == (
        -32000, "gas required exceeds allowance (100000)",
    )  # fmt: skip


def test_without_gas_the_blocks_limit_is_the_allowance(estimate):
    with pytest.raises(JsonRpcError, match=r"gas required exceeds allowance \(30000000\)"):
        estimate(bytecode.LOOP)


def test_the_balance_limits_the_allowance_when_a_price_is_named(estimate, memory_chain):
    memory_chain.state.put(POOR, balance=2 * GWEI * 50_000)
    with pytest.raises(JsonRpcError, match=r"gas required exceeds allowance \(50000\)"):
        estimate(bytecode.LOOP, gasPrice=hex(2 * GWEI), **{"from": hexed(POOR)})


def test_value_above_balance_without_price_is_reported(estimate):
    with pytest.raises(JsonRpcError) as failure:
        estimate(bytecode.COUNTER, value="0x1", **{"from": hexed(POOR)})
    assert failure.value.message == (
        "failed with 30000000 gas: insufficient funds for gas * price + value: address "
        f"{checksum_address(POOR)} have 0 want 1"
    )


def test_value_above_balance_with_price_is_reported(estimate):
    with pytest.raises(JsonRpcError) as failure:
        estimate(bytecode.COUNTER, value="0x1", gasPrice=hex(2 * GWEI), **{"from": hexed(POOR)})
    assert (failure.value.code, failure.value.message) == (
        -32000, "insufficient funds for transfer",
    )  # fmt: skip


def test_a_call_is_estimated_on_an_overridden_state(estimate):
    change = {hexed(CONTRACT): {"code": hexed(bytecode.COUNTER)}}
    assert estimate(bytecode.ECHO_REVERT, b"", "latest", change) > 21_000


def test_a_transfer_beyond_the_balance_is_reported_of_all_gas(rpc):
    given = {"from": hexed(POOR), "to": hexed(RECIPIENT), "value": "0x1"}
    with pytest.raises(JsonRpcError, match="failed with 30000000 gas: insufficient funds for gas"):
        rpc("eth_estimateGas", given)


def test_on_the_event_loop_a_long_estimate_is_given_to_a_thread(memory_chain):
    memory_chain.state.put(CONTRACT, code=bytecode.LOOP)
    memory_chain.state.put(OTHER, code=bytecode.COUNTER)

    async def ask(to):
        return execution_gas.estimate_gas(
            this_node().evm_rpc, CallRequest(to=to), Tag.LATEST, None, None
        )

    assert int(asyncio.run(ask(OTHER)), 16) > 21_000
    with pytest.raises(WouldBlock):
        asyncio.run(ask(CONTRACT))


def test_an_estimate_that_takes_too_long_is_ended(estimate, monkeypatch):
    class Slow:
        def estimate(self, *_args, **_limits):
            raise CallInterrupted

    monkeypatch.setattr(evm_chain(), "engine", Slow())
    with pytest.raises(JsonRpcError) as failure:
        estimate(bytecode.LOOP)
    assert (failure.value.code, failure.value.message) == (
        -32000, "execution aborted (timeout = 5s)",
    )  # fmt: skip


def test_access_list_contains_touched_accounts_and_slots(rpc, memory_chain):
    memory_chain.state.put(OTHER, code=bytecode.STORE)
    memory_chain.state.put(CONTRACT, code=bytecode.PROXY)
    data = bytecode.words(OTHER, 5, 6)
    given = {"from": hexed(SENDERS[0]), "to": hexed(CONTRACT), "data": hexed(data)}
    answer = rpc("eth_createAccessList", given, "latest")
    slots = {entry["address"]: entry["storageKeys"] for entry in answer["accessList"]}
    assert slots[hexed(OTHER)] == [hexed((5).to_bytes(32, "big"))]
    assert hexed(SENDERS[0]) not in slots
    assert "error" not in answer


def test_the_gas_of_an_access_list_includes_its_own(rpc, memory_chain):
    memory_chain.state.put(OTHER, code=bytecode.STORE)
    memory_chain.state.put(CONTRACT, code=bytecode.PROXY)
    data = bytecode.words(OTHER, 5, 6)
    given = {"from": hexed(SENDERS[0]), "to": hexed(CONTRACT), "data": hexed(data)}
    answer = rpc("eth_createAccessList", given)
    again = rpc("eth_createAccessList", {**given, "accessList": answer["accessList"]})
    assert again == answer
    listed = {**given, "accessList": answer["accessList"]}
    estimated = int(rpc("eth_estimateGas", listed), 16)
    assert abs(estimated - int(answer["gasUsed"], 16)) < 5_000


def test_a_revert_is_reported_in_the_answer(rpc, memory_chain):
    memory_chain.state.put(CONTRACT, code=bytecode.ECHO_REVERT)
    answer = rpc("eth_createAccessList", {"to": hexed(CONTRACT)})
    assert answer["error"] == "execution reverted"
    assert answer["accessList"] == []


def test_a_gas_price_of_zero_is_refused_for_lists(rpc, memory_chain):
    with pytest.raises(JsonRpcError, match=r"^.*gasPrice must be non-zero after london fork"):
        rpc("eth_createAccessList", {"to": hexed(CONTRACT), "gasPrice": "0x0"})


def test_access_list_of_invalid_call_is_an_error(rpc, memory_chain):
    given = {"from": hexed(POOR), "to": hexed(CONTRACT), "value": "0x1"}
    with pytest.raises(JsonRpcError, match=rf"{NOT_APPLIED}insufficient funds"):
        rpc("eth_createAccessList", given)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("eth_estimateGas", "failed with 30000000 gas: "),
        ("eth_createAccessList", NOT_APPLIED),
    ],
)
def test_fee_cap_below_base_fee_is_reported(rpc, memory_chain, method, words):
    given = {"from": hexed(SENDERS[0]), "to": hexed(CONTRACT), "maxFeePerGas": "0x1"}
    with pytest.raises(JsonRpcError) as failure:
        rpc(method, given)
    assert failure.value.code == -32000
    assert re.match(f"{words}max fee per gas less than block base fee", failure.value.message)


def test_a_new_local_chain_has_no_limit_for_the_gas_of_transactions(estimate):
    with pytest.raises(JsonRpcError, match=r"gas required exceeds allowance \(30000000\)"):
        estimate(bytecode.LOOP)


def test_since_osaka_a_transaction_has_at_most_2_to_the_24_gas(estimate, monkeypatch):
    env_of = EthereumRules.env_of
    monkeypatch.setattr(
        EthereumRules,
        "env_of",
        lambda rules, block: replace(env_of(rules, block), limits=ETHEREUM_LIMITS),
    )
    monkeypatch.setattr(this_node().evm_rpc, "environments", RenderedCache(1))
    with pytest.raises(JsonRpcError, match=r"gas required exceeds allowance \(16777216\)"):
        estimate(bytecode.LOOP)


def test_less_gas_than_data_costs_is_too_little(estimate):
    with pytest.raises(JsonRpcError, match=r"gas required exceeds allowance \(21000\)"):
        estimate(bytecode.COUNTER, b"\x01" * 100, gas="0x5208")


def test_an_authorization_is_paid_for(estimate, memory_chain):
    plain = estimate(bytecode.COUNTER)
    signed = authorization(1, OTHER, 0)
    listed = [
        {
            "chainId": hex(signed.chain_id),
            "address": hexed(signed.address),
            "nonce": hex(signed.nonce),
            "yParity": hex(signed.y_parity),
            "r": hex(signed.r),
            "s": hex(signed.s),
        }
    ]
    with_one = estimate(bytecode.COUNTER, authorizationList=listed)
    assert with_one >= plain + 12_500
