"""State and environment of a call, changed by its caller: the overrides of eth_call. Pure.

Nothing is written: a reader is wrapped, and an environment is copied.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from cchain_app.config import at_least
from cchain_app.evm.coreth import stored_slot
from cchain_app.evm.engine import (
    AccountChange,
    AccountState,
    BlockEnv,
    SlotChange,
    StateChanges,
    StateReader,
)
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256
from primitives.hexadecimal import checksum_address
from primitives.reasons import ErrorWithReason


class OverrideReason(StrEnum):
    """Why overrides cannot be applied. The messages are geth's."""

    STATE_AND_DIFF = "account {account} has both 'state' and 'stateDiff'"
    # `movePrecompileToAddress` on an account that is not a precompile of this fork
    NOT_A_PRECOMPILE = "account {account} is not a precompile"
    # `movePrecompileToAddress` names an account that has overrides
    ALREADY_OVERRIDDEN = "account {account} is already overridden"


class BadOverride(ErrorWithReason):
    """Overrides that contradict each other or cannot be applied."""


@dataclass(frozen=True, slots=True)
class AccountOverride:
    """The new values of an account's fields; None keeps the old value."""

    balance: int | None = None
    """Wei."""
    nonce: int | None = None
    code: bytes | None = None
    state: Mapping[Slot, Word] | None = None
    """The whole storage; other slots are zero."""
    state_diff: Mapping[Slot, Word] | None = None
    """Single slots."""
    move_precompile_to: Address | None = None


@dataclass(frozen=True, slots=True)
class BlockOverride:
    """The new values of a block environment's fields; None keeps the old value."""

    number: int | None = None
    time: int | None = None
    """Unix seconds."""
    gas_limit: int | None = None
    fee_recipient: Address | None = None
    prev_randao: Hash | None = None
    base_fee: int | None = None
    """Wei per gas."""
    difficulty: int | None = None
    blob_base_fee: int | None = None
    """Wei per blob gas, the value that BLOBBASEFEE reads."""
    signers: tuple[tuple[bytes, Address], ...] = ()
    """Addresses that ecrecover returns for signatures, as in `BlockEnv`; empty: no change."""

    def apply(self, env: BlockEnv) -> BlockEnv:
        """Return the environment with these values; the rule set is always that of the block."""
        return replace(
            env,
            number=_either(self.number, env.number),
            timestamp=_either(self.time, env.timestamp),
            gas_limit=_either(self.gas_limit, env.gas_limit),
            coinbase=env.coinbase if self.fee_recipient is None else self.fee_recipient,
            prev_randao=env.prev_randao if self.prev_randao is None else self.prev_randao,
            base_fee=env.base_fee if self.base_fee is None else self.base_fee,
            difficulty=_either(self.difficulty, env.difficulty),
            blob_base_fee=self.blob_base_fee,
            signers=self.signers or env.signers,
        )


def time_of_next(reached: int, now: int, override: BlockOverride | None) -> int:
    """Return the time of a new block in Unix seconds: that of its override, else the node's, but not before its parent's.

    A block's rules, fees and precompiles are those of its time, so it is needed before the rest of an environment.

    Args:
        reached: The parent's time.
        now: The node's time.
        override: The overrides of the block.
    """
    if override is not None and override.time is not None:
        return override.time
    return max(reached, now)


class OverriddenState:
    """A `StateReader` with overrides for some accounts."""

    def __init__(self, state: StateReader, accounts: Mapping[Address, AccountOverride]) -> None:
        self._state = state
        self._accounts = accounts
        self._codes = {
            keccak256(override.code): override.code
            for override in accounts.values()
            if override.code is not None
        }

    def account(self, address: Address) -> AccountState | None:
        """Return the account with its overrides."""
        account = self._state.account(address)
        override = self._accounts.get(address)
        if override is None:
            return account
        nonce, balance, code_hash = account or AccountState(0, 0, EMPTY_HASH)
        return AccountState(
            nonce=_either(override.nonce, nonce),
            balance=_either(override.balance, balance),
            code_hash=code_hash if override.code is None else keccak256(override.code),
        )

    def storage(self, address: Address, slot: Slot) -> Word:
        """Return the slot's value with overrides."""
        override = self._accounts.get(address)
        if override is not None:
            if override.state is not None:
                return override.state.get(slot, ZERO_WORD)
            if override.state_diff is not None and slot in override.state_diff:
                return override.state_diff[slot]
        return self._state.storage(address, slot)

    def has_storage(self, address: Address) -> bool:
        """Return whether any slot is not zero.

        Unspecified: slots that `stateDiff` or `state` sets count. An account whose slots `stateDiff` sets to zero
        still has storage, since it may have other slots.
        """
        override = self._accounts.get(address)
        override = override or AccountOverride()
        if override.state is not None:
            return _any_set(override.state)
        return _any_set(override.state_diff or {}) or self._state.has_storage(address)

    def code(self, code_hash: Hash) -> bytes:
        """Return code by its hash, overriding code included."""
        code = self._codes.get(code_hash)
        return self._state.code(code_hash) if code is None else code

    def block_hash(self, number: int) -> Hash:
        """Return the hash of a block before this one."""
        return self._state.block_hash(number)


def with_stored_slots(
    accounts: Mapping[Address, AccountOverride],
) -> dict[Address, AccountOverride]:
    """Return overrides on a chain of coreth with the slots in which it stores the values: engines read those.

    Unspecified: of two slots that are stored in one, the last one counts.
    """
    return {
        address: replace(
            override,
            state=_stored(override.state),
            state_diff=_stored(override.state_diff),
        )
        for address, override in accounts.items()
    }


def _stored(slots: Mapping[Slot, Word] | None) -> Mapping[Slot, Word] | None:
    return slots and {stored_slot(slot): word for slot, word in slots.items()}


def override_state(state: StateReader, accounts: Mapping[Address, AccountOverride]) -> StateReader:
    """Return the state with overrides for these accounts. For precompiles see `move_precompiles`.

    Raises:
        BadOverride: An account has both a new storage and changes to the old one.
    """
    if not accounts:
        return state
    for address, override in accounts.items():
        if override.state is not None and override.state_diff is not None:
            raise BadOverride(OverrideReason.STATE_AND_DIFF, account=checksum_address(address))
    return OverriddenState(state, accounts)


def override_changes(
    state: StateReader, accounts: Mapping[Address, AccountOverride]
) -> StateChanges:
    """Return the changes that make these overrides permanent, as if a transaction had made them.

    An account with any override exists from then on, even if it is empty; its storage is kept
    unless it is replaced.

    Raises:
        BadOverride: An account has both a new storage and changes to the old one.
    """
    seen = override_state(state, accounts)
    changed: dict[Address, AccountChange] = {}
    storage: dict[tuple[Address, Slot], SlotChange] = {}
    for address, override in accounts.items():
        if override == AccountOverride(move_precompile_to=override.move_precompile_to):
            continue
        before, after = state.account(address), seen.account(address)
        if before != after:
            changed[address] = AccountChange(before, after)
        slots = override.state_diff if override.state is None else override.state
        for slot, word in (slots or {}).items():
            old = state.storage(address, slot)
            if word != (old if override.state is None else ZERO_WORD):
                storage[address, slot] = SlotChange(old, word)
    return StateChanges(
        accounts=changed,
        storage=storage,
        codes={
            keccak256(override.code): override.code
            for override in accounts.values()
            if override.code
        },
        cleared=frozenset(
            address
            for address, override in accounts.items()
            if override.state is not None and state.account(address) is not None
        ),
    )


def move_precompiles(env: BlockEnv, accounts: Mapping[Address, AccountOverride]) -> BlockEnv:
    """Return the environment without the overridden precompiles, or with them at other addresses.

    As in geth an account with any override is not a precompile any longer, and a precompile that is moved
    hides the code or the precompile at its new address.

    Raises:
        BadOverride: The address from which a precompile is moved has none, or the address to which it is moved has
            overrides.
    """
    moves = []
    for address, override in accounts.items():
        to = override.move_precompile_to
        if is_precompile(address, env.fork):
            if to is not None and to in accounts:
                raise BadOverride(OverrideReason.ALREADY_OVERRIDDEN, account=checksum_address(to))
            moves.append((address, to))
        elif to is not None:
            raise BadOverride(OverrideReason.NOT_A_PRECOMPILE, account=checksum_address(address))
    return replace(env, precompile_moves=tuple(moves)) if moves else env


def is_precompile(address: Address, fork: str) -> bool:
    """Return whether a rule set has a precompile at this address."""
    number = int.from_bytes(address, "big")
    if number == 0x100:
        return at_least(fork, "osaka")
    return 1 <= number <= _last_precompile(fork)


def _last_precompile(fork: str) -> int:
    for since, last in (("prague", 17), ("cancun", 10), ("istanbul", 9), ("byzantium", 8)):
        if at_least(fork, since):
            return last
    return 4


def _any_set(slots: Mapping[Slot, Word]) -> bool:
    return any(word != ZERO_WORD for word in slots.values())


def _either(wanted: int | None, present: int) -> int:
    return present if wanted is None else wanted
