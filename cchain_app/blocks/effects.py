"""What a block's payload does to the state, apart from the block's transactions: debits before, withdrawals after."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cchain_app.blocks.accepted import Withdrawal
from cchain_app.evm.engine import BlockEnv, StateChanges, StateReader
from primitives.evm import ZERO_HASH, Address, Hash


class BlockEffects(NamedTuple):
    """The effects of a payload."""

    debits: StateChanges
    """Changes of the parent's state, before the system calls and the transactions."""
    withdrawals: tuple[Withdrawal, ...]
    """Paid after the transactions."""
    after: "EffectsAfter | None" = None
    """Verifies the payload after the transactions, and returns the changes that it makes then; None: it makes none."""


EffectsAfter = Callable[[StateReader, int], StateChanges]
"""Takes the state after a block's transactions, and the gas that they used. Raises `InvalidBlock`, by a subclass."""


class PayloadPlace(NamedTuple):
    """The values outside of a payload on which its validity and its effects depend."""

    env: BlockEnv
    """The environment of the payload's block."""
    state: StateReader
    """The state after the block's parent."""
    ancestors: Sequence[bytes]
    """The payloads of the undecided blocks up to the parent."""
    first_withdrawal: int
    """The number of withdrawals in the chain up to the parent."""
    decided: bool
    """Whether the network has accepted the block already."""
    block_hash: Hash = ZERO_HASH
    """The block's hash, for messages; zero while it is being built."""


def credits_of(withdrawals: Iterable[Withdrawal]) -> dict[Address, int]:
    """Return the wei that withdrawals pay to each account, including withdrawals of 0."""
    paid: dict[Address, int] = {}
    for withdrawal in withdrawals:
        paid[withdrawal.address] = paid.get(withdrawal.address, 0) + withdrawal.wei
    return paid
