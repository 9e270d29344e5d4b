"""Payments of a block outside of transactions: proof-of-work rewards and withdrawals. Pure.

Yellow paper 11.3; EIP-649, EIP-1234 (rewards); EIP-4895 (withdrawals).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.effects import credits_of as withdrawn
from cchain_app.config import at_least
from primitives.evm import Address

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
    for address, wei in withdrawn(candidate.withdrawals).items():
        paid[address] = paid.get(address, 0) + wei
    return paid
