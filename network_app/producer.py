"""Block producers of this node's network: a single node, or the validators in their slots if they vote."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from network_app.proposervm.errors import OuterBlockReason, OuterBlockTooEarly
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted, stakers
from primitives.bounded_cache import BoundedCache
from primitives.cb58 import Cb58Error
from primitives.ids import ID, PRIMARY_NETWORK_ID, IdError, NodeID
from primitives.settings import CommonSettings

VALIDATORS = "all"
"""Value sent to joining nodes if the validators vote."""

_REMEMBERED_HEIGHTS = 64


class MalformedProducer(Exception):
    """NODE_PRODUCER, or the producer named by other nodes, is not a node ID."""

    def __init__(self, source: str, text: str, reason: Exception) -> None:
        super().__init__(f"{source} is {text!r}, which is no node ID: {reason}")
        self.text = text


def named(text: str, source: str = "NODE_PRODUCER") -> NodeID:
    """Parse the ID of the producer; `source` is its origin, for the error.

    Raises:
        MalformedProducer: The text is not a node ID.
    """
    try:
        return NodeID.parse(text)
    except (Cb58Error, IdError) as error:
        raise MalformedProducer(source, text, error) from error


class ProducerPolicy:
    """Determines the block producer of a node's network.

    Args:
        node: The settings that the apps of a node share.
        chain: Its P-Chain.
    """

    def __init__(self, node: CommonSettings, chain: PlatformChain) -> None:
        self._node = node
        self._chain = chain
        self._weights: BoundedCache[tuple[ID, int], Mapping[NodeID, int]] = BoundedCache(
            _REMEMBERED_HEIGHTS
        )

    @property
    def own(self) -> NodeID:
        """This node's ID."""
        return self._chain.node_id

    @property
    def received_path(self) -> Path:
        """File with the producer that other nodes named with the genesis."""
        return self._node.genesis_directory / "producers"

    @cached_property
    def node_id(self) -> NodeID | None:
        """The node that produces all blocks of this network; None if the validators vote.

        Unspecified: a node that follows others uses the producer that they named with the genesis. If the
        genesis is from files, it uses the first validator. A node that follows no others produces the blocks
        itself.

        Raises:
            MalformedProducer: NODE_PRODUCER is not a node ID.
        """
        node = self._node
        if node.votes:
            return None
        if node.producer:
            return named(node.producer)
        if not node.bootstrap:
            return self.own
        named_by_others = None if node.platform_genesis else self._received()
        return accepted.first_validator(self._chain) if named_by_others is None else named_by_others

    def read_again(self) -> None:
        """Discard the cached producer, after other nodes have named one."""
        self.__dict__.pop("node_id", None)

    @property
    def announced_name(self) -> str:
        """The block producer, as text for nodes that join this network."""
        return VALIDATORS if self.node_id is None else str(self.node_id)

    @property
    def is_own(self) -> bool:
        """Whether this node produces all blocks. Needs no query if no setting names another node."""
        node = self._node
        if not (node.bootstrap or node.producer or node.votes):
            return True
        return self.node_id == self.own

    def validators_at(
        self, height: int, subnet_id: ID = PRIMARY_NETWORK_ID
    ) -> Mapping[NodeID, int]:
        """Return the weights of the nodes that may propose a subnet's blocks as of a P-Chain height.

        A sole producer owns every slot, whether or not it validates. If the validators vote and there are no
        validators, slots have no proposer and blocks are not signed (p2p.md 11.3).

        Raises:
            OuterBlockTooEarly: This node's P-Chain has not reached the height.
        """
        if self.node_id is not None:
            return {self.node_id: 1}
        key = (subnet_id, height)
        found = self._weights.peek(key)
        if found is None:
            # The validators at a height never change.
            found = self._weights_at(height, subnet_id)
            self._weights.put(key, found)
        return found

    def _weights_at(self, height: int, subnet_id: ID) -> Mapping[NodeID, int]:
        members = stakers.validators_at(self._chain, height, subnet_id)
        if members is None:
            raise OuterBlockTooEarly(
                OuterBlockReason.HEIGHT_NOT_REACHED, height=height, current=self._chain.tip().height
            )
        return {node_id: member.weight for node_id, member in members.items()}

    def _received(self) -> NodeID | None:
        """Return the producer that other nodes named with the genesis; None if they named none."""
        try:
            return named(self.received_path.read_text().strip(), str(self.received_path))
        except FileNotFoundError:
            return None
