"""Who makes blocks of this node's network: one node, or the validators, each in its slots, where they vote."""

from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Protocol

from network_app.proposervm.errors import HeightNotReached
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted, stakers
from primitives.cb58 import Cb58Error
from primitives.ids import PRIMARY_NETWORK_ID, IdError, NodeID

VALIDATORS = "all"
"""Tells a node that joins that the validators vote."""

_REMEMBERED_HEIGHTS = 64


class MalformedProducer(Exception):
    """NODE_PRODUCER, or what other nodes told for it, is no node ID."""

    def __init__(self, source: str, text: str, reason: Exception) -> None:
        super().__init__(f"{source} is {text!r}, which is no node ID: {reason}")
        self.text = text


class Settings(Protocol):
    """What says who makes blocks; see `NodeSettings` for what each one means."""

    @property
    def bootstrap(self) -> tuple[str, ...]:
        """Whom this node follows."""

    @property
    def producer(self) -> str:
        """Who makes all blocks, by name; empty where it is left open."""

    @property
    def votes(self) -> bool:
        """Whether the validators decide on blocks."""

    @property
    def platform_genesis(self) -> str:
        """The genesis file's path; empty without one."""

    @property
    def genesis_directory(self) -> Path:
        """Where a genesis is kept that came from other nodes."""


def named(text: str, source: str = "NODE_PRODUCER") -> NodeID:
    """Return the node that is named; `source` says where, for the error.

    Raises:
        MalformedProducer: It is no node ID.
    """
    try:
        return NodeID.parse(text)
    except (Cb58Error, IdError) as error:
        raise MalformedProducer(source, text, error) from error


class Producer:
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
    def node_id(self) -> NodeID | None:
        """The node that makes all blocks of this network; None where the validators vote.

        Unspecified: a node that follows others believes whom they named when they told it the genesis; if
        it has that from files, it takes the first validator for the producer. One that follows nobody makes
        the blocks itself.

        Raises:
            MalformedProducer: NODE_PRODUCER is no node ID.
        """
        node = self._node
        if node.votes:
            return None
        if node.producer:
            return named(node.producer)
        if not node.bootstrap:
            return self.own
        told = None if node.platform_genesis else self._told()
        return accepted.first_validator(self._chain) if told is None else told

    def read_again(self) -> None:
        """Forget who makes blocks: other nodes have told it."""
        self.__dict__.pop("node_id", None)

    @property
    def told_to_others(self) -> str:
        """Who makes the blocks, for nodes that join this network."""
        return VALIDATORS if self.node_id is None else str(self.node_id)

    @property
    def is_own(self) -> bool:
        """Whether this node makes all blocks. It costs no query where no setting names anybody."""
        node = self._node
        if not (node.bootstrap or node.producer or node.votes):
            return True
        return self.node_id == self.own

    def validators_at(self, height: int) -> Mapping[NodeID, int]:
        """Return the weights of those who may propose, as of a height of the P-Chain.

        A sole producer owns every slot, whether or not it validates. Where the validators vote and there is
        none, the schedule names nobody, and blocks are not signed (p2p.md 11.3).

        Raises:
            HeightNotReached: The P-Chain is not so high here.
        """
        if self.node_id is not None:
            return {self.node_id: 1}
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
        return {node_id: member.weight for node_id, member in members.items()}

    def _told(self) -> NodeID | None:
        """Return whom other nodes named with the genesis; None if they did not, or told none."""
        try:
            return named(self.told_path.read_text().strip(), str(self.told_path))
        except FileNotFoundError:
            return None
