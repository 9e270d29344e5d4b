"""Changes of the state when precompiles begin or end, and reads of the managers' slots. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from cchain_app.config import BLACKHOLE
from cchain_app.evm.engine import (
    AccountChange,
    AccountState,
    SlotChange,
    StateChanges,
    StateReader,
)
from cchain_app.evm.pending_state import PendingState, merged
from cchain_app.precompiles.addresses import (
    ADDRESSES,
    CODE,
    FEE_CHANGED_SLOT,
    FEE_MANAGER,
    RECIPIENTS_ALLOWED,
    REWARD_MANAGER,
    REWARD_SLOT,
    PrecompileKey,
    Role,
    fee_slot,
    role_slot,
)
from cchain_app.precompiles.fee_config import FeeConfig
from cchain_app.precompiles.schedule import InitialRewards, PrecompileConfig, PrecompileSchedule
from primitives import uint64
from primitives.evm import ZERO_HASH, ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256

_CODE_HASH: Final = keccak256(CODE)


def upgrade_changes(
    schedule: PrecompileSchedule,
    state: StateReader,
    *,
    parent: int | None,
    timestamp: int,
    number: int,
) -> StateChanges:
    """Return the changes made by precompiles that begin or end in a block; they precede all else in the block.

    Args:
        schedule: The chain's precompiles.
        state: The state after the parent, or an empty state for block 0.
        parent: The parent's time in Unix seconds; None: the block is block 0.
        timestamp: The block's time in Unix seconds.
        number: The block's height.
    """
    changes = StateChanges()
    after = PendingState(state)
    for config in schedule.between(parent, timestamp):
        made = _end(config, after) if config.disable else _begin(config, schedule, after, number)
        changes = merged(changes, made)
        after.put(made)
    return changes


def _end(config: PrecompileConfig, state: StateReader) -> StateChanges:
    address = ADDRESSES[config.key]
    before = state.account(address)
    if before is None:
        return StateChanges()
    had_code = before.code_hash != EMPTY_HASH
    return StateChanges(
        accounts={address: AccountChange(before, None)},
        cleared=frozenset({address}) if had_code else frozenset(),
    )


def _begin(
    config: PrecompileConfig, schedule: PrecompileSchedule, state: StateReader, number: int
) -> StateChanges:
    address = ADDRESSES[config.key]
    before = state.account(address)
    balance = 0 if before is None else before.balance
    accounts = {address: AccountChange(before, AccountState(1, balance, _CODE_HASH))}
    for account, wei in config.initial_mint:
        # The minter's own account is the one above.
        change = accounts.get(account)
        old = state.account(account)
        now = (old if change is None else change.after) or AccountState(0, 0, EMPTY_HASH)
        accounts[account] = AccountChange(old, now._replace(balance=(now.balance + wei) % 2**256))
    storage = {}
    for slot, word in _first_slots(config, schedule, number):
        old_word = state.storage(address, slot)
        if old_word != word:
            storage[address, slot] = SlotChange(old_word, word)
    return StateChanges(accounts=accounts, storage=storage, codes={_CODE_HASH: CODE})


def _first_slots(
    config: PrecompileConfig, schedule: PrecompileSchedule, number: int
) -> Iterable[tuple[Slot, Word]]:
    if config.key == PrecompileKey.FEE_MANAGER:
        yield from fee_slots(config.initial_fee_config or schedule.fee_config, number)
    if config.key == PrecompileKey.REWARD_MANAGER:
        rewards = config.initial_rewards or InitialRewards(schedule.allow_fee_recipients)
        yield REWARD_SLOT, _reward_word(rewards)
    # subnet-evm's order: no address is in two lists, so the last entry counts only within one.
    for role, accounts in (
        (Role.ENABLED, config.roles.enabled),
        (Role.ADMIN, config.roles.admin),
        (Role.MANAGER, config.roles.manager),
    ):
        for account in accounts:
            yield role_slot(account), Word(role.to_bytes(32, "big"))


def _reward_word(rewards: InitialRewards) -> Word:
    if rewards.allow_fee_recipients:
        return RECIPIENTS_ALLOWED
    return Word((rewards.reward_address or BLACKHOLE).rjust(32, b"\0"))


def fee_slots(config: FeeConfig, number: int) -> Sequence[tuple[Slot, Word]]:
    """Return the fee manager's slots for a config that the block of this height sets."""
    fields = [
        (fee_slot(field), Word(value.to_bytes(32, "big"))) for field, value in enumerate(config, 1)
    ]
    return [*fields, (FEE_CHANGED_SLOT, Word(number.to_bytes(32, "big")))]


class CurrentFeeConfig(NamedTuple):
    """The fee config for the blocks that follow a state."""

    config: FeeConfig
    last_changed_at: int
    """Height of the block that set it; 0: it is the genesis file's."""


def fee_config_after(
    schedule: PrecompileSchedule, state: StateReader, timestamp: int
) -> CurrentFeeConfig:
    """Return the fee config of the block after another one: the fee manager's if it is active, else the chain's.

    Args:
        schedule: The chain's precompiles.
        state: The state after the parent.
        timestamp: The parent's time in Unix seconds.
    """
    if schedule.config_at(PrecompileKey.FEE_MANAGER, timestamp) is None:
        return CurrentFeeConfig(schedule.fee_config, 0)
    values = [_number(state, FEE_MANAGER, fee_slot(field)) for field in range(1, 9)]
    config = FeeConfig(*values)
    changed = _number(state, FEE_MANAGER, FEE_CHANGED_SLOT)
    return CurrentFeeConfig(
        config._replace(target_block_rate=config.target_block_rate & uint64.MAX), changed
    )


def fee_recipient_after(
    schedule: PrecompileSchedule, state: StateReader, timestamp: int
) -> Address | None:
    """Return the coinbase that the block after another one must have; None: its validator chooses it.

    Arguments as for `fee_config_after`.
    """
    if schedule.config_at(PrecompileKey.REWARD_MANAGER, timestamp) is None:
        return None if schedule.allow_fee_recipients else BLACKHOLE
    word = state.storage(REWARD_MANAGER, REWARD_SLOT)
    return None if word == RECIPIENTS_ALLOWED else Address(word[12:])


def role_of(state: StateReader, precompile: Address, address: Address) -> int:
    """Return the role of an address on a precompile's allow list."""
    return _number(state, precompile, role_slot(address))


def _number(state: StateReader, address: Address, slot: Slot) -> int:
    return int.from_bytes(state.storage(address, slot), "big")


class EmptyState:
    """A `StateReader` of the state before block 0."""

    def account(self, address: Address) -> AccountState | None:
        """Return None."""
        del address
        return None

    def storage(self, address: Address, slot: Slot) -> Word:
        """Return zero."""
        del address, slot
        return ZERO_WORD

    def has_storage(self, address: Address) -> bool:
        """Return False."""
        del address
        return False

    def code(self, code_hash: bytes) -> bytes:
        """Return no bytes: no account has code."""
        del code_hash
        return b""

    def block_hash(self, number: int) -> Hash:
        """Return zero."""
        del number
        return ZERO_HASH
