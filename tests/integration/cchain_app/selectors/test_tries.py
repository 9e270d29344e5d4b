"""Computed roots of states whose tries were never stored stay correct while more blocks are made."""

from dataclasses import replace
from typing import Any

import pytest

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.tracing import TraceTimedOut
from cchain_app.selectors import blocks, tries
from cchain_app.selectors.state import state_at
from cchain_app.selectors.tracing import TraceDiffers
from cchain_app.selectors.tries import RootsAfter
from cchain_app.tracing import output
from jsonrpc.errors import JsonRpcError
from primitives.evm import ZERO_WORD, Address, Slot, Word
from tests.builders import bytecode
from tests.builders.transactions import SENDER

CONTRACT = bytecode.created(SENDER, 0)


def richer(chain: Any, address: Address, wei: int) -> StateChanges:
    before = state_at(chain.evm, 1).account(address)
    assert before is not None
    return StateChanges(
        accounts={address: AccountChange(before, before._replace(balance=before.balance + wei))}
    )


def counted(value: int) -> StateChanges:
    place = (CONTRACT, Slot(bytes(32)))
    return StateChanges(storage={place: SlotChange(ZERO_WORD, Word(value.to_bytes(32, "big")))})


def test_a_block_that_is_made_in_between_changes_no_root(chain: Any) -> None:
    chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    base = blocks.by_number(chain.evm, 1)
    assert base is not None
    changes = [richer(chain, SENDER, 5), counted(9), StateChanges(), richer(chain, CONTRACT, 1)]
    undisturbed = RootsAfter(chain.evm, base)
    wanted = [undisturbed.after(change) for change in changes]
    disturbed = RootsAfter(chain.evm, base)
    found = []
    for item in changes:
        found.append(disturbed.after(item))
        chain.do(to=CONTRACT, gas=100_000, value=0)
    assert found == wanted
    assert len(set(wanted)) == 3
    assert wanted[1] == wanted[2]


def test_empty_account_is_in_the_state_root(chain: Any) -> None:
    nobody = AccountState(0, 1, chain.evm.genesis.state_changes().accounts[SENDER].after.code_hash)
    roots = RootsAfter(chain.evm, chain.genesis)
    address = Address(b"\x77" * 20)
    there = roots.after(StateChanges(accounts={address: AccountChange(None, nobody)}))
    gone = roots.after(StateChanges(accounts={address: AccountChange(nobody, None)}))
    assert there != chain.genesis.header.state_root == gone


@pytest.fixture
def busy(chain: Any) -> Any:
    """A chain whose head is some blocks above block 1; each changed several accounts and a slot."""
    chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    for _ in range(4):
        chain.do(to=CONTRACT, gas=100_000, value=0)
    return chain


def roots_at_each_height(chain: Any) -> list[bytes]:
    return [
        tries.at_height(chain.evm, number, lambda root, _: bytes(root)) for number in range(1, 6)
    ]


@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_changes_since_a_height_are_read_in_parts(
    busy: Any, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(tries, "ROWS_AT_ONCE", rows)

    expected = [block.header.state_root for block in map(block_of(busy), range(1, 6))]
    assert roots_at_each_height(busy) == expected
    assert len(set(expected)) == 5


def block_of(chain: Any) -> Any:
    return lambda number: blocks.by_number(chain.evm, number)


class Clock:
    """A clock that advances by 0.4 seconds each time it is read."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 0.4
        return self.now


@pytest.mark.node_settings(rpc_call_timeout=1.0)
def test_reading_changes_respects_the_call_timeout(
    busy: Any, rpc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "time", Clock())
    monkeypatch.setattr(tries, "ROWS_AT_ONCE", 3)

    with pytest.raises(TraceTimedOut):
        roots_at_each_height(busy)
    with pytest.raises(JsonRpcError) as refused:
        rpc("eth_getProof", "0x" + SENDER.hex(), [], "0x1")
    assert (refused.value.code, refused.value.message) == (-32000, "execution timeout")


def test_roots_within_a_block_that_cannot_be_executed_any_more_are_a_fault(busy: Any) -> None:
    block = block_of(busy)(2)
    late = replace(block, transactions=block_of(busy)(4).transactions)

    with pytest.raises(TraceDiffers, match="nonce too high"):
        tries.intermediate_roots(busy.evm, late, time_limit=60)
