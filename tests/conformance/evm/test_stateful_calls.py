"""Calls of the stateful precompiles by the vectors of etna, on both engines: gas, output, logs, state root, words."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cchain_app.evm.engine import BlockEnv, CallMessage, Log
from cchain_app.evm.tracing import Recording, TracingEngine
from cchain_app.evm.upgrades import upgrade_changes
from cchain_app.genesis_fields import parse_address
from cchain_app.precompiles.fee_config import parse_fee_config
from cchain_app.precompiles.parsing import parse_precompiles
from cchain_app.transaction_log.declarations import listed
from primitives.evm import Address, Word
from primitives.hashing import keccak256
from tests.builders.bytecode import assemble
from tests.builders.cchain import MemoryState, block_env
from tests.builders.roots import state_root

VECTORS = Path(__file__).parents[2] / "vectors" / "etna"
CALLS = json.loads((VECTORS / "subnet_evm_calls.json").read_text())
GENESIS = json.loads(CALLS["genesis"])
TIME = int(GENESIS["timestamp"], 16)
BASE_GAS = 21_000
PROXY_GAS = 10_000_000


@pytest.fixture(scope="module")
def genesis() -> MemoryState:
    config = GENESIS["config"]
    schedule = parse_precompiles(config, fee_config=parse_fee_config(config["feeConfig"]))
    state = MemoryState()
    state.apply(upgrade_changes(schedule, state, parent=None, timestamp=TIME, number=0))
    for key, entry in GENESIS["alloc"].items():
        state.put(parse_address(key, key), balance=int(entry["balance"], 16))
    return state


@pytest.fixture(scope="module")
def env() -> BlockEnv:
    config = GENESIS["config"]
    active = parse_precompiles(config).active_at(
        TIME + 100,
        network_id=CALLS["networkID"],
        blockchain_id=bytes.fromhex(CALLS["blockchainIDHex"]),
    )
    return block_env("cancun", number=7, timestamp=TIME + 100, base_fee=1, stateful=active)


def intrinsic(data: bytes) -> int:
    return BASE_GAS + sum(16 if byte else 4 for byte in data)


def called(case: dict[str, Any]) -> tuple[Address, Address, bytes]:
    return (
        parse_address(case["from"], "from"),
        parse_address(case["to"], "to"),
        bytes.fromhex(case["input"]),
    )


def cases_of(*, static: bool) -> list[Any]:
    """Return the cases of which a transaction can be the caller, or those that need a STATICCALL."""
    return [
        pytest.param(case, id=case["name"])
        for case in CALLS["cases"]
        if case["static"] is static or (not static and "error" not in case)
    ]


@pytest.mark.parametrize("case", cases_of(static=False))
def test_calls_equal_the_reference(
    case: dict[str, Any], engine: TracingEngine, env: BlockEnv, genesis: MemoryState
) -> None:
    sender, to, data = called(case)
    message = CallMessage(sender, to, case["gas"] + intrinsic(data), 0, 0, data)

    result = engine.call(env, message, genesis)
    traced = engine.trace_call(env, message, genesis, Recording(frames=True, changes=True))

    assert result.error == case.get("error")
    assert traced.error == case.get("error")
    assert message.gas - result.gas_peak == case["gasLeft"]
    assert result.output.hex() == case["output"]
    if "error" in case:
        return
    assert list(result.logs) == list(logs_of(case))
    assert [placed.log for placed in traced.frames[0].logs] == list(logs_of(case))
    assert traced.state is not None
    after = genesis.copy()
    after.apply(traced.state.changes)
    forget_nonce(after, genesis, sender)
    assert "0x" + state_root(after).hex() == case["stateRootAfter"]


def logs_of(case: dict[str, Any]) -> Iterator[Log]:
    for log in case["logs"]:
        topics = tuple(Word(bytes.fromhex(topic[2:])) for topic in log["topics"])
        yield Log(parse_address(log["address"], "log"), topics, bytes.fromhex(log["data"]))


def forget_nonce(after: MemoryState, before: MemoryState, sender: Address) -> None:
    """Undo what the transaction around a call does to its sender; the vectors have no transaction."""
    known = before.account(sender)
    assert after.accounts[sender].nonce == (0 if known is None else known.nonce) + 1
    if known is None:
        del after.accounts[sender]
    else:
        after.accounts[sender] = after.accounts[sender]._replace(nonce=known.nonce)


@pytest.mark.parametrize("case", cases_of(static=True))
def test_static_calls_equal_the_reference(
    case: dict[str, Any], engine: TracingEngine, env: BlockEnv, genesis: MemoryState
) -> None:
    sender, to, data = called(case)
    state = genesis.copy()
    # the caller is a contract here, which makes the call and returns what it returned
    stores = b"".join(
        assemble(int.from_bytes(data[at : at + 32].ljust(32, b"\0"), "big"), at, "MSTORE")
        for at in range(0, len(data), 32)
    )
    calling = assemble(0, 0, len(data), 0, int.from_bytes(to, "big"), case["gas"], "STATICCALL")
    returning = assemble("POP RETURNDATASIZE 0 0 RETURNDATACOPY RETURNDATASIZE 0 RETURN")
    state.put(sender, code=stores + calling + returning)
    caller = Address(b"\xee" * 20)

    traced = engine.trace_call(
        env, CallMessage(caller, sender, PROXY_GAS, 0, 0, b""), state, Recording(frames=True)
    )

    frame = traced.frames[1]
    assert frame.error == case.get("error")
    assert frame.gas - frame.gas_used == case["gasLeft"]
    assert frame.output.hex() == case["output"]


def test_selectors_and_topics_are_those_of_the_abis() -> None:
    cases = json.loads((VECTORS / "subnet_evm_precompiles.json").read_text())["cases"]

    assert len(cases) == 6
    for case in cases:
        for name, selector in case["selectors"].items():
            assert keccak256(name.encode())[:4].hex() == selector
        for name, topic in case["topics"].items():
            assert "0x" + keccak256(name.encode()).hex() == topic


def test_the_explorer_has_names_for_all_of_them() -> None:
    cases = json.loads((VECTORS / "subnet_evm_precompiles.json").read_text())["cases"]
    functions = {one.selector.hex() for one in listed("functions")}
    events = {"0x" + one.topic.hex() for one in listed("events")}

    for case in cases:
        assert functions.issuperset(case["selectors"].values())
        assert events.issuperset(case["topics"].values())


@pytest.mark.parametrize("scheme", ["DELEGATECALL", "CALLCODE"])
def test_delegate_calls_revert_and_use_up_the_gas(
    scheme: str, engine: TracingEngine, env: BlockEnv, genesis: MemoryState
) -> None:
    state = genesis.copy()
    target = int.from_bytes(parse_address("0x0200000000000000000000000000000000000005", ""), "big")
    value = () if scheme == "DELEGATECALL" else (0,)
    opcode = b"\xf4" if scheme == "DELEGATECALL" else b"\xf2"
    code = assemble(0x4213CF78 << 224, 0, "MSTORE", 0, 0, 4, 0, *value, target, 50_000, opcode)
    contract = state.put(Address(b"\xcc" * 20), code=code)

    message = CallMessage(Address(b"\xee" * 20), contract, PROXY_GAS, 0, 0, b"")
    traced = engine.trace_call(env, message, state, Recording(frames=True))

    frame = traced.frames[1]
    assert (frame.error, frame.output, frame.gas_used) == ("execution reverted", b"", 50_000)


def test_without_the_precompiles_the_addresses_are_accounts(
    engine: TracingEngine, env: BlockEnv, genesis: MemoryState
) -> None:
    sender, to, data = called(CALLS["cases"][0])
    plain = replace(env, stateful=block_env("cancun").stateful)

    result = engine.call(plain, CallMessage(sender, to, 100_000, 0, 0, data), genesis)

    # code 0x01 is an ADD without operands
    assert result.error == "stack underflow (0 <=> 2)"
