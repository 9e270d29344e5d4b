"""Overrides and state edits on a development chain, from memory if this process has them."""

from collections.abc import Sequence
from dataclasses import replace

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.chain import EvmChain
from cchain_app.development.changes import STORAGE, StateEdit, as_state_changes, before
from cchain_app.development.overrides import NextBlockOverrides, signers_at
from cchain_app.evm.engine import AccountState, BlockEnv, StateChanges
from cchain_app.store import development as development_rows
from cchain_app.store import evm_state
from primitives.evm import Address

_NONE = NextBlockOverrides()


def conditions(chain: EvmChain) -> NextBlockOverrides:
    """Return the overrides for later blocks; none for a chain that is not a development chain."""
    if not chain.is_development:
        return _NONE
    return chain.memory.conditions.of(lambda: _conditions(chain))


def refresh_mining_settings(chain: EvmChain) -> None:
    """Read whether production is paused: with several processes another one may have paused or resumed it."""
    if chain.is_development and not chain.has_development_methods:
        chain.memory.conditions.refresh(lambda: _conditions(chain))


def _conditions(chain: EvmChain) -> NextBlockOverrides:
    """Return the stored overrides.

    Unspecified: without development methods a mining mode from an older version has no effect, because no method could
    change it. Overrides of the content of blocks (coinbase, gas limit, times) stay in effect.
    """
    overrides = development_rows.conditions(chain.db)
    return (
        overrides
        if chain.has_development_methods
        else replace(overrides, mining=None, block_interval=None)
    )


def mining(chain: EvmChain) -> str:
    """Return the mining mode, `auto`, `interval`, `mixed` or `manual`: the one that was set over RPC, else NODE_MINING.

    While production is paused it is `manual`.
    """
    return conditions(chain).mines(chain.settings.mining)


def mines_on_arrival(chain: EvmChain) -> bool:
    """Return whether the arrival of a transaction makes a block: in the modes `auto` and `mixed`."""
    return mining(chain) in {"auto", "mixed"}


def mines_by_clock(chain: EvmChain) -> bool:
    """Return whether blocks are made at an interval, even empty ones: in the modes `interval` and `mixed`."""
    return mining(chain) in {"interval", "mixed"}


def is_paused(chain: EvmChain) -> bool:
    """Return whether production is paused."""
    return conditions(chain).paused


def block_interval(chain: EvmChain) -> float:
    """Return the seconds between blocks of interval mining."""
    return conditions(chain).block_interval or chain.settings.block_interval


def signers(chain: EvmChain) -> tuple[tuple[bytes, Address], ...]:
    """Return the signers that ecrecover now returns for given signatures, in the engines' format (devnet.md 4)."""
    return signers_at(conditions(chain).signatures)


def env_of_block(chain: EvmChain, block: AcceptedBlock | CandidateBlock) -> BlockEnv:
    """Return the environment in which a block of the chain was executed, with the signers that were set before it."""
    env = chain.rules.env_of(block)
    signers_now = signers_at(conditions(chain).signatures, block.header.number)
    return replace(env, signers=signers_now) if signers_now else env


def effect_of(chain: EvmChain, changes: Sequence[StateEdit]) -> StateChanges:
    """Return the combined effect of state edits on the accounts and slots of the head, which contains them already."""
    named = [change.address for change in changes if change.kind != STORAGE]
    accounts: dict[Address, AccountState | None] = dict.fromkeys(named)
    accounts.update(evm_state.accounts_now(chain.db, set(named)))
    was = before(changes, accounts)
    keys = {address + slot: (address, slot) for address, slot in was.slots}
    slots = {keys[key]: value for key, value in evm_state.slots_now(chain.db, keys).items()}
    return as_state_changes(was, accounts, slots)


def has_state_edits(chain: EvmChain, last: int) -> bool:
    """Return whether the state or the signer of a signature was edited before a block or an earlier one."""
    signatures = conditions(chain).signatures
    return development_rows.has_changes_up_to(chain.db, last) or bool(signers_at(signatures, last))
