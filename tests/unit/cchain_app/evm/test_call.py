"""Calls by each engine: results, gas, failures with geth's messages, time limits, access lists."""

from typing import Any

import pytest

from cchain_app.evm.engine import (
    CallInterrupted,
    CallMessage,
    CallRejected,
    CallResult,
    GasAllowance,
    Log,
)
from cchain_app.evm.tracing import TracingEngine
from cchain_app.txs.signing import encode_authorization
from primitives.evm import ZERO_WORD, Address, Slot, Word
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from tests.builders import bytecode
from tests.builders.bytecode import assemble
from tests.builders.cchain import (
    BASE_FEE,
    COIN,
    SENDERS,
    MemoryState,
    authorization,
    block_env,
    call_message,
    genesis_state,
)

CONTRACT = Address(b"\xc0" * 20)
OTHER = Address(b"\xd0" * 20)
NOBODY = Address(b"\x0e" * 20)


def word(number: int) -> Word:
    return Word(number.to_bytes(32, "big"))


def with_code(code: bytes, **account: Any) -> MemoryState:
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1, **account)
    return state


def call(
    engine: TracingEngine,
    message: CallMessage,
    state: MemoryState | None = None,
    fork: str = "prague",
    **options: Any,
) -> CallResult:
    return engine.call(block_env(fork), message, state or genesis_state(), **options)


def run(engine: TracingEngine, code: bytes, fork: str = "prague", **message: Any) -> CallResult:
    return call(engine, call_message(CONTRACT, **message), with_code(code), fork)


def rejection(engine: TracingEngine, message: CallMessage, state: MemoryState | None = None) -> str:
    with pytest.raises(CallRejected) as caught:
        call(engine, message, state)
    return str(caught.value)


def test_a_call_returns_output_gas_and_logs_and_changes_nothing(engine: TracingEngine) -> None:
    state = with_code(bytecode.LOGGER)
    result = call(engine, call_message(CONTRACT, b"hi"), state)
    assert result.error is None
    assert result.output == b""
    assert result.gas_used == result.gas_peak > 21_000
    topics = (word(int.from_bytes(SENDERS[0])), word(1), word(2), word(3))
    assert result.logs == (
        Log(CONTRACT, (word(1), word(2)), b"hi"),
        Log(CONTRACT, topics, b"hi"),
    )
    assert call(engine, call_message(CONTRACT, b"hi"), state) == result


def test_call_to_an_empty_account_returns_no_data(engine: TracingEngine) -> None:
    assert call(engine, call_message(NOBODY)) == CallResult(b"", 21_000, 21_000, None)


def test_init_code_returns_the_runtime_code(engine: TracingEngine) -> None:
    result = call(engine, call_message(None, bytecode.deploy_code(bytecode.COUNTER)))
    assert result.output == bytecode.COUNTER
    assert result.error is None


def test_a_revert_gives_its_data(engine: TracingEngine) -> None:
    result = run(engine, bytecode.ECHO_REVERT, data=b"\x08\xc3\x79\xa0")
    assert result.error == "execution reverted"
    assert result.reverted
    assert result.output == b"\x08\xc3\x79\xa0"
    assert result.logs == ()


def test_the_peak_is_the_gas_before_refunds(engine: TracingEngine) -> None:
    state = with_code(assemble("0 1 SSTORE"), storage={1: 1})
    result = call(engine, call_message(CONTRACT), state)
    assert result.gas_peak == 21_000 + 3 + 3 + 5_000
    assert result.gas_used == result.gas_peak - 4_800


def test_contract_with_any_nonce_can_be_the_sender(engine: TracingEngine) -> None:
    state = with_code(bytecode.COUNTER)
    state.put(OTHER, code=bytecode.COUNTER, nonce=99)
    assert call(engine, call_message(CONTRACT, sender=OTHER), state).output == word(1)


def test_a_call_may_have_more_gas_than_block_and_transactions_may(engine: TracingEngine) -> None:
    result = call(engine, call_message(NOBODY, gas=50_000_000), fork="osaka")
    assert result.gas_used == 21_000


def test_without_a_price_the_base_fee_reads_zero(engine: TracingEngine) -> None:
    code = assemble("BASEFEE 0 MSTORE GASPRICE 32 MSTORE 64 0 RETURN")
    assert run(engine, code, sender=NOBODY).output == word(0) + word(0)
    assert run(engine, code, gas_price=2 * BASE_FEE).output == word(BASE_FEE) + word(2 * BASE_FEE)


def test_the_tip_is_within_the_effective_price(engine: TracingEngine) -> None:
    code = assemble("GASPRICE 0 MSTORE 32 0 RETURN")
    priced = run(engine, code, gas_price=2 * BASE_FEE, max_priority_fee=BASE_FEE)
    assert priced.output == word(2 * BASE_FEE)


def test_a_call_sees_its_surroundings(engine: TracingEngine) -> None:
    state = with_code(assemble("1 NUMBER SUB BLOCKHASH 0 MSTORE PREVRANDAO 32 MSTORE 64 0 RETURN"))
    state.hashes[4] = block_env().parent_hash
    env = block_env()
    assert call(engine, call_message(CONTRACT), state).output == env.parent_hash + env.prev_randao


def test_before_paris_the_difficulty_is_read(engine: TracingEngine) -> None:
    code = assemble("PREVRANDAO 0 MSTORE 32 0 RETURN")
    assert run(engine, code, "london").output == word(131_072)


def test_an_authorization_delegates_for_the_call(engine: TracingEngine) -> None:
    state = with_code(bytecode.COUNTER)
    entry = encode_authorization(authorization(1, CONTRACT, 0))
    assert call(engine, call_message(SENDERS[1], authorizations=(entry,)), state).output == word(1)
    assert call(engine, call_message(SENDERS[1]), state).output == b""


def test_authorizations_cannot_create(engine: TracingEngine) -> None:
    entry = encode_authorization(authorization(1, CONTRACT, 0))
    sender = checksum_address(SENDERS[0])
    assert rejection(engine, call_message(None, authorizations=(entry,))) == (
        f"EIP-7702 transaction cannot be used to create contract (sender {sender})"
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"sender": NOBODY, "value": 1},
            "insufficient funds for gas * price + value: address "
            f"{checksum_address(NOBODY)} have 0 want 1",
        ),
        (
            {"gas_price": 10**18, "gas": 30_000, "value": 1},
            "insufficient funds for gas * price + value: address "
            f"{checksum_address(SENDERS[0])} have {10_000 * COIN} want {30_000 * COIN + 1}",
        ),
        ({"gas": 20_999}, "intrinsic gas too low: have 20999, want 21000"),
        (
            {"gas": 21_100, "data": b"\x01" * 3},
            "insufficient gas for floor data gas cost: have 21100, want 21120",
        ),
        (
            {"gas_price": 5},
            "max fee per gas less than block base fee: address "
            f"{checksum_address(SENDERS[0])}, maxFeePerGas: 5, baseFee: {BASE_FEE}",
        ),
        (
            {"gas_price": BASE_FEE, "max_priority_fee": BASE_FEE + 1},
            "max priority fee per gas higher than max fee per gas: address "
            f"{checksum_address(SENDERS[0])}, maxPriorityFeePerGas: {BASE_FEE + 1}, "
            f"maxFeePerGas: {BASE_FEE}",
        ),
        (
            {"to": None, "data": bytes(49_153), "gas": 10**7},
            "max initcode size exceeded: code size 49153 limit 49152",
        ),
    ],
)
def test_invalid_call_is_rejected_with_geths_message(
    engine: TracingEngine, fields: dict[str, Any], words: str
) -> None:
    assert rejection(engine, call_message(NOBODY)._replace(**fields)) == words


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("out of gas", bytecode.LOOP),
        (
            "out of gas: not enough gas for reentrancy sentry",
            assemble("JUMPDEST GAS 2320 LT 0 JUMPI 1 0 SSTORE"),
        ),
        ("gas uint64 overflow", assemble("1", b"\x68" + b"\xff" * 9, "MSTORE")),
        ("invalid opcode: INVALID", assemble("INVALID")),
        ("invalid opcode: opcode 0xc not defined", bytecode.UNDEFINED),
        ("invalid jump destination", bytecode.BAD_JUMP),
        ("stack underflow (0 <=> 1)", assemble("POP")),
        ("stack underflow (1 <=> 2)", bytecode.UNDERFLOW),
        ("stack underflow (1 <=> 2)", assemble("1 SWAP1")),
        ("stack underflow (0 <=> 7)", assemble("CALL")),
        ("stack underflow (2 <=> 3)", assemble("1 1 DUP3")),
        ("stack limit reached 1024 (1023)", bytecode.OVERFLOW),
        ("return data out of bounds", assemble("1 0 0 RETURNDATACOPY")),
    ],
)
def test_failed_call_has_geths_message(engine: TracingEngine, words: str, code: bytes) -> None:
    result = run(engine, code, gas=100_000)
    assert (result.error, result.output, result.gas_used) == (words, b"", 100_000)


def test_an_instruction_of_a_later_fork_is_named(engine: TracingEngine) -> None:
    push0 = b"\x5f"
    assert run(engine, push0, "london").error == "invalid opcode: PUSH0"
    assert run(engine, push0, "shanghai").error is None


CREATIONS = {
    "invalid code: must not begin with 0xef": bytecode.deploy_code(b"\xef"),
    "max code size exceeded: code size 24577 limit 24576": assemble(24_577, "0 RETURN"),
    "contract creation code storage out of gas": assemble(20_000, "0 RETURN"),
    "out of gas": bytecode.LOOP,
    "execution reverted": assemble("0 0 REVERT"),
}


@pytest.mark.parametrize(("words", "init_code"), CREATIONS.items())
def test_failed_creation_has_geths_message(
    engine: TracingEngine, words: str, init_code: bytes
) -> None:
    gas = 10_000_000 if words.startswith("max code size exceeded") else 1_000_000
    assert call(engine, call_message(None, init_code, gas=gas)).error == words


def test_a_creation_at_a_taken_address_collides(engine: TracingEngine) -> None:
    state = genesis_state()
    state.put(bytecode.created(SENDERS[0], 0), code=bytecode.COUNTER, nonce=1)
    assert call(engine, call_message(None, b"\x00"), state).error == "contract address collision"


def test_a_failure_inside_is_the_callers_to_judge(engine: TracingEngine) -> None:
    state = with_code(bytecode.PROXY)
    state.put(OTHER, code=bytecode.UNDEFINED)
    result = call(engine, call_message(CONTRACT, bytecode.words(OTHER)), state)
    assert result.error is None
    assert result.output == word(0)


def test_a_time_limit_ends_a_loop_also_in_a_nested_call(engine: TracingEngine) -> None:
    state = with_code(bytecode.PROXY)
    state.put(OTHER, code=bytecode.LOOP)
    message = call_message(CONTRACT, bytecode.words(OTHER), gas=10**13)
    with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
        call(engine, message, state, time_limit=0.02)


def test_limits_that_are_not_reached_change_nothing(engine: TracingEngine) -> None:
    state, message = with_code(bytecode.COUNTER), call_message(CONTRACT)
    plain = call(engine, message, state)
    for options in ({"time_limit": 60.0}, {"time_limit": 1e300}):
        assert call(engine, message, state, **options) == plain


def test_access_list_contains_touched_accounts_in_order(engine: TracingEngine) -> None:
    code = assemble("5 SLOAD 1 2 SSTORE", bytes([0x73]) + OTHER, "BALANCE")
    code += assemble(bytes([0x73]) + SENDERS[0], "BALANCE 4 BALANCE")
    result = call(engine, call_message(CONTRACT), with_code(code), with_access_list=True)
    assert result.error is None
    assert result.access_list == (
        (CONTRACT, (Slot(word(2)), Slot(word(5)))),
        (OTHER, ()),
    )


def test_access_list_warms_its_accounts_and_slots(engine: TracingEngine) -> None:
    state = with_code(assemble("5 SLOAD"))
    listed = ((CONTRACT, (Slot(word(5)),)),)
    cold = call(engine, call_message(CONTRACT), state)
    warm = call(engine, call_message(CONTRACT, access_list=listed), state)
    assert warm.gas_used - cold.gas_used == 2_400 + 1_900 - 2_000


def test_a_failed_call_has_an_access_list_too(engine: TracingEngine) -> None:
    state = with_code(assemble("5 SLOAD INVALID"))
    result = call(engine, call_message(CONTRACT), state, with_access_list=True)
    assert result.error == "invalid opcode: INVALID"
    assert result.access_list == ((CONTRACT, (Slot(word(5)),)),)


def test_code_that_only_looks_like_a_delegation_is_code(engine: TracingEngine) -> None:
    assert run(engine, bytes.fromhex("ef01")).error == "invalid opcode: opcode 0xef not defined"


def test_a_call_changes_nothing(engine: TracingEngine) -> None:
    state = with_code(bytecode.COUNTER)
    before = dict(state.accounts), {key: dict(slots) for key, slots in state.storages.items()}
    engine.call(block_env(), call_message(CONTRACT), state)
    assert (state.accounts, state.storages) == before


def test_an_allowance_of_gas_ends_a_call(engine: TracingEngine) -> None:
    state, allowance = with_code(bytecode.LOOP), GasAllowance(100)
    with pytest.raises(CallInterrupted, match=r"^gas allowance used up$"):
        engine.call(block_env(), call_message(CONTRACT), state, allowance=allowance)
    assert allowance.left == 0
    done = engine.call(
        block_env(),
        call_message(CONTRACT),
        with_code(bytecode.COUNTER),
        allowance=GasAllowance(100_000),
    )
    assert done.error is None


def test_a_precompile_that_may_outlast_the_limit_is_not_begun(engine: TracingEngine) -> None:
    """Blake2f with 4 billion rounds would take hours and cannot be interrupted."""
    rounds = b"\xff\xff\xff\xff" + bytes(208) + b"\x01"
    message = call_message(Address(bytes(19) + b"\x09"), rounds, gas=2**40)
    with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
        engine.call(block_env(), message, genesis_state(), time_limit=1.0)


def test_access_list_omits_accounts_that_are_always_warm(
    engine: TracingEngine,
) -> None:
    other = Address(b"\xd0" * 20)
    state = with_code(bytecode.PROXY)
    state.put(other, code=bytecode.ECHO_REVERT, nonce=1)
    data = bytecode.words(other) + b"x"
    result = engine.call(block_env(), call_message(CONTRACT, data), state, with_access_list=True)
    assert result.access_list == ((CONTRACT, (Slot(word(1)),)), (other, ()))
    without = engine.call(block_env(), call_message(CONTRACT, data), state)
    assert without.access_list is None


def test_only_256_block_hashes_are_seen(engine: TracingEngine) -> None:
    state = with_code(bytecode.SURROUNDINGS)
    state.hashes = {number: keccak256(bytes([number % 256])) for number in range(300)}
    out = engine.call(block_env(number=300), call_message(CONTRACT), state).output
    assert out[320:352] == state.hashes[299]
    assert out[352:384] == ZERO_WORD
