"""Why no block can follow the head of a chain: its fees have no room in a header, or no installed engine reads them."""

from typing import Final, NamedTuple

from django.db import DatabaseError

from cchain_app.blocks.errors import BlockRefused
from cchain_app.chain import EvmChain
from cchain_app.evm.installed import missing_engine
from cchain_app.selectors import blocks

STOPPED: Final = "no block can follow block {number}: {reason}"
FAILED: Final = "its rules failed with {error}; the log has the traceback"


class BlockObstacle(NamedTuple):
    """Why no block can follow a chain's head."""

    reason: str
    cause: Exception | None = None
    """The exception, if it is not the refusal of a rule."""


def obstacle(chain: EvmChain, now: int) -> BlockObstacle | None:
    """Return why no block can follow the head of a chain of a subnet; None if one can.

    It reads at most the state of the chain's fee manager and reward manager.

    Unspecified: chains of the primary network have no managers, so they have no obstacle.

    Args:
        chain: The chain; it has its block 0.
        now: The time of the block, in Unix seconds.

    Raises:
        DatabaseError: The chain's rows cannot be read.
    """
    if not chain.is_of_subnet:
        return None
    head = blocks.head(chain)
    cause = None
    try:
        env = chain.rules.env_after(head, max(now, head.header.timestamp))
    except BlockRefused as refusal:
        reason = str(refusal)
    except DatabaseError:
        raise
    except Exception as error:  # a fault in rules that strangers call: the next block fails too
        reason, cause = FAILED.format(error=type(error).__name__), error
    else:
        reason = missing_engine(env)
    return (
        BlockObstacle(STOPPED.format(number=head.number, reason=reason), cause) if reason else None
    )
