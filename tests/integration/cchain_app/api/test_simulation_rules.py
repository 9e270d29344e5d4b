"""The rules of eth_simulateV1 that hold on any chain, from the exchanges of ethereum/execution-apis.

Those exchanges were recorded on another chain. These tests compare only results that do not depend on it: order,
limits, error codes and messages; effects of overrides; and gas, hashes and roots of transactions that name its ID.
"""

from typing import Any

import pytest

from cchain_app.txs.signing import sign_authorization
from jsonrpc.errors import JsonRpcError
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.secp256k1 import address_of_private_key
from tests.builders import bytecode
from tests.builders.bytecode import assemble, words

CHAIN_ID = 0xC72DD9D5E883E
"""The chain ID of the recorded exchanges."""

C0, C1, C2, C3 = (Address(bytes([0xC0 + place]) + bytes(19)) for place in range(4))
BLOCK_GAS = {"gasLimit": "0xbebc200"}
CALL_GAS = 50_000_000
"""The gas limit of calls that set none: the limit of the whole request."""

ANSWER = assemble("42 0 MSTORE 32 0 RETURN")
FIRST_SLOT = assemble("0 SLOAD 0 MSTORE 32 0 RETURN")
SIGNER = bytes(31) + b"\x07"
DELEGATING = address_of_private_key(SIGNER)

pytestmark = [pytest.mark.sqlite_only, pytest.mark.node_settings(chain_id=CHAIN_ID)]


def hexed(data: bytes) -> str:
    return f"0x{data.hex()}"


def call(sender: bytes = C0, to: bytes | None = C1, **fields: Any) -> dict[str, Any]:
    return {"from": hexed(sender), **({} if to is None else {"to": hexed(to)}), **fields}


def block(*calls: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"calls": list(calls), **members}


def overrides(**accounts: dict[str, Any]) -> dict[str, Any]:
    named = {"c0": C0, "c1": C1, "c2": C2, "delegating": DELEGATING}
    return {"stateOverrides": {hexed(named[name]): one for name, one in accounts.items()}}


@pytest.fixture
def simulate(chain: Any, rpc: Any) -> Any:
    """Simulate blocks on the genesis, the first of them with the recorded chain's gas limit."""

    def run(first: dict[str, Any], *others: dict[str, Any], **options: bool) -> Any:
        first = {**first, "blockOverrides": {**BLOCK_GAS, **first.get("blockOverrides", {})}}
        return rpc("eth_simulateV1", {"blockStateCalls": [first, *others], **options}, "latest")

    return run


@pytest.fixture
def refusal(simulate: Any) -> Any:
    def run(*blocks: dict[str, Any], **options: bool) -> tuple[int, str]:
        with pytest.raises(JsonRpcError) as refused:
            simulate(*blocks, **options)
        return refused.value.code, refused.value.message

    return run


def results(blocks: Any) -> list[list[Any]]:
    return [
        [(int(item["status"], 16), item["returnData"]) for item in each["calls"]] for each in blocks
    ]


def gas(found: Any) -> list[list[int]]:
    return [[int(item[name], 16) for name in ("gasUsed", "maxUsedGas")] for item in found["calls"]]


# Order and limits.


def at(**override: int) -> dict[str, Any]:
    return {"blockOverrides": {name: hex(value) for name, value in override.items()}}


@pytest.mark.parametrize(
    ("blocks", "code", "message"),
    [
        ([at(number=0)], -38020, "block numbers must be in order: 0 <= 0"),
        ([at(number=9), at(number=8)], -38020, "block numbers must be in order: 8 <= 9"),
        ([at(number=9), {}, at(number=10)], -38020, "block numbers must be in order: 10 <= 10"),
        ([at(time=2**40), at(time=2**40)], -38021, f"block timestamps must be in order: {2**40} <= {2**40}"),
        ([at(time=2**40), at(time=2**39)], -38021, f"block timestamps must be in order: {2**39} <= {2**40}"),
        ([at(number=257)], -38026, "too many blocks"),
        ([{}] * 257, -38026, "too many blocks"),
        ([block(*[{}] * 5_001)], -38026, "too many calls in block: 5001 > 5000"),
        ([block(*[{}] * 5_000)] * 3, -38026, "too many calls: 15000 > 10000"),
    ],
)  # fmt: skip
def test_blocks_are_in_order_and_not_too_many(
    refusal: Any, blocks: list[dict[str, Any]], code: int, message: str
) -> None:
    assert refusal(*blocks) == (code, message)


@pytest.mark.parametrize("payload", [{}, {"blockStateCalls": []}])
def test_nothing_cannot_be_simulated(chain: Any, rpc: Any, payload: dict[str, Any]) -> None:
    with pytest.raises(JsonRpcError) as refused:
        rpc("eth_simulateV1", payload, "latest")
    assert (refused.value.code, refused.value.message) == (-32602, "empty input")


def test_an_unknown_block_has_no_header(chain: Any, rpc: Any) -> None:
    with pytest.raises(JsonRpcError) as refused:
        rpc("eth_simulateV1", {"blockStateCalls": [{}]}, "0x111")
    assert (refused.value.code, refused.value.message) == (-32000, "header not found")


def test_a_block_without_anything_has_a_whole_header(simulate: Any) -> None:
    (found,) = simulate({})

    assert found["number"] == "0x1"
    for name, value in (
        ("baseFeePerGas", "0x0"), ("blobGasUsed", "0x0"), ("calls", []), ("difficulty", "0x0"),
        ("excessBlobGas", "0x0"), ("extraData", "0x"), ("gasLimit", "0xbebc200"), ("gasUsed", "0x0"),
        ("logsBloom", "0x" + "00" * 256), ("mixHash", "0x" + "00" * 32), ("nonce", "0x" + "00" * 8),
        ("parentBeaconBlockRoot", "0x" + "00" * 32), ("transactions", []), ("uncles", []),
        ("requestsHash", "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("receiptsRoot", "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"),
        ("withdrawals", []), ("withdrawalsRoot", "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"),
    ):  # fmt: skip
        assert found[name] == value, name


# Calls without or with few fields.


def test_a_plain_call_has_the_recorded_hash_and_roots(simulate: Any) -> None:
    """Neither the sender nor the block's base fee affects the hash and the roots."""
    free = {"maxFeePerGas": "0x0", "maxPriorityFeePerGas": "0x0"}
    for override in ({}, {"baseFeePerGas": "0xa"}):
        for sender in (C0, C1):
            (found,) = simulate(block(call(sender, **free), blockOverrides=override))
            assert found["baseFeePerGas"] == override.get("baseFeePerGas", "0x0")
            assert gas(found) == [[21_000, 21_000]]
            assert found["transactions"] == [
                "0x234a1d9897819c206fdeb6af312d742010a91b5b4159978a902c9a0b90e7bee5"
            ]
            assert found["transactionsRoot"] == (
                "0xed81b1bfe79c8c81d3fe874f7214a9fb9dd186e8243abfeabc506550a532c09a"
            )
            assert found["receiptsRoot"] == (
                "0xf78dfb743fbd92ade140711c8bbc542b5e307f0ab7984eff35d751969fe57efa"
            )


def test_a_call_without_any_member_creates(simulate: Any) -> None:
    (found,) = simulate(block({}), returnFullTransactions=True)
    (transaction,) = found["transactions"]

    assert gas(found) == [[53_000, 53_000]]
    place = {"blockHash", "blockNumber", "blockTimestamp", "transactionIndex"}
    assert {name: value for name, value in transaction.items() if name not in place} == {
        "from": "0x" + "00" * 20, "gas": hex(CALL_GAS), "gasPrice": "0x0", "maxFeePerGas": "0x0",
        "maxPriorityFeePerGas": "0x0", "input": "0x", "nonce": "0x0", "to": None, "value": "0x0",
        "type": "0x2", "accessList": [], "chainId": hex(CHAIN_ID), "v": "0x0", "r": "0x0", "s": "0x0",
        "yParity": "0x0",
        "hash": "0xaab6995ceb3fb6183ef81e8cdaa904e2c96f3907215d19771607e47dec9f8c14",
    }  # fmt: skip
    assert found["receiptsRoot"] == (
        "0xc508745f9f8b6847a127bbc58b7c6b2c0f073c7ca778b6f020138f0d6d782adf"
    )


def test_a_call_with_blobs_sees_them(simulate: Any) -> None:
    blob_hash = b"\x49"
    look = assemble(0, blob_hash, "0 MSTORE", 1, blob_hash, "32 MSTORE 64 0 RETURN")
    blob = "0x010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014"
    sent = call(maxFeePerGas="0x10", maxFeePerBlobGas="0xa", blobVersionedHashes=[blob])
    (found,) = simulate(
        block(
            sent,
            **overrides(c0={"balance": hex(10**9)}, c1={"code": hexed(look)}),
            blockOverrides={"baseFeePerGas": "0xf", "blobBaseFee": "0x0"},
        ),
        validation=True,
        returnFullTransactions=True,
    )

    assert results([found]) == [[(1, blob + "00" * 32)]]
    (transaction,) = found["transactions"]
    assert (transaction["type"], transaction["gasPrice"], found["blobGasUsed"]) == (
        "0x3", "0xf", "0x20000",
    )  # fmt: skip
    assert transaction["blobVersionedHashes"] == [blob]


def test_blobs_are_paid_before_the_call_runs(simulate: Any) -> None:
    balance = {
        "balance": hex(10**9),
        "code": hexed(assemble("ORIGIN BALANCE 0 MSTORE 32 0 RETURN")),
    }
    blob = call(to=C0, maxFeePerBlobGas="0xa", blobVersionedHashes=["0x01" + "00" * 31])
    free = block(blob, blockOverrides={"blobBaseFee": "0x0"}, **overrides(c0=balance))
    dear = block(blob, blockOverrides={"blobBaseFee": "0x3"})

    seen = [int(answer, 16) for ((_, answer),) in results(simulate(free, dear))]

    assert seen == [10**9, 10**9 - 3 * 2**17]


def test_an_undone_movement_counts_for_the_indices_of_logs(simulate: Any) -> None:
    rich = overrides(c0={"balance": "0x64"}, c1={"code": hexed(assemble("0 0 REVERT"))})
    calls = [call(to=C1, value="0x1"), call(to=C2, value="0x1"), call(to=C2, value="0x1")]

    (found,) = simulate(block(*calls, **rich), traceTransfers=True)

    assert [[log["logIndex"] for log in item["logs"]] for item in found["calls"]] == [
        [],
        ["0x1"],
        ["0x2"],
    ]


def test_the_highest_nonce_overflows_without_validation(simulate: Any) -> None:
    highest = overrides(c0={"nonce": hex(2**64 - 1)})

    (found,) = simulate(block(call(), call(), **highest), returnFullTransactions=True)

    assert [item["nonce"] for item in found["transactions"]] == [hex(2**64 - 1), "0x0"]


def test_last_call_has_the_remaining_gas(simulate: Any) -> None:
    """An overridden gas limit also applies to the following blocks."""
    spend = assemble("JUMPDEST GAS 500000 LT 0 JUMPI STOP")  # until half a million is left
    burn = assemble("JUMPDEST 0 JUMP")
    _, found = simulate(
        block(blockOverrides={"gasLimit": "0x16e360"}, **overrides(c1={"code": hexed(spend)}, c2={"code": hexed(burn)})),
        block(call(to=C1), call(to=C2)),
    )  # fmt: skip

    (first, _), (last, _) = gas(found)
    assert found["gasLimit"] == found["gasUsed"] == hex(1_500_000)
    assert first + last == 1_500_000
    assert found["calls"][1]["error"] == {"code": -32015, "message": "out of gas"}


# Errors that end a request.


def test_nonces_count_with_validation_alone(simulate: Any, refusal: Any) -> None:
    nonce = overrides(c0={"nonce": "0xa"})
    price = {"maxFeePerGas": "0x0"}
    free = {"blockOverrides": {"baseFeePerGas": "0x0"}}
    for given, code, which in ((0, -38010, "too low"), (11, -38011, "too high")):
        sent = call(nonce=hex(given), **price)
        assert refusal(block(sent, **nonce, **free), validation=True) == (
            code,
            f"err: nonce {which}: address 0xC000000000000000000000000000000000000000, "
            f"tx: {given} state: 10 (supplied gas {CALL_GAS})",
        )
        assert results(simulate(block(sent, **nonce))) == [[(1, "0x")]]
    (found,) = simulate(block(call(), call(), **nonce), returnFullTransactions=True)
    assert [item["nonce"] for item in found["transactions"]] == ["0xa", "0xb"]


def test_the_highest_nonce_is_refused_with_validation_alone(simulate: Any, refusal: Any) -> None:
    last = overrides(c0={"nonce": "0xffffffffffffffff"})

    assert refusal(block(call(), call(), **last), validation=True) == (
        -32603,
        "err: nonce has max value: address 0xC000000000000000000000000000000000000000, "
        f"nonce: 18446744073709551615 (supplied gas {CALL_GAS})",
    )
    assert results(simulate(block(call(), **last))) == [[(1, "0x")]]


def test_the_base_fee_is_paid_with_validation(refusal: Any) -> None:
    override = {"blockOverrides": {"baseFeePerGas": "0xa"}}
    code, message = refusal(block(call(), **override), validation=True)

    assert (code, message) == (
        -38012,
        "err: max fee per gas less than block base fee: address "
        f"0xC000000000000000000000000000000000000000, maxFeePerGas: 0, baseFee: 10 (supplied gas {CALL_GAS})",
    )
    assert refusal(block(call(maxFeePerGas="0x9"), **override))[0] == -38012


@pytest.mark.parametrize("options", [{}, {"validation": True}])
def test_value_is_paid_always(refusal: Any, options: dict[str, bool]) -> None:
    free = {"blockOverrides": {"baseFeePerGas": "0x0"}}

    assert refusal(block(call(value="0x3e8"), **free), **options) == (
        -38014,
        "err: insufficient funds for gas * price + value: address "
        f"0xC000000000000000000000000000000000000000 have 0 want 1000 (supplied gas {CALL_GAS})",
    )


def test_gas_must_cover_intrinsic_cost_and_fit_the_block(
    refusal: Any,
) -> None:
    assert refusal(block(call(C1, gas="0x0"))) == (
        -38013, "err: intrinsic gas too low: have 0, want 21000 (supplied gas 0)",
    )  # fmt: skip
    small = {"blockOverrides": {"gasLimit": hex(50_000)}}
    assert refusal(block(call(gas=hex(21_000)), call(gas=hex(30_000)), **small)) == (
        -38015, "block gas limit reached: remaining: 29000, required: 30000",
    )  # fmt: skip
    long = call(to=None, input="0x" + "00" * 49_153)
    assert refusal(block(long))[0] == -38025


@pytest.mark.parametrize(
    ("place", "to", "words_"),
    [
        (C1, C1, "account 0xc100000000000000000000000000000000000000 is not a precompile"),
        (C0, C1, "account 0xC000000000000000000000000000000000000000 is not a precompile"),
    ],
)
def test_nothing_but_precompiles_can_be_moved(
    refusal: Any, place: Address, to: Address, words_: str
) -> None:
    moved = {"stateOverrides": {hexed(place): {"movePrecompileToAddress": hexed(to)}}}

    assert refusal(block(**moved)) == (-32000, words_)


# Effects of overrides.


def delegation() -> dict[str, Any]:
    """Return a call that delegates an account to the code of another one."""
    entry = sign_authorization(CHAIN_ID, C1, 0, SIGNER)
    written = {
        "chainId": hex(CHAIN_ID),
        "address": hexed(C1),
        "nonce": "0x0",
        "yParity": hex(entry.y_parity),
        "r": hex(entry.r),
        "s": hex(entry.s),
    }
    return call(to=C0, authorizationList=[written])


EMPTY = {"code": "0x"}
FUNDED = {"c0": {"balance": "0x1e8480"}, "c1": {"code": hexed(ANSWER)}}
AS_OF_EXISTING, AS_OF_NEW = [36_800, 46_000], [46_000, 46_000]
"""Gas of a delegation: part of it is refunded if the account exists."""


def test_an_account_that_an_override_leaves_empty_exists(simulate: Any) -> None:
    (without,) = simulate(block(delegation(), call(to=DELEGATING), **overrides(**FUNDED)))
    (found,) = simulate(
        block(delegation(), call(to=DELEGATING), **overrides(delegating=EMPTY, **FUNDED))
    )

    assert gas(without)[0] == AS_OF_NEW
    assert gas(found)[0] == AS_OF_EXISTING
    assert results([found])[0][1] == results([without])[0][1] == (1, hexed(words(42)))


@pytest.mark.parametrize("again", [{}, overrides(delegating={"balance": "0x0"})])
def test_selfdestructed_contract_exists_in_the_next_block(
    simulate: Any, again: dict[str, Any]
) -> None:
    _, found = simulate(
        block(call(), **overrides(delegating=EMPTY, **FUNDED)),
        block(delegation(), call(to=DELEGATING), **again),
    )

    assert gas(found)[0] == AS_OF_EXISTING


@pytest.mark.parametrize("code", [hexed(ANSWER), "0xef0100" + C1.hex()])
def test_an_override_that_empties_a_contract_leaves_its_storage(simulate: Any, code: str) -> None:
    slot = {"0x" + "00" * 32: hexed(words(0x38))}
    _, _, found = simulate(
        block(**overrides(c2={"code": code, "nonce": "0x1", "state": slot})),
        block(call(to=C0), **overrides(c2={"nonce": "0x0", "code": "0x", "balance": "0x0"})),
        block(call(to=C2), **overrides(c2={"code": hexed(FIRST_SLOT)})),
    )

    assert results([found]) == [[(1, hexed(words(0x38)))]]


def test_a_state_takes_the_slots_away_that_it_does_not_name(simulate: Any) -> None:
    look = assemble("0 SLOAD 0 MSTORE 3 SLOAD 32 MSTORE 64 0 RETURN")
    slots = {hexed(words(slot)): hexed(words(slot + 1)) for slot in (0, 3)}
    named = {hexed(words(3)): hexed(words(42))}
    found = simulate(
        block(call(to=C2), **overrides(c2={"code": hexed(look), "state": slots})),
        block(call(to=C2), **overrides(c2={"state": named})),
        block(call(to=C2), **overrides(c2={"stateDiff": slots})),
        block(call(to=C2), **overrides(c2={"stateDiff": named})),
    )

    assert results(found) == [
        [(1, hexed(words(*read)))] for read in ((1, 4), (0, 42), (1, 4), (1, 42))
    ]


def test_overridden_code_is_replaced_by_a_later_creation(simulate: Any) -> None:
    created = bytecode.created(C0, 0)
    taken = {"stateOverrides": {hexed(created): EMPTY, hexed(C0): {"balance": "0x1e8480"}}}
    (found,) = simulate(
        block(call(to=None, input=hexed(bytecode.deploy_code(ANSWER))), call(to=created), **taken)
    )
    assert results([found])[0] == [(1, hexed(ANSWER)), (1, hexed(words(42)))]

    other = assemble("1 0 MSTORE 32 0 RETURN")
    designator = {"code": "0xef0100" + C2.hex()}
    for before, first in ((EMPTY, "0x"), (designator, hexed(words(1)))):
        (found,) = simulate(
            block(
                call(to=DELEGATING),
                delegation(),
                call(to=DELEGATING),
                **overrides(delegating=before, c2={"code": hexed(other)}, **FUNDED),
            )
        )
        assert results([found])[0] == [(1, first), (1, "0x"), (1, hexed(words(42)))]


def test_code_at_a_precompile_runs_in_its_stead(simulate: Any) -> None:
    identity = Address(bytes(19) + b"\x04")
    run = call(to=identity, input="0x1234")
    given = {"stateOverrides": {hexed(identity): {"code": hexed(ANSWER)}}}

    assert results(simulate(block(run), block(run, **given))) == [
        [(1, "0x1234")], [(1, hexed(words(42)))],
    ]  # fmt: skip


def test_a_precompile_has_the_hash_of_no_code_until_it_is_given_some(simulate: Any) -> None:
    first = Address(bytes(19) + b"\x01")
    look = assemble(1, "EXTCODEHASH 0 MSTORE 32 0 RETURN")
    given = {"stateOverrides": {hexed(first): {"code": hexed(ANSWER)}}}

    found = simulate(
        block(call(to=C2), **overrides(c2={"code": hexed(look)})), block(call(to=C2), **given)
    )
    assert results(found) == [[(1, hexed(words(0)))], [(1, hexed(keccak256(ANSWER)))]]


def test_two_precompiles_can_move_to_one_address(simulate: Any) -> None:
    moved = {
        "stateOverrides": {
            "0x" + "00" * 19 + place: {"movePrecompileToAddress": hexed(C2)}
            for place in ("01", "02")
        }
    }

    assert len(simulate(block(**moved))) == 1


def test_senders_may_have_code_or_be_precompiles(simulate: Any) -> None:
    contract = overrides(c0={"code": hexed(ANSWER), "balance": "0x3e8"})
    identity = Address(bytes(19) + b"\x04")
    found = simulate(
        block(call(value="0x3e8"), call(identity, to=C2), **contract), traceTransfers=True
    )

    assert results(found) == [[(1, "0x"), (1, "0x")]]
    (log,) = found[0]["calls"][0]["logs"]
    assert [log["address"], *log["topics"][1:], log["data"]] == [
        "0x" + "ee" * 20, *(f"0x{'00' * 12}{value.hex()}" for value in (C0, C1)), hexed(words(1_000)),
    ]  # fmt: skip


def test_a_contract_that_was_there_before_survives_its_selfdestruct(simulate: Any) -> None:
    destroyed = assemble(int.from_bytes(C3), "SELFDESTRUCT")
    size = assemble(int.from_bytes(C1), "EXTCODESIZE 0 MSTORE 32 0 RETURN")
    found = simulate(
        block(call(to=C2), **overrides(c1={"code": hexed(destroyed)}, c2={"code": hexed(size)})),
        block(call(to=C1)),
        block(call(to=C2)),
    )

    assert results([found[0], found[2]]) == [[(1, hexed(words(len(destroyed))))]] * 2
