"""Payments of a block outside of transactions: proof-of-work rewards and withdrawals. Pure.

Yellow paper 11.3; EIP-649, EIP-1234 (rewards); EIP-4895 (withdrawals).
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.config import at_least
from cchain_app.evm.engine import AccountChange, AccountState, StateChanges, StateReader
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH

_COIN: Final = 10**18
_REWARDS: Final = (("constantinople", 2), ("byzantium", 3), ("frontier", 5))
"""The reward of a block in coins, by the first fork with that reward."""


class Reward(NamedTuple):
    """The reward that a proof-of-work block pays to its miner, or to the miner of one of its uncles."""

    author: Address
    wei: int
    of_uncle: bool


class MinedHeader(Protocol):
    """The fields of a header that determine the reward of its miner."""

    @property
    def coinbase(self) -> Address:
        """The miner."""

    @property
    def number(self) -> int:
        """The block's height."""


def block_reward(fork: str) -> int:
    """Return the reward of a block without uncles, in wei; 0 since Paris."""
    if at_least(fork, "paris"):
        return 0
    return next(coins for since, coins in _REWARDS if at_least(fork, since)) * _COIN


def rewards_of(header: MinedHeader, ommers: Sequence[MinedHeader], fork: str) -> list[Reward]:
    """Return the proof-of-work rewards of a block, its own miner's first; none since Paris."""
    reward = block_reward(fork)
    if not reward:
        return []
    whole = reward + len(ommers) * (reward // 32)
    return [
        Reward(header.coinbase, whole, of_uncle=False),
        *(
            Reward(ommer.coinbase, (8 + ommer.number - header.number) * reward // 8, of_uncle=True)
            for ommer in ommers
        ),
    ]


def credits_of(candidate: CandidateBlock, fork: str) -> dict[Address, int]:
    """Return the wei that a block pays to each account, including withdrawals of 0."""
    paid: dict[Address, int] = {}
    for reward in rewards_of(candidate.header, candidate.ommers, fork):
        paid[reward.author] = paid.get(reward.author, 0) + reward.wei
    for withdrawal in candidate.withdrawals:
        paid[withdrawal.address] = paid.get(withdrawal.address, 0) + withdrawal.wei
    return paid


def pay(
    credited: Mapping[Address, int], executed: StateChanges, state: StateReader, fork: str
) -> StateChanges:
    """Return the state changes made by the payments.

    Unspecified: the payments come after the system calls at a block's end. The specification puts withdrawals
    before them, which makes a difference only to a system contract that reads its balance; no system contract does.

    Args:
        credited: Wei by account.
        executed: The block's changes before the payments.
        state: The state before the block.
        fork: The block's rule set.
    """
    accounts: dict[Address, AccountChange] = {}
    for address, wei in credited.items():
        change = executed.accounts.get(address)
        before = state.account(address) if change is None else change.after
        after = _credited(before, wei, fork)
        if after != before:
            accounts[address] = AccountChange(before, after)
    return StateChanges(accounts=accounts)


def _credited(before: AccountState | None, wei: int, fork: str) -> AccountState | None:
    if before is None:
        before = AccountState(0, 0, EMPTY_HASH)
    after = before._replace(balance=before.balance + wei)
    empty = after == AccountState(0, 0, EMPTY_HASH)
    return None if empty and at_least(fork, "spurious_dragon") else after
