"""The system calls after a block's transactions have the same results alone as in a whole block."""

from dataclasses import replace

import pytest

from cchain_app.blocks.header import EMPTY_REQUESTS_HASH
from cchain_app.evm.engine import BlockEnv, ExecutionInvalid, Log
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.select import select_engine
from cchain_app.evm.tracing import Recording, TracingEngine
from primitives.evm import Address, Word
from tests.builders.cchain import MemoryState, block_env, genesis_state, transaction

QUEUE = Address(bytes.fromhex("00000961ef480eb55e80d19ad83579a64c007002"))
DEPOSITS = Address(bytes.fromhex("00000000219ab540356cbb839cbe05303d7705fa"))
DEPOSITED = Word(bytes.fromhex("649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5"))


def deposit(amount: int) -> Log:
    """Return the log data of a deposit: five fields, each preceded by its offset and length."""
    fields = (b"\x01" * 48, b"\x02" * 32, amount.to_bytes(8, "little"), b"\x03" * 96, bytes(8))
    heads, tails = b"", b""
    for field in fields:
        heads += (32 * len(fields) + len(tails)).to_bytes(32, "big")
        tails += len(field).to_bytes(32, "big") + field.ljust(-(-len(field) // 32) * 32, b"\0")
    return Log(DEPOSITS, (DEPOSITED,), heads + tails)


def test_closing_equals_the_end_of_a_whole_block(engine: TracingEngine) -> None:
    request = transaction(to=QUEUE, value=1, gas=500_000, data=b"\x07" * 48 + bytes(7) + b"\x09")
    env, state = block_env(), genesis_state()
    whole = engine.execute_block(env, [request], state, skip_invalid=False)
    pending = PendingState(state)
    traced = engine.trace_block(env, [request], state, Recording(state=True))
    pending.put(traced.before)
    for item in traced.transactions:
        assert item.state is not None
        pending.put(item.state.changes)
    closed = engine.close_block(env, pending, traced.transactions[0].logs)
    pending.put(closed.changes)
    assert closed.requests_hash == whole.requests_hash != EMPTY_REQUESTS_HASH
    assert pending.changes() == whole.changes


def test_deposits_are_read_from_logs(engine: TracingEngine) -> None:
    env, state = block_env(), MemoryState()
    hashes = {
        engine.close_block(env, state, logs).requests_hash
        for logs in ((), (deposit(1),), (deposit(2),), (deposit(1), deposit(2)))
    }
    assert len(hashes) == 4
    elsewhere = deposit(1)._replace(address=QUEUE)
    assert engine.close_block(env, state, (elsewhere,)).requests_hash == EMPTY_REQUESTS_HASH


def test_engines_agree_on_deposits() -> None:
    env, state, logs = block_env(), MemoryState(), (deposit(5), deposit(6))
    native, reference = select_engine("native"), select_engine("reference")
    assert native.close_block(env, state, logs) == reference.close_block(env, state, logs)


def test_a_deposit_that_cannot_be_read_is_refused(engine: TracingEngine) -> None:
    short = deposit(1)._replace(data=bytes(64))
    with pytest.raises(ExecutionInvalid):
        engine.close_block(block_env(), MemoryState(), (short,))


def test_before_prague_there_is_nothing_to_do(engine: TracingEngine) -> None:
    env: BlockEnv = replace(block_env(), fork="cancun")
    closed = engine.close_block(env, genesis_state(), (deposit(1),))
    assert (closed.requests_hash, closed.changes.accounts, closed.changes.storage) == (None, {}, {})
