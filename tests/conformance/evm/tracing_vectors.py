"""go-ethereum's traces and their chain (tests/vectors/tracing, whose README describes the files)."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from cchain_app.blocks.assembly import env_of
from cchain_app.blocks.candidate import parse_block
from cchain_app.evm.engine import BlockEnv, CallMessage
from cchain_app.evm.select import select_engine
from cchain_app.genesis import load_genesis
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.transaction import Transaction
from primitives import rlp
from primitives.evm import Address, Hash
from tests.builders.cchain import MemoryState, call_message

VECTORS = Path(__file__).parents[2] / "vectors" / "tracing"
CALLS = VECTORS / "calls.json"

NAMES = tuple(case["name"] for case in json.loads((VECTORS / "index.json").read_text()))

OPTIONS: dict[str, dict[str, Any]] = {
    "struct": {},
    "struct_all": {"enableMemory": True, "enableReturnData": True},
    "struct_bare": {"disableStack": True, "disableStorage": True},
    "struct_limit": {"limit": 300},
    "call": {"tracer": "callTracer"},
    "call_log": {"tracer": "callTracer", "tracerConfig": {"withLog": True}},
    "call_top": {"tracer": "callTracer", "tracerConfig": {"onlyTopCall": True}},
    "call_top_log": {
        "tracer": "callTracer",
        "tracerConfig": {"onlyTopCall": True, "withLog": True},
    },
    "flat": {"tracer": "flatCallTracer"},
    "flat_parity": {
        "tracer": "flatCallTracer",
        "tracerConfig": {"convertParityErrors": True, "includePrecompiles": True},
    },
    "prestate": {"tracer": "prestateTracer"},
    "prestate_empty": {"tracer": "prestateTracer", "tracerConfig": {"includeEmpty": True}},
    "prestate_bare": {
        "tracer": "prestateTracer",
        "tracerConfig": {"disableCode": True, "disableStorage": True},
    },
    "diff": {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}},
    "diff_bare": {
        "tracer": "prestateTracer",
        "tracerConfig": {"diffMode": True, "disableCode": True, "disableStorage": True},
    },
    "4byte": {"tracer": "4byteTracer"},
    "noop": {"tracer": "noopTracer"},
    "mux": {
        "tracer": "muxTracer",
        "tracerConfig": {"4byteTracer": None, "callTracer": {"onlyTopCall": True}},
    },
    "keccak": {"tracer": "keccak256PreimageTracer"},
    "erc7562": {"tracer": "erc7562Tracer"},
}
"""Options by the name of a result in the cases."""

CALL_OPTIONS: dict[str, dict[str, Any]] = {
    "struct": OPTIONS["struct"],
    "call": OPTIONS["call_log"],
    "flat_precompiles": {
        "tracer": "flatCallTracer",
        "tracerConfig": {"includePrecompiles": True},
    },
    "erc7562": OPTIONS["erc7562"],
    "erc7562_all": {
        "tracer": "erc7562Tracer",
        "tracerConfig": {"ignoredOpcodes": [], "withLog": True, "stackTopItemsSize": 1},
    },
    "keccak": OPTIONS["keccak"],
}
"""Options by the name of a result in calls.json."""


class Case(NamedTuple):
    """A traced transaction, alone in its block, with go-ethereum's results."""

    block_hash: Hash
    env: BlockEnv
    transaction: Transaction
    state: MemoryState
    """The state before the block."""
    receipt: dict[str, Any]
    answers: dict[str, Any]


@cache
def tracing_cases() -> dict[str, Case]:
    """Return the cases by name. The available engine executes the chain once for them."""
    engine = select_engine("auto")
    files = {name: json.loads((VECTORS / "cases" / f"{name}.json").read_text()) for name in NAMES}
    names = {file["block"]["hash"]: name for name, file in files.items()}
    found = {}
    state = MemoryState()
    for block_hash, env, transactions in _blocks(state):
        name = names.get("0x" + block_hash.hex())
        if name is not None:
            file, before = files[name], state.copy()
            (only,) = transactions
            answers = {key: _mended(answer) for key, answer in file["answers"].items()}
            answers["flat_parity"] = _mended_words(answers["flat_parity"], answers["flat"])
            found[name] = Case(block_hash, env, only, before, file["receipt"], answers)
        executed = engine.execute_block(env, transactions, state, skip_invalid=False)
        state.apply(executed.changes)
        state.hashes[env.number] = block_hash
    return found


def _blocks(state: MemoryState) -> Iterator[tuple[Hash, BlockEnv, list[Transaction]]]:
    """Set the state of the genesis and yield the later blocks."""
    genesis = load_genesis((VECTORS / "genesis.json").read_text())
    state.apply(genesis.state_changes())
    chain, start = (VECTORS / "chain.rlp").read_bytes(), 0
    while start < len(chain):
        _, stop = rlp.read_item(chain, start, len(chain))
        block = parse_block(chain[start:stop])
        start = stop
        state.hashes[block.header.number - 1] = block.header.parent_hash
        chain_id = genesis.config.chain_id
        transactions = [decode_transaction(raw, chain_id) for raw in block.transactions]
        yield block.hash, env_of(block.header, genesis.config), transactions


class TracedCall(NamedTuple):
    """A call with go-ethereum's results."""

    message: CallMessage
    state: MemoryState
    answers: dict[str, Any]


def traced_calls() -> dict[str, TracedCall]:
    """Return the calls of calls.json by name."""
    return {case["name"]: _traced_call(case) for case in json.loads(CALLS.read_text())}


def _traced_call(case: dict[str, Any]) -> TracedCall:
    state = MemoryState()
    for address, code in case["codes"].items():
        state.put(Address(bytes.fromhex(address[2:])), code=bytes.fromhex(code[2:]))
    call = case["call"]
    to = call.get("to")
    message = call_message(
        None if to is None else Address(bytes.fromhex(to[2:])),
        bytes.fromhex(call["data"][2:]),
        gas=int(call["gas"], 16),
    )
    answers = {name: _mended({"result": answer}) for name, answer in case["answers"].items()}
    return TracedCall(message, state, answers)


class PrecompileError(NamedTuple):
    """A call that a precompile rejects, with go-ethereum's message."""

    precompile: int
    input: bytes
    gas: int
    error: str

    def __str__(self) -> str:
        return f"{self.precompile}-{self.error}"


def precompile_errors() -> list[PrecompileError]:
    """Return the calls of precompile_errors.json."""
    return [
        PrecompileError(
            case["precompile"], bytes.fromhex(case["input"][2:]), case["gas"], case["error"]
        )
        for case in json.loads((VECTORS / "precompile_errors.json").read_text())
    ]


NO_ACCOUNT = {"codeHash": "0x" + "00" * 32}
"""go-ethereum's entry, in a state difference, for an account that was touched but never existed."""

WRITE_PROTECTION = "write protection"


def _not_out_of_gas(members: dict[str, Any]) -> dict[str, Any]:
    """Return the members of an object; a frame that failed by write protection did not lack gas."""
    if members.get("error") == WRITE_PROTECTION and "outOfGas" in members:
        return members | {"outOfGas": False}
    return members


def _mended(answer: dict[str, Any]) -> Any:
    """Return a result without the errors of go-ethereum that the README of the vectors lists."""
    text = json.dumps(answer["result"]).replace(f"out of gas: {WRITE_PROTECTION}", WRITE_PROTECTION)
    result = json.loads(text, object_hook=_not_out_of_gas)
    if isinstance(result, dict) and "post" in result:
        result["post"] = {
            address: account for address, account in result["post"].items() if account != NO_ACCOUNT
        }
    return result


def _mended_words(converted: list[Any], plain: list[Any]) -> list[Any]:
    """Return converted entries with the corrected error; go-ethereum has no other name for it.

    Precompiles appear only in converted entries, and none of them fails with this error.
    """
    failed = [entry["traceAddress"] for entry in plain if entry.get("error") == WRITE_PROTECTION]
    return [
        entry | {"error": WRITE_PROTECTION} if entry["traceAddress"] in failed else entry
        for entry in converted
    ]
