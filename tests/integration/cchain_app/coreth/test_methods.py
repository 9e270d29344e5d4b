"""Methods whose answers depend on what is special about coreth's blocks and slots."""

from dataclasses import fields, replace
from typing import Any

import pytest

from cchain_app.blocks.accepted import AcceptedBlock, make_block
from cchain_app.blocks.header import Header
from cchain_app.rules.coreth.gas_state import STATE_SIZE
from cchain_app.selectors import blocks
from cchain_app.services.vm import EvmVM
from chainvm.port import BlockContext
from primitives.evm import Hash
from primitives.hashing import EMPTY_ROOT
from primitives.hexadecimal import encode_data
from tests.builders.bytecode import assemble
from tests.builders.coreth import local_genesis
from tests.conformance.coreth_vectors import document
from tests.integration.cchain_app.coreth.follower import Follower, chain_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite_only]

READER = "0x" + "aa" * 20
SLOT = b"\x01" + bytes(31)
"""A slot whose value coreth stores in slot 0."""
SEVEN = encode_data((7).to_bytes(32))
READ = assemble(int.from_bytes(SLOT), "SLOAD 0 MSTORE 32 0 RETURN")


@pytest.fixture(params=["native", "reference"])
def follower(request: pytest.FixtureRequest) -> Follower:
    """A node at the genesis."""
    return Follower(chain_of(local_genesis().encode(), engine=request.param))


def override(member: str, slot: bytes = SLOT) -> dict[str, Any]:
    """Return an override of one slot of a contract that reads `SLOT`."""
    return {READER: {"code": encode_data(READ), member: {encode_data(slot): SEVEN}}}


@pytest.mark.parametrize("member", ["state", "stateDiff"])
@pytest.mark.parametrize("slot", [SLOT, bytes(32)], ids=["of the client", "as stored"])
def test_overrides_of_slots_are_read_by_calls(follower: Follower, member: str, slot: bytes) -> None:
    overrides = override(member, slot)

    assert follower.ask("eth_call", {"to": READER}, "latest", overrides) == SEVEN
    traced = follower.ask(
        "debug_traceCall", {"to": READER}, "latest", {"stateOverrides": overrides}
    )
    assert traced["returnValue"] == SEVEN
    (block,) = follower.ask(
        "eth_simulateV1",
        {"blockStateCalls": [{"stateOverrides": overrides, "calls": [{"to": READER}]}]},
        "latest",
    )
    assert block["calls"][0]["returnData"] == SEVEN


CALLS = {"tracer": "callTracer"}
OTHER_ROOT = Hash(b"\x05" * 32)


def followed(follower: Follower) -> list[AcceptedBlock]:
    """Follow some blocks; return those with transactions."""
    follower.follow(document("local_chain")["blocks"][1:12])
    found = [blocks.by_number(follower.chain, number) for number in range(1, 12)]
    return [block for block in found if block is not None and block.transactions]


def changed(block: AcceptedBlock, **other: Any) -> str:
    """Return a block's bytes with other fields of the header, so that the chain does not know it."""
    header = replace(block.header, state_root=OTHER_ROOT, **other)
    return encode_data(
        make_block(header, block.transactions, block.receipts, payload=block.payload).raw
    )


def test_blocks_that_a_client_submits_are_traced_as_those_of_the_chain(follower: Follower) -> None:
    found = followed(follower)
    assert found[0].number == 1, "the block in which the warp precompile begins"
    for block in found:
        traced = follower.ask("debug_traceBlockByNumber", hex(block.number), CALLS)
        assert [entry["txHash"] for entry in traced] == [
            encode_data(transaction.hash) for transaction in block.transactions
        ]
        assert follower.ask("debug_traceBlock", encode_data(block.raw), CALLS) == traced
        assert follower.ask("debug_traceBlock", changed(block), CALLS) == traced


def test_blocks_that_cannot_be_executed_are_refused(follower: Follower) -> None:
    block = followed(follower)[-1]
    state = block.header.extra_data[:STATE_SIZE]
    shared = {field.name: getattr(block.header, field.name) for field in fields(Header)}
    shared["withdrawals_root"] = EMPTY_ROOT
    of_ethereum = make_block(Header(**shared), block.transactions, block.receipts)
    for raw, message in (
        (encode_data(of_ethereum.raw), "could not decode block: "),
        (changed(block, extra_data=state + b"\1"), "tracing failed: "),
        (changed(block, base_fee=1 << 64), "block base fee higher than 2^64-1"),
    ):
        refusal = follower.ask("debug_traceBlock", raw, CALLS)
        assert refusal["code"] == -32000
        assert refusal["message"].startswith(message)


def test_simulated_blocks_follow_each_other_as_those_that_the_chain_makes(
    follower: Follower,
) -> None:
    followed(follower)
    head = blocks.head(follower.chain)
    now = head.header.timestamp + 12
    preview = EvmVM(follower.chain, previews=True).build(BlockContext(now), allow_empty=True)
    assert preview is not None

    simulated = follower.ask(
        "eth_simulateV1",
        {
            "blockStateCalls": [
                {"blockOverrides": {"time": hex(now)}},
                {"blockOverrides": {"number": hex(head.number + 4)}},
            ],
            "validation": True,
        },
        "latest",
    )
    assert simulated[0]["hash"] == encode_data(preview.hash)
    assert [int(block["number"], 16) for block in simulated] == [
        head.number + place for place in range(1, 5)
    ]
    parents = [encode_data(head.hash), *(block["hash"] for block in simulated[:-1])]
    assert [block["parentHash"] for block in simulated] == parents


def test_simulated_calls_have_the_capacity(follower: Follower) -> None:
    capacity = 10_000_000
    block = {
        "blockOverrides": {"gasLimit": hex(3 * capacity)},
        "calls": [{"to": READER, "gas": hex(capacity)}],
    }
    (simulated,) = follower.ask("eth_simulateV1", {"blockStateCalls": [block]}, "latest")
    assert simulated["gasUsed"] == "0x5208"

    more = {**block, "calls": [{"to": READER, "gas": hex(capacity + 1)}]}
    refusal = follower.ask("eth_simulateV1", {"blockStateCalls": [more]}, "latest")
    assert refusal == {
        "code": -38015,
        "message": f"block gas limit reached: remaining: {capacity}, required: {capacity + 1}",
    }


def test_answers_that_were_seen_to_differ_from_the_reference(follower: Follower) -> None:
    """Found by asking this node and an avalanchego node the same."""
    followed(follower)
    reverts = {"data": encode_data(assemble("0 0 REVERT"))}
    plain = {"code": -32000, "message": "execution reverted"}
    assert follower.ask("eth_call", reverts, "latest") == plain
    assert follower.ask("eth_estimateGas", reverts) == plain
    with_data = follower.ask("eth_call", {"data": encode_data(assemble("1 0 REVERT"))}, "latest")
    assert with_data == {"code": 3, "message": "execution reverted", "data": "0x00"}

    history = follower.ask("eth_feeHistory", "0x2", "latest", [50])
    assert [len(history[name]) for name in ("baseFeePerGas", "gasUsedRatio", "reward")] == [2] * 3

    upside_down = {"fromBlock": "0x5", "toBlock": "0x1"}
    refused = {"code": -32000, "message": "invalid block range params"}
    assert follower.ask("eth_getLogs", upside_down) == refused
