"""The node's clock in a network: on a local network it follows the time of the blocks (design 8)."""

import logging

from django.conf import settings

from chaindb import clock
from primitives.networks import MAINNET, TESTNET

_log = logging.getLogger(__name__)


def follows() -> bool:
    """Return whether this node's clock follows the time of the blocks.

    Unspecified: staking time travel affects a whole network. The block producer moves its clock, and its
    followers learn that from the blocks. There is no time travel on public networks or if the validators vote.
    """
    return (
        settings.NODE.common.network_id not in {MAINNET, TESTNET} and not settings.NODE.common.votes
    )


def follow(time: int) -> None:
    """Move the clock forward to an accepted block's time, if it is behind.

    Call this in the transaction in which the block is accepted.
    """
    behind = clock.reach(time)
    if behind:
        _log.info("the clock follows the producer's: %d s forward", behind)
