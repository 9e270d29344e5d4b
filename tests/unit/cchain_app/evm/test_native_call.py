"""What only the native engine does: its reads, its errors, and other threads; `test_call` runs both engines."""

from dataclasses import replace
from threading import Thread

import pytest

from cchain_app.evm.engine import CallInterrupted, CallRejected
from cchain_app.evm.native import NativeEngine
from cchain_app.evm.tracing import Recording
from primitives.evm import Address, Hash
from tests.builders import bytecode
from tests.builders.bytecode import assemble
from tests.builders.cchain import MemoryState, block_env, call_message, genesis_state

ENGINE = NativeEngine()
CONTRACT = Address(b"\xc0" * 20)


def with_code(code: bytes) -> MemoryState:
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1)
    return state


def test_the_hash_of_a_block_is_read_once_however_often_a_call_wants_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def block_hash(_state: MemoryState, number: int) -> Hash:
        asked.append(number)
        return Hash((1_000 + number).to_bytes(32, "big"))

    monkeypatch.setattr(MemoryState, "block_hash", block_hash)
    # Adds the hashes of the two previous blocks ten times.
    step = "NUMBER 1 SWAP1 SUB BLOCKHASH ADD NUMBER 2 SWAP1 SUB BLOCKHASH ADD "
    code = assemble("0 " + 10 * step + "0 MSTORE 32 0 RETURN")
    number = block_env("prague").number

    result = ENGINE.call(block_env("prague"), call_message(CONTRACT), with_code(code))

    assert int.from_bytes(result.output) == 10 * (2_000 + number - 1 + number - 2)
    assert asked == [number - 1, number - 2]


def test_other_threads_run_while_a_long_call_runs() -> None:
    """A loop with a time limit releases the interpreter lock, so this thread sees it running."""
    state = with_code(bytecode.LOOP)
    outcome: list[BaseException] = []

    def loop() -> None:
        try:
            ENGINE.call(block_env(), call_message(CONTRACT, gas=10**13), state, time_limit=0.3)
        except CallInterrupted as interruption:
            outcome.append(interruption)

    thread = Thread(target=loop)
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
    assert len(outcome) == 1
    assert turns > 10


@pytest.mark.parametrize(
    ("price", "base_fee", "words"),
    [
        (1 << 128, 0, "gas price or base fee higher than any account can pay"),
        (1 << 100, 1 << 64, "insufficient funds"),  # the words of the reference engine
    ],
)
def test_fees_beyond_the_engines_are_rejected(price: int, base_fee: int, words: str) -> None:
    message = call_message(CONTRACT, gas_price=price)

    with pytest.raises(CallRejected, match=words):
        ENGINE.call(block_env(base_fee=base_fee), message, MemoryState())


def test_a_blob_base_fee_beyond_128_bits_is_rejected() -> None:
    with pytest.raises(CallRejected, match="base fee higher than any account can pay"):
        ENGINE.call(block_env(blob_base_fee=2**128), call_message(CONTRACT), MemoryState())


def test_an_unknown_fork_is_named() -> None:
    with pytest.raises(ValueError, match=r"^unknown fork atlantis$"):
        ENGINE.call(replace(block_env(), fork="atlantis"), call_message(CONTRACT), MemoryState())


def test_precompile_failures_have_geths_messages() -> None:
    code = b"".join(assemble(0, 0, 0, 0, 0, number, 100_000, "CALL") for number in (9, 10, 0))
    frames = ENGINE.trace_call(
        block_env(), call_message(CONTRACT), with_code(code), Recording(frames=True)
    ).frames
    assert [(frame.precompile, frame.error) for frame in frames[1:]] == [
        (True, "invalid input length"),
        (True, "invalid input length"),
        (False, None),
    ]
