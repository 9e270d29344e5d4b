"""The reference engine records the same of calls as the native one; conformance tests compare everything."""

import json
from dataclasses import replace

import pytest

from cchain_app.evm.native import NativeEngine
from cchain_app.evm.reference import ReferenceEngine
from cchain_app.evm.tracing import Recording, StepOptions
from primitives.evm import Address
from tests.builders import bytecode
from tests.builders.cchain import block_env, call_message, genesis_state

CONTRACT, OTHER = Address(b"\xc0" * 20), Address(b"\xd0" * 20)
EVERYTHING = Recording(
    frames=True,
    state=True,
    steps=StepOptions(memory=True, return_data=True),
    vm=True,
    preimages=True,
    opcodes=True,
)
CODES = {
    "counts": bytecode.COUNTER,
    "logs": bytecode.LOGGER,
    "calls": bytecode.PROXY,
    "creates": bytecode.FACTORY,
    "reverts": bytecode.ECHO_REVERT,
    "jumps nowhere": bytecode.BAD_JUMP,
    "ends itself": bytecode.DESTROYER,
    "reads no slot": bytecode.assemble("SLOAD"),
    "hashes half an area": bytecode.assemble("1 KECCAK256"),
    "calls with one item": bytecode.assemble("1 GAS CALL"),
    "looks at no code": bytecode.assemble("GAS POP EXTCODESIZE"),
}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_call_is_recorded_the_same_by_both_engines(code):
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1, balance=9)
    state.put(OTHER, code=bytecode.COUNTER, nonce=1)
    message = call_message(to=CONTRACT, data=bytes(12) + OTHER, gas=200_000)
    found, expected = (
        engine.trace_call(block_env("prague"), message, state, EVERYTHING)
        for engine in (ReferenceEngine(), NativeEngine())
    )
    assert steps(found) == steps(expected)
    assert steps(found)
    assert json.loads(found.vm) == json.loads(expected.vm)
    assert dict(found.state.accounts) == dict(expected.state.accounts)
    assert dict(found.state.changes.storage) == dict(expected.state.changes.storage)
    assert without_records(found) == without_records(expected)


def steps(trace):
    return json.loads(b"[" + trace.steps + b"]")


def without_records(trace):
    return replace(trace, state=None, steps=b"", vm=b"")
