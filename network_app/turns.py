"""Who makes blocks of this node's network, and whose turn it is: what chains' makers of blocks ask.

There is no voting yet, and what is accepted is final. So one node makes all blocks unless the settings
name several; those take turns by the schedule of the proposer VM (p2p.md 11.3) over their stake.

Of several a node takes its turn only while it hears more than half of their stake, itself included. So of
a network that falls apart at most one part goes on, and the others take its blocks when they meet again.
Two of the same stake have to hear each other: while one is away nothing is made. Of two with unlike stake
the greater goes on alone, and the lesser waits for it. At the start of a network nothing is made until
more than half are there. Health says it by the stake that is connected (check P).

Whoever takes over, because the owner of a slot let it pass, first has to hear from the others that take
turns, asked after that slot, that they have no block which is missing here (`sync.roll`): one that a slow
machine is late with would be contradicted. All who answer have to say so (but for one that says otherwise for half a minute), and more than half of the
stake. And whoever made a block asks once more, before it is accepted, whether its turn still lasts. What remains
without voting: a block that was made right before a network fell apart may not have got to the others; and
clocks that differ by more than `MARGIN`, or a node that stands still for so long between its last look at
the clock and its commit, can make two blocks of one height.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from chaindb import clock
from chaindb.chains import Chain
from chaindb.offers import Offer
from network_app import selectors
from network_app.chains.outer_blocks import OuterRows
from network_app.proposervm.errors import HeightNotReached
from network_app.proposervm.windower import SLOT, proposer_at, slot_of
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted, stakers
from primitives.cb58 import Cb58Error
from primitives.ids import ID, PRIMARY_NETWORK_ID, IdError, NodeID

ALL = "all"
"""Names all validators in NODE_PRODUCERS."""
MARGIN = 1
"""Seconds before the end of a slot in which nothing is made: whoever owns the next one has to hear of
it before making another block on the same parent."""
SILENCE = 3.0
"""Seconds without a report of the network's process after which no turn is taken: then nobody hears
what the others make."""
HEARING = 6.0
"""Seconds after which a node that says nothing is not heard any more: roll calls are one second apart
(`sync.calling`)."""

_REMEMBERED_HEIGHTS = 64


class MalformedProducer(Exception):
    """NODE_PRODUCERS has something else than node IDs."""

    def __init__(self, text: str, reason: Exception) -> None:
        super().__init__(f"NODE_PRODUCERS has {text!r}, which is no node ID: {reason}")
        self.text = text


class Settings(Protocol):
    """What says who makes blocks; see `NodeSettings` for what each one means."""

    @property
    def bootstrap(self) -> tuple[str, ...]:
        """Whom this node follows."""

    @property
    def producers(self) -> tuple[str, ...]:
        """Who makes blocks, by name; nobody where it is left open."""

    @property
    def votes(self) -> bool:
        """Whether the validators decide on blocks."""

    @property
    def platform_genesis(self) -> str:
        """The genesis file's path; empty without one."""

    @property
    def genesis_directory(self) -> Path:
        """Where a genesis is kept that came from other nodes."""


def named(names: Sequence[str]) -> frozenset[NodeID]:
    """Return the nodes that are named; none where that are all.

    Raises:
        MalformedProducer: Something is no node ID.
    """
    return frozenset() if tuple(names) == (ALL,) else frozenset(map(_node_id, names))


class Producers:
    """Who makes the blocks of a node's network.

    Args:
        node: Its settings.
        chain: Its P-Chain.
    """

    def __init__(self, node: Settings, chain: PlatformChain) -> None:
        self._node = node
        self._chain = chain
        self._weights: OrderedDict[int, Mapping[NodeID, int]] = OrderedDict()

    @property
    def own(self) -> NodeID:
        """This node."""
        return self._chain.node_id

    @property
    def told_path(self) -> Path:
        """Where it is kept whom other nodes named with the genesis."""
        return self._node.genesis_directory / "producers"

    @cached_property
    def nodes(self) -> frozenset[NodeID] | None:
        """The nodes that make this network's blocks; None: all validators.

        Unspecified: a node that follows others believes whom they named when they told it the genesis; if
        it has that from files, it takes the first validator for the producer. One that follows nobody makes
        the blocks itself. Where the validators vote they all may.

        Raises:
            MalformedProducer: NODE_PRODUCERS has something else than node IDs.
        """
        node = self._node
        if node.votes:
            return None
        names = node.producers
        if not names and not node.bootstrap:
            return frozenset({self.own})
        if not names and not node.platform_genesis:
            names = self._told()
        if not names:
            return frozenset({accepted.first_validator(self._chain)})
        return None if names == (ALL,) else named(names)

    def read_again(self) -> None:
        """Forget who makes blocks: other nodes have told it."""
        self.__dict__.pop("nodes", None)

    @property
    def told_to_others(self) -> tuple[str, ...]:
        """Who makes the blocks, for nodes that join this network."""
        return (ALL,) if self.nodes is None else tuple(sorted(map(str, self.nodes)))

    @property
    def is_named_nowhere(self) -> bool:
        """Whether no setting names anybody: then this node makes all blocks."""
        return not (self._node.bootstrap or self._node.producers or self._node.votes)

    @property
    def includes_own(self) -> bool:
        """Whether this node makes blocks at all."""
        return self.nodes is None or self.own in self.nodes

    @property
    def is_own_alone(self) -> bool:
        """Whether nobody but this node makes blocks."""
        return self.nodes == frozenset({self.own})

    @property
    def first(self) -> NodeID:
        """Who makes a block that is nobody's: the genesis' first validator, if it may."""
        first = accepted.first_validator(self._chain)
        return first if self.nodes is None or first in self.nodes else min(self.nodes)

    def validators_at(self, height: int) -> Mapping[NodeID, int]:
        """Return the weights of those who take turns, as of a height of the P-Chain.

        A sole producer owns every slot, whether or not it validates. Where all validators take turns and
        there is none, the schedule names nobody, and blocks are not signed (p2p.md 11.3).

        Raises:
            HeightNotReached: The P-Chain is not so high here.
        """
        if self.nodes is not None and len(self.nodes) == 1:
            return dict.fromkeys(self.nodes, 1)
        found = self._weights.get(height)
        if found is None:
            # Who validated at a height never changes.
            found = self._weights[height] = self._weights_at(height)
            if len(self._weights) > _REMEMBERED_HEIGHTS:
                self._weights.popitem(last=False)
        return found

    def _weights_at(self, height: int) -> Mapping[NodeID, int]:
        members = stakers.validators_at(self._chain, height, PRIMARY_NETWORK_ID)
        if members is None:
            raise HeightNotReached(height, self._chain.tip().height)
        found = {
            node_id: member.weight
            for node_id, member in members.items()
            if self.nodes is None or node_id in self.nodes
        }
        # Unspecified: the chains go on when none of the producers that are named validates (any more).
        return found if found or self.nodes is None else {self.first: 1}

    def _told(self) -> tuple[str, ...]:
        """Return whom other nodes named with the genesis; nobody if they did not, or told none."""
        try:
            return tuple(self.told_path.read_text().split())
        except FileNotFoundError:
            return ()


class ChainTurns:
    """Whose turn it is on one chain of this node; a `chainvm.consensus.Turns`.

    Args:
        alias: Of the chain.
        producers: Who makes blocks.
        rows: The outer blocks of the chain's accepted blocks.
        chain_id: Returns its ID, once there is a genesis.
        offer: How much of what waits is taken at once: less after a block that was late.
        is_here: Whether this node takes part in the chain.
    """

    def __init__(
        self,
        alias: Chain,
        producers: Producers,
        rows: OuterRows,
        chain_id: Callable[[], ID],
        offer: Offer,
        *,
        is_here: bool,
    ) -> None:
        self._is_here = is_here
        self._alias = alias
        self._producers = producers
        self._rows = rows
        self._chain_id = chain_id
        self._offer = offer

    def may_produce(self, height: int, now: int | None) -> bool:
        """Say whether this node may make the block at a height now (Unix seconds).

        None: whether its turn still lasts, by the clock; whom it hears was looked at before.

        A node that has neither NODE_BOOTSTRAP nor NODE_PRODUCERS always may, and that costs no query.
        """
        if not self._is_here:
            return False
        if self._producers.is_named_nowhere:
            return True
        if not self._producers.includes_own or not selectors.is_bootstrapped(self._alias):
            return False
        if self._producers.is_own_alone:
            return True
        if now is None:
            return self._owns_slot(height, clock.now())
        return self._hears_others() and self._owns_slot(height, now)

    def was_late(self, reason: Exception) -> None:
        """Note that a block came to nothing."""
        self._offer.was_late(reason)

    def was_accepted(self) -> None:
        """Note that a block was accepted."""
        self._offer.was_taken()

    def _hears_others(self) -> bool:
        """Say whether the network's process lives and hears those with more than half of the stake."""
        reported = selectors.status()
        if reported is None or not selectors.is_fresh(reported, SILENCE):
            return False
        here = {*selectors.heard_ids(HEARING), self._producers.own}
        weights = self._producers.validators_at(self._rows.last().p_chain_height or 0)
        return not weights or _are_most(here, weights)

    def _owns_slot(self, height: int, now: int) -> bool:
        """Say whether a slot is this node's among several, and what is there after the slots before is known."""
        parent, producers = self._rows.last(), self._producers
        if parent.height + 1 != height:
            return False  # the head has moved: whoever asks will look again
        if parent.p_chain_height is None:
            # Nobody owns the first block after genesis (p2p.md 11.2). Unspecified: so that not all make
            # one, one of them does.
            return producers.own == producers.first
        weights = producers.validators_at(parent.p_chain_height)
        if not weights:
            return producers.own == producers.first
        if max(0, now - parent.time) % SLOT >= SLOT - MARGIN:
            return False
        slot = slot_of(now, parent.time)
        drawn = proposer_at(self._chain_id(), height, slot, weights)
        return drawn == producers.own and self._takes_over(parent.time, slot, weights)

    def _takes_over(self, parent_time: int, slot: int, weights: Mapping[NodeID, int]) -> bool:
        """Say whether the others have said, since this slot began, that nothing of theirs is missing here.

        All who are there, and more than half of the stake, this node included. Nobody owned a slot before
        the first.
        """
        own = self._producers.own
        if slot == 0 or weights.keys() <= {own}:
            return True
        begins = parent_time + SLOT * slot - clock.offset()
        roll = selectors.roll(self._alias)
        if roll is None:
            return False
        agree = {
            node_id
            for node_id, one in roll.items()
            if one.agreed_at is not None and one.agreed_at >= begins
        }
        missing = any(one.waited_for for node_id, one in roll.items() if node_id not in agree)
        return not missing and _are_most({*agree, own}, weights)


def _are_most(here: Collection[NodeID], weights: Mapping[NodeID, int]) -> bool:
    """Say whether nodes have more than half of the stake."""
    stake = sum(weight for node_id, weight in weights.items() if node_id in here)
    return 2 * stake > sum(weights.values())


def _node_id(text: str) -> NodeID:
    try:
        return NodeID.parse(text)
    except (Cb58Error, IdError) as error:
        raise MalformedProducer(text, error) from error
