"""What was set by hand on a chain to develop against, from memory where this process knows it."""

from collections.abc import Sequence

from cchain_app.chain import EvmChain
from cchain_app.development.changes import STORAGE, Change, as_state_changes, before
from cchain_app.development.conditions import Conditions
from cchain_app.evm.engine import AccountState, StateChanges
from cchain_app.store import development as rows
from cchain_app.store import evm_state
from primitives.evm import Address

_NONE = Conditions()


def conditions(chain: EvmChain) -> Conditions:
    """Return what was set for the blocks to come; nothing where there are no development methods."""
    if not chain.is_development:
        return _NONE
    known = chain.memory.conditions
    return chain.memory.remember_conditions(rows.conditions(chain.db)) if known is None else known


def mining(chain: EvmChain) -> str:
    """Return when blocks are made: `auto`, `interval` or `manual`; by hand, or as NODE_MINING says."""
    return conditions(chain).mining or chain.node.mining


def block_interval(chain: EvmChain) -> float:
    """Return the seconds between blocks that are made by the clock."""
    return conditions(chain).block_interval or chain.node.block_interval


def effect_of(chain: EvmChain, changes: Sequence[Change]) -> StateChanges:
    """Return what changes by hand did together to the accounts and slots of the head, which has them already."""
    named = [one.address for one in changes if one.kind != STORAGE]
    accounts: dict[Address, AccountState | None] = dict.fromkeys(named)
    accounts.update(evm_state.accounts_now(chain.db, set(named)))
    was = before(changes, accounts)
    keys = {address + slot: (address, slot) for address, slot in was.slots}
    slots = {keys[key]: value for key, value in evm_state.slots_now(chain.db, keys).items()}
    return as_state_changes(was, accounts, slots)


def has_changes_by_hand(chain: EvmChain, last: int) -> bool:
    """Say whether the state was changed by hand before a block, or any before it."""
    return rows.has_changes_up_to(chain.db, last)
