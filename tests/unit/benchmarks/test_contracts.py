"""The contract written in assembly does what its listing says."""

from benchmarks.contracts import call_data, creation_code
from cchain_app.evm.native import NativeEngine
from primitives.evm import Address
from tests.builders.cchain import MemoryState, block_env, call_message, genesis_state

CONTRACT = Address(b"\xc0" * 20)
SET = 20_000
"""Gas for the first value of a slot."""


def on_chain(**account: object) -> MemoryState:
    engine, state = NativeEngine(), genesis_state()
    made = engine.call(block_env(), call_message(None, creation_code("Slots")), state)
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
