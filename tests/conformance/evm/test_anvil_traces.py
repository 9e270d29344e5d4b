"""Parity and Otterscan formats compared to Anvil's results, except for known errors of Anvil."""

import copy
import json
from typing import Any

import pytest

from cchain_app.evm.tracing import Frame, Recording, TracingEngine, TransactionTrace
from cchain_app.tracing import otterscan, parity
from cchain_app.tracing.output import data
from tests.conformance.evm.tracing_vectors import NAMES, VECTORS, tracing_cases

FILES = {name: json.loads((VECTORS / "cases" / f"{name}.json").read_text()) for name in NAMES}
OTHERS = {"environment", "beacon_root_read"}
"""Their results depend on the block, which differs from Anvil's."""
COMPARED = [name for name in NAMES if "anvil" in FILES[name] and name not in OTHERS]

WORDS = {
    "CreateCollision": "contract address collision",
    "CreateContractStartingWithEF": "invalid code: must not begin with 0xef",
    "Insufficient balance for transfer": "insufficient balance for transfer",
    "OutOfOffset": "Out of bounds",
    "StackUnderflow": "Stack underflow",
    "StateChangeDuringStaticCall": "Mutable Call In Static Context",
}
"""Errors that Anvil names after revm's results, with the messages of this node."""


def anvils(name: str, form: str) -> Any:
    """Return a copy of Anvil's result, so that the test may change it."""
    return copy.deepcopy(FILES[name]["anvil"][form])


def traced(engine: TracingEngine, name: str) -> TransactionTrace:
    case = tracing_cases()[name]
    block = engine.trace_block(case.env, [case.transaction], case.state, Recording(frames=True))
    (found,) = block.transactions
    return found


def with_precompiles(frames: tuple[Frame, ...]) -> list[Frame]:
    """Return frames whose precompile calls are shown too, as Anvil does."""
    return [frame._replace(precompile=False) for frame in frames]


def as_json(values: Any) -> Any:
    return json.loads(json.dumps(list(values)))


@pytest.mark.parametrize("name", COMPARED)
def test_entries_are_anvils(engine: TracingEngine, name: str) -> None:
    found = as_json(parity.entries(with_precompiles(traced(engine, name).frames)))
    expected = anvils(name, "trace")
    for entry in expected:
        del entry["transactionHash"]
        if "error" in entry:
            entry["error"] = WORDS.get(entry["error"], entry["error"])
    assert found == expected


@pytest.mark.parametrize("name", COMPARED)
def test_calls_are_anvils(engine: TracingEngine, name: str) -> None:
    """Anvil omits creations and SELFDESTRUCT, and shows a value that delegate calls do not transfer."""
    listed = as_json(otterscan.calls(with_precompiles(traced(engine, name).frames)))
    found = [item for item in listed if item["type"].endswith(("CALL", "CALLCODE"))]
    expected = anvils(name, "ots_trace")
    for other in expected:
        if other["type"] in {"DELEGATECALL", "STATICCALL"}:
            other["value"] = None
    assert found == expected


@pytest.mark.parametrize("name", COMPARED)
def test_operations_equal_anvils_without_the_top_call(engine: TracingEngine, name: str) -> None:
    """Anvil also shows an address for a creation that failed for lack of balance."""
    frames = traced(engine, name).frames
    itself = as_json(otterscan.operations([frames[0]._replace(depth=1)]))
    nowhere = [frame for frame in frames if frame.type == "CREATE" and frame.to is None]
    expected = anvils(name, "ots_internal")
    if itself and expected[:1] == itself:
        del expected[0]
    assert as_json(otterscan.operations(frames)) == expected[len(nowhere) :]


@pytest.mark.parametrize("name", COMPARED)
def test_data_of_a_revert_is_anvils(engine: TracingEngine, name: str) -> None:
    trace = traced(engine, name)
    shown = b"" if trace.succeeded else trace.output
    assert data(shown) == FILES[name]["anvil"]["ots_error"]
