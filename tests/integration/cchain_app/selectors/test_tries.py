"""Roots of states that were never stored stand, whatever blocks are made meanwhile."""

from typing import Any

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.selectors import blocks
from cchain_app.selectors.state import state_at
from cchain_app.selectors.tries import RootsAfter
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
    wanted = [undisturbed.after(one) for one in changes]
    disturbed = RootsAfter(chain.evm, base)
    found = []
    for one in changes:
        found.append(disturbed.after(one))
        chain.do(to=CONTRACT, gas=100_000, value=0)
    assert found == wanted
    assert len(set(wanted)) == 3
    assert wanted[1] == wanted[2]


def test_an_account_that_nobody_had_is_in_the_root(chain: Any) -> None:
    nobody = AccountState(0, 1, chain.evm.genesis.state_changes().accounts[SENDER].after.code_hash)
    roots = RootsAfter(chain.evm, chain.genesis)
    address = Address(b"\x77" * 20)
    there = roots.after(StateChanges(accounts={address: AccountChange(None, nobody)}))
    gone = roots.after(StateChanges(accounts={address: AccountChange(nobody, None)}))
    assert there != chain.genesis.header.state_root == gone
