"""Calls by the native engine: results, gas, failures with geth's messages, limits, access lists."""

from threading import Thread
from typing import Any

import pytest

from cchain_app.evm.engine import (
    CallInterrupted,
    CallMessage,
    CallRejected,
    CallResult,
    Log,
)
from cchain_app.evm.native import NativeEngine
from cchain_app.txs.signing import encode_authorization
from primitives.evm import Address, Hash, Slot, Word
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

ENGINE = NativeEngine()
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
    message: CallMessage, state: MemoryState | None = None, fork: str = "prague", **options: Any
) -> CallResult:
    return ENGINE.call(block_env(fork), message, state or genesis_state(), **options)


def run(code: bytes, fork: str = "prague", **message: Any) -> CallResult:
    return call(call_message(CONTRACT, **message), with_code(code), fork)


def rejection(message: CallMessage, state: MemoryState | None = None) -> str:
    with pytest.raises(CallRejected) as caught:
        call(message, state)
    return str(caught.value)


def test_a_call_returns_output_gas_and_logs_and_changes_nothing() -> None:
    state = with_code(bytecode.LOGGER)
    result = call(call_message(CONTRACT, b"hi"), state)
    assert result.error is None
    assert result.output == b""
    assert result.gas_used == result.gas_peak > 21_000
    topics = (word(int.from_bytes(SENDERS[0])), word(1), word(2), word(3))
    assert result.logs == (
        Log(CONTRACT, (word(1), word(2)), b"hi"),
        Log(CONTRACT, topics, b"hi"),
    )
    assert call(call_message(CONTRACT, b"hi"), state) == result


def test_the_hash_of_a_block_is_read_once_however_often_a_call_wants_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def block_hash(_state: MemoryState, number: int) -> Hash:
        asked.append(number)
        return Hash(word(1_000 + number))

    monkeypatch.setattr(MemoryState, "block_hash", block_hash)
    # Adds the hashes of the two previous blocks ten times.
    step = "NUMBER 1 SWAP1 SUB BLOCKHASH ADD NUMBER 2 SWAP1 SUB BLOCKHASH ADD "
    code = assemble("0 " + 10 * step + "0 MSTORE 32 0 RETURN")
    number = block_env("prague").number

    result = run(code)

    assert int.from_bytes(result.output) == 10 * (2_000 + number - 1 + number - 2)
    assert asked == [number - 1, number - 2]


def test_a_call_to_nobody_returns_nothing() -> None:
    assert call(call_message(NOBODY)) == CallResult(b"", 21_000, 21_000, None)


def test_init_code_returns_the_runtime_code() -> None:
    result = call(call_message(None, bytecode.deploy_code(bytecode.COUNTER)))
    assert result.output == bytecode.COUNTER
    assert result.error is None


def test_a_revert_gives_its_data() -> None:
    result = run(bytecode.ECHO_REVERT, data=b"\x08\xc3\x79\xa0")
    assert result.error == "execution reverted"
    assert result.reverted
    assert result.output == b"\x08\xc3\x79\xa0"
    assert result.logs == ()


def test_the_peak_is_the_gas_before_refunds() -> None:
    state = with_code(assemble("0 1 SSTORE"), storage={1: 1})
    result = call(call_message(CONTRACT), state)
    assert result.gas_peak == 21_000 + 3 + 3 + 5_000
    assert result.gas_used == result.gas_peak - 4_800


def test_the_sender_may_be_a_contract_with_any_nonce() -> None:
    state = with_code(bytecode.COUNTER)
    state.put(OTHER, code=bytecode.COUNTER, nonce=99)
    assert call(call_message(CONTRACT, sender=OTHER), state).output == word(1)


def test_a_call_may_have_more_gas_than_block_and_transactions_may() -> None:
    result = call(call_message(NOBODY, gas=50_000_000), fork="osaka")
    assert result.gas_used == 21_000


def test_without_a_price_the_base_fee_reads_zero() -> None:
    code = assemble("BASEFEE 0 MSTORE GASPRICE 32 MSTORE 64 0 RETURN")
    assert run(code).output == word(0) + word(0)
    assert run(code, gas_price=2 * BASE_FEE).output == word(BASE_FEE) + word(2 * BASE_FEE)


def test_the_tip_is_within_the_effective_price() -> None:
    code = assemble("GASPRICE 0 MSTORE 32 0 RETURN")
    priced = run(code, gas_price=2 * BASE_FEE, max_priority_fee=BASE_FEE)
    assert priced.output == word(2 * BASE_FEE)


def test_a_call_sees_its_surroundings() -> None:
    state = with_code(assemble("1 NUMBER SUB BLOCKHASH 0 MSTORE PREVRANDAO 32 MSTORE 64 0 RETURN"))
    state.hashes[4] = block_env().parent_hash
    env = block_env()
    assert call(call_message(CONTRACT), state).output == env.parent_hash + env.prev_randao


def test_before_paris_the_difficulty_is_read() -> None:
    code = assemble("PREVRANDAO 0 MSTORE 32 0 RETURN")
    assert run(code, "london").output == word(131_072)


def test_an_authorization_delegates_for_the_call() -> None:
    state = with_code(bytecode.COUNTER)
    entry = encode_authorization(authorization(1, CONTRACT, 0))
    assert call(call_message(SENDERS[1], authorizations=(entry,)), state).output == word(1)
    assert call(call_message(SENDERS[1]), state).output == b""


def test_authorizations_cannot_create() -> None:
    entry = encode_authorization(authorization(1, CONTRACT, 0))
    sender = checksum_address(SENDERS[0])
    assert rejection(call_message(None, authorizations=(entry,))) == (
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
def test_a_call_that_cannot_begin_is_rejected_in_geths_words(
    fields: dict[str, Any], words: str
) -> None:
    assert rejection(call_message(NOBODY)._replace(**fields)) == words


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
def test_a_failure_has_geths_words(words: str, code: bytes) -> None:
    result = run(code, gas=100_000)
    assert (result.error, result.output, result.gas_used) == (words, b"", 100_000)


def test_an_instruction_of_a_later_fork_is_named() -> None:
    push0 = b"\x5f"
    assert run(push0, "london").error == "invalid opcode: PUSH0"
    assert run(push0, "shanghai").error is None


CREATIONS = {
    "invalid code: must not begin with 0xef": bytecode.deploy_code(b"\xef"),
    "max code size exceeded: code size 24577 limit 24576": assemble(24_577, "0 RETURN"),
    "contract creation code storage out of gas": assemble(20_000, "0 RETURN"),
    "out of gas": bytecode.LOOP,
    "execution reverted": assemble("0 0 REVERT"),
}


@pytest.mark.parametrize(("words", "init_code"), CREATIONS.items())
def test_a_failed_creation_has_geths_words(words: str, init_code: bytes) -> None:
    gas = 10_000_000 if words.startswith("max code size exceeded") else 1_000_000
    assert call(call_message(None, init_code, gas=gas)).error == words


def test_a_creation_at_a_taken_address_collides() -> None:
    state = genesis_state()
    state.put(bytecode.created(SENDERS[0], 0), code=bytecode.COUNTER, nonce=1)
    assert call(call_message(None, b"\x00"), state).error == "contract address collision"


def test_a_failure_inside_is_the_callers_to_judge() -> None:
    state = with_code(bytecode.PROXY)
    state.put(OTHER, code=bytecode.UNDEFINED)
    result = call(call_message(CONTRACT, bytecode.words(OTHER)), state)
    assert result.error is None
    assert result.output == word(0)


def test_a_time_limit_ends_a_loop_also_in_a_nested_call() -> None:
    state = with_code(bytecode.PROXY)
    state.put(OTHER, code=bytecode.LOOP)
    message = call_message(CONTRACT, bytecode.words(OTHER), gas=10**13)
    with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
        call(message, state, time_limit=0.02)


def test_limits_that_are_not_reached_change_nothing() -> None:
    state, message = with_code(bytecode.COUNTER), call_message(CONTRACT)
    plain = call(message, state)
    for options in ({"time_limit": 60.0}, {"time_limit": 1e300}):
        assert call(message, state, **options) == plain


def test_other_threads_run_while_a_long_call_runs() -> None:
    """A loop with a time limit releases the interpreter lock, so this thread sees it running."""
    state = with_code(bytecode.LOOP)
    outcome: list[BaseException] = []

    def loop() -> None:
        try:
            call(call_message(CONTRACT, gas=10**13), state, time_limit=0.3)
        except CallInterrupted as interruption:
            outcome.append(interruption)

    thread = Thread(target=loop)
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
    assert len(outcome) == 1
    assert turns > 10


def test_an_access_list_holds_what_was_touched_in_order() -> None:
    code = assemble("5 SLOAD 1 2 SSTORE", bytes([0x73]) + OTHER, "BALANCE")
    code += assemble(bytes([0x73]) + SENDERS[0], "BALANCE 4 BALANCE")
    result = call(call_message(CONTRACT), with_code(code), with_access_list=True)
    assert result.error is None
    assert result.access_list == (
        (CONTRACT, (Slot(word(2)), Slot(word(5)))),
        (OTHER, ()),
    )


def test_an_access_list_makes_what_it_names_warm() -> None:
    state = with_code(assemble("5 SLOAD"))
    listed = ((CONTRACT, (Slot(word(5)),)),)
    cold = call(call_message(CONTRACT), state)
    warm = call(call_message(CONTRACT, access_list=listed), state)
    assert warm.gas_used - cold.gas_used == 2_400 + 1_900 - 2_000


def test_a_failed_call_has_an_access_list_too() -> None:
    state = with_code(assemble("5 SLOAD INVALID"))
    result = call(call_message(CONTRACT), state, with_access_list=True)
    assert result.error == "invalid opcode: INVALID"
    assert result.access_list == ((CONTRACT, (Slot(word(5)),)),)


def test_code_that_only_looks_like_a_delegation_is_code() -> None:
    assert run(bytes.fromhex("ef01")).error == "invalid opcode: opcode 0xef not defined"


@pytest.mark.parametrize(
    ("fields", "base_fee"), [({"gas_price": 1 << 128}, 0), ({"gas_price": 1 << 100}, 1 << 64)]
)
def test_prices_that_nobody_can_pay_are_rejected(fields: dict[str, Any], base_fee: int) -> None:
    message = call_message(CONTRACT, **fields)

    with pytest.raises(CallRejected, match="gas price or base fee beyond what can be paid"):
        NativeEngine().call(block_env(base_fee=base_fee), message, MemoryState())
