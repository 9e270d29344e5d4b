"""The node's clock in a network: on a local one it follows the blocks' (design 8)."""

import logging

from django.conf import settings

from chaindb import clock
from primitives.networks import MAINNET, TESTNET

_log = logging.getLogger(__name__)


def follows() -> bool:
    """Say whether this node's clock follows that of the blocks.

    Unspecified: staking time travel is of a whole network. Its producer moves its clock, and whoever
    follows it sees that by the blocks. On the public ones nobody travels, nor where the validators vote.
    """
    return settings.NODE.network_id not in {MAINNET, TESTNET} and not settings.NODE.votes


def follow(time: int) -> None:
    """Move the clock forward to an accepted block's time, if it is behind.

    The caller holds the transaction in which the block is accepted.
    """
    behind = clock.reach(time)
    if behind:
        _log.info("the clock follows the producer's: %d s forward", behind)
