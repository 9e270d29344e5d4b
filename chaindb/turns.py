"""Whether it is this node's turn to make the next block of a chain.

Both chains' makers of blocks ask before they make one. A node alone always may; in a network of
nodes the network's process (or room) installs the rule.
"""

from collections.abc import Callable

from chaindb.chains import Chain


class TurnOver(Exception):
    """The turn ended while a block was made; it is as if that had never been."""

    def __init__(self, chain: Chain, height: int) -> None:
        super().__init__(f"the turn ended while the {chain}-Chain's block {height} was made")


Rule = Callable[[Chain, int, int | None], bool]
"""Takes chain, height of the next block and the node's time in Unix seconds; without one it looks by the
clock whether the turn still lasts. It is asked twice for every block: a node alone must not pay for it,
others a few statements at most."""


def _always(chain: Chain, height: int, now: int | None) -> bool:
    del chain, height, now
    return True


_rule: Rule = _always


def install(rule: Rule | None) -> None:
    """Ask this rule from now on in this process; None: blocks may always be made."""
    global _rule  # noqa: PLW0603  # one rule for each process
    _rule = rule or _always


def may_produce(chain: Chain, height: int, now: int) -> bool:
    """Say whether this node may make the block at a height now (Unix seconds)."""
    return _rule(chain, height, now)


def hold(chain: Chain, height: int) -> None:
    """See that the turn still lasts, right before a block is accepted: it was made meanwhile.

    The caller holds the chain's lock and the transaction, and has written nothing of the block.

    Raises:
        TurnOver: It does not.
    """
    if not _rule(chain, height, None):
        raise TurnOver(chain, height)
