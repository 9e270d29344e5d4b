"""The contracts written in assembly do what their listings say."""

import pytest

from benchmarks.contracts import call_data, creation_code
from cchain_app.evm.native import NativeEngine
from primitives.evm import Address
from primitives.hashing import keccak256
from tests.builders.cchain import MemoryState, block_env, call_message, genesis_state

CONTRACT = Address(b"\xc0" * 20)
SET = 20_000
"""Gas for the first value of a slot."""


def on_chain(name: str = "Slots", **account: object) -> MemoryState:
    engine, state = NativeEngine(), genesis_state()
    made = engine.call(block_env(), call_message(None, creation_code(name)), state)
    assert made.error is None
    state.put(CONTRACT, code=made.output, nonce=1, **account)
    return state


def test_slots_are_added_up_between_their_bounds() -> None:
    state = on_chain(storage={slot: slot + 1 for slot in range(100)})
    message = call_message(CONTRACT, call_data("sum(uint256,uint256)", 10, 90))

    result = NativeEngine().call(block_env(), message, state)
    assert result.error is None
    assert int.from_bytes(result.output, "big") == sum(range(11, 91))


def test_slots_between_the_bounds_get_their_number_plus_one() -> None:
    filled = on_chain(storage={slot: slot + 1 for slot in range(5, 15)})
    message = call_message(CONTRACT, call_data("fill(uint256,uint256)", 5, 15))

    # Slots that already have the value are not written; otherwise ten slots get their first value.
    again, first = (
        NativeEngine().call(block_env(), message, state) for state in (filled, on_chain())
    )
    assert again.error is first.error is None
    assert first.gas_used - again.gas_used == 10 * (SET - 100)


LEFT = 5_000
"""Gas at which the loops end."""


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def hashed(value: bytes) -> bytes:
    return keccak256(value)


def mixed(value: bytes) -> bytes:
    number = int.from_bytes(value, "big") * 3 + 7
    number = number % 2**256
    return keccak256(word(number ^ number >> 3) + word(9))


@pytest.mark.parametrize(("data", "step"), [(b"", hashed), (b"\1", mixed)])
def test_loops_end_when_little_gas_is_left(data: bytes, step) -> None:
    state = on_chain("Loops", storage={0: 9})
    found = [
        NativeEngine().call(block_env(), call_message(CONTRACT, data, gas=gas), state)
        for gas in (40_000, 80_000)
    ]
    values = [word(0)]
    for _ in range(2_000):
        values.append(step(values[-1]))
    assert [result.error for result in found] == [None, None]
    rounds = [values.index(result.output) for result in found]
    assert 1 < rounds[0] < rounds[1]
    for result, gas in zip(found, (40_000, 80_000), strict=True):
        assert gas - LEFT <= result.gas_used < gas
