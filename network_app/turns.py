"""Who makes blocks: the rule that the chains' makers of blocks ask (`chaindb.turns`).

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

from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from django.conf import settings

from chaindb import clock
from chaindb.chains import Chain
from network_app import selectors
from network_app.chains.cchain import CChain
from network_app.chains.inner import InnerChain
from network_app.chains.platform import PlatformChain
from network_app.chains.wrapping import Wrapper
from network_app.handshake.identity import NodeIdentity, load
from network_app.proposervm.errors import HeightNotReached
from network_app.proposervm.verification import Upgrades
from network_app.proposervm.windower import SLOT, proposer_at, slot_of
from platform_app.apps import platform_chain
from platform_app.selectors import accepted, stakers
from primitives.cb58 import Cb58Error
from primitives.ids import PRIMARY_NETWORK_ID, IdError, NodeID
from primitives.networks import LOCAL

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
LOCAL_EPOCH = 30
PUBLIC_EPOCH = 300
"""Seconds (p2p.md 11.4)."""

_REMEMBERED_HEIGHTS = 64


class MalformedProducer(Exception):
    """NODE_PRODUCERS has something else than node IDs."""

    def __init__(self, text: str, reason: Exception) -> None:
        super().__init__(f"NODE_PRODUCERS has {text!r}, which is no node ID: {reason}")
        self.text = text


@cache
def identity() -> NodeIdentity:
    """Return this node's keys, from its files."""
    node = settings.NODE
    return load(node.certificate_path, node.staking_key_path, node.signer_path)


@cache
def upgrades() -> Upgrades:
    """Return which rules of outer blocks hold: on this node's networks all, from genesis on."""
    local = settings.NODE.network_id == LOCAL
    return Upgrades(epoch_duration=LOCAL_EPOCH if local else PUBLIC_EPOCH)


@cache
def wrapper(alias: Chain) -> Wrapper:
    """Return the outer blocks of a chain; one for each process."""
    inner: InnerChain = PlatformChain()
    if alias == Chain.C:
        inner = CChain(platform_chain().network().c_chain_id)
    return Wrapper(inner, identity(), upgrades(), validators_at)


@cache
def producers() -> frozenset[NodeID] | None:
    """Return the nodes that make this network's blocks; None: all validators.

    Unspecified: a node that follows others believes whom they named when they told it the genesis; if
    it has that from files, it takes the first validator for the producer. One that follows nobody makes
    the blocks itself.

    Raises:
        MalformedProducer: NODE_PRODUCERS has something else than node IDs.
    """
    node = settings.NODE
    names = node.producers
    if not names and not node.bootstrap:
        return frozenset({platform_chain().node_id})
    if not names and not node.platform_genesis:
        names = _told()
    if not names:
        return frozenset({accepted.first_validator(platform_chain())})
    return None if names == (ALL,) else named(names)


def named_producers() -> frozenset[NodeID]:
    """Return the nodes that the settings name; none where they name all, or leave it open.

    Raises:
        MalformedProducer: NODE_PRODUCERS has something else than node IDs.
    """
    return named(settings.NODE.producers)


def named(names: Sequence[str]) -> frozenset[NodeID]:
    """Return the nodes that are named; none where that are all.

    Raises:
        MalformedProducer: Something is no node ID.
    """
    return frozenset() if tuple(names) == (ALL,) else frozenset(map(_node_id, names))


def told_to_others() -> tuple[str, ...]:
    """Return who makes the blocks, for nodes that join this network."""
    found = producers()
    return (ALL,) if found is None else tuple(sorted(map(str, found)))


def told_path() -> Path:
    """Return where it is kept whom other nodes named with the genesis."""
    return settings.NODE.genesis_directory / "producers"


def _told() -> tuple[str, ...]:
    """Return whom other nodes named with the genesis; nobody if they did not, or told none."""
    try:
        return tuple(told_path().read_text().split())
    except FileNotFoundError:
        return ()


def is_producer() -> bool:
    """Say whether this node makes blocks at all."""
    named = producers()
    return named is None or platform_chain().node_id in named


def may_produce(alias: Chain, height: int, now: int | None) -> bool:
    """Say whether this node may make the block at a height now (Unix seconds).

    None: whether its turn still lasts, by the clock; whom it hears was looked at before.

    A node that has neither NODE_BOOTSTRAP nor NODE_PRODUCERS always may, and that costs no query.
    """
    node = settings.NODE
    if not alias.is_here:
        return False
    if not node.bootstrap and not node.producers:
        return True
    if not is_producer() or not selectors.is_bootstrapped(alias):
        return False
    if producers() == frozenset({platform_chain().node_id}):
        return True
    if now is None:
        return _owns_slot(alias, height, clock.now())
    return _hears_others(alias) and _owns_slot(alias, height, now)


def validators_at(height: int) -> Mapping[NodeID, int]:
    """Return the weights of those who take turns, as of a height of the P-Chain.

    A sole producer owns every slot, whether or not it validates. Where all validators take turns and there
    is none, the schedule names nobody, and blocks are not signed (p2p.md 11.3).

    Raises:
        HeightNotReached: The P-Chain is not so high here.
    """
    named = producers()
    if named is not None and len(named) == 1:
        return dict.fromkeys(named, 1)
    return _weights(height)


@lru_cache(maxsize=_REMEMBERED_HEIGHTS)
def _weights(height: int) -> Mapping[NodeID, int]:
    """Return the weights of producers; who validated at a height never changes."""
    members = stakers.validators_at(platform_chain(), height, PRIMARY_NETWORK_ID)
    if members is None:
        raise HeightNotReached(height, platform_chain().tip().height)
    named = producers()
    found = {
        node_id: member.weight
        for node_id, member in members.items()
        if named is None or node_id in named
    }
    # Unspecified: the chains go on when none of the producers that are named validates (any more).
    return found if found or named is None else {_first(): 1}


def _first() -> NodeID:
    """Return who makes a block that is nobody's: the genesis' first validator, if it may."""
    named, first = producers(), accepted.first_validator(platform_chain())
    return first if named is None or first in named else min(named)


def _hears_others(alias: Chain) -> bool:
    """Say whether the network's process lives and hears those with more than half of the stake."""
    reported = selectors.status()
    if reported is None or not selectors.is_fresh(reported, SILENCE):
        return False
    parent = wrapper(alias).last()
    here = {*selectors.heard_ids(HEARING), platform_chain().node_id}
    weights = validators_at(parent.p_chain_height or 0)
    return not weights or _are_most(here, weights)


def _owns_slot(alias: Chain, height: int, now: int) -> bool:
    """Say whether a slot is this node's among several, and what is there after the slots before is known."""
    parent = wrapper(alias).last()
    if parent.height + 1 != height:
        return False  # the head has moved: whoever asks will look again
    if parent.p_chain_height is None:
        # Nobody owns the first block after genesis (p2p.md 11.2). Unspecified: so that not all make
        # one, one of them does.
        return platform_chain().node_id == _first()
    weights = validators_at(parent.p_chain_height)
    if not weights:
        return platform_chain().node_id == _first()
    if max(0, now - parent.time) % SLOT >= SLOT - MARGIN:
        return False
    slot = slot_of(now, parent.time)
    drawn = proposer_at(wrapper(alias).inner.chain_id, height, slot, weights)
    return drawn == platform_chain().node_id and _takes_over(alias, parent.time, slot, weights)


def _takes_over(alias: Chain, parent_time: int, slot: int, weights: Mapping[NodeID, int]) -> bool:
    """Say whether the others have said, since this slot began, that nothing of theirs is missing here.

    All who are there, and more than half of the stake, this node included. Nobody owned a slot before
    the first.
    """
    own = platform_chain().node_id
    if slot == 0 or weights.keys() <= {own}:
        return True
    begins = parent_time + SLOT * slot - clock.offset()
    roll = selectors.roll(alias)
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
