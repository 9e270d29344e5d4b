"""Validators from the P-Chain's rows: by height for outer blocks, and the current ones for connections."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from chaindb import clock
from network_app.ports import ValidatorInfo
from network_app.proposervm.verification import Proposers
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted, stakers
from platform_app.services import uptime
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

LAG = 30
"""Age in seconds of the P-Chain height that blocks name, so that other nodes know that height too."""


class _Minimum(NamedTuple):
    """A P-Chain height, and the times in Unix seconds from which and before which blocks name it."""

    height: int
    since: int
    until: int


class PlatformValidators:
    """The proposers by P-Chain height: a `proposervm.ports.ValidatorState`. Threads share it.

    Args:
        chain: The P-Chain.
        proposers: Returns the weights of the proposers as of a height.
    """

    def __init__(self, chain: PlatformChain, proposers: Proposers) -> None:
        self._chain = chain
        self._proposers = proposers
        self._minimum = _Minimum(0, 0, 0)

    def current_height(self) -> int:
        """Return the height of the last accepted P-Chain block."""
        return self._chain.tip().height

    def minimum_height(self, now: int) -> int:
        """Return the P-Chain height that a block built now names: every node should have reached it.

        `now` is in Unix seconds. The height is cached until a later block can be old enough.
        """
        known = self._minimum
        if not known.since <= now < known.until:
            known = self._minimum = self._read_minimum(now)
        return known.height

    def height_at(self, time: int) -> int:
        """Return the P-Chain height that a block of this time (Unix seconds) names."""
        return accepted.height_at(self._chain, time - LAG) or 0

    def proposers(self, height: int) -> Mapping[NodeID, int]:
        """Return the weights of the nodes that may propose as of a height.

        Raises:
            OuterBlockTooEarly: The height is above the last accepted one.
        """
        return self._proposers(height)

    def _read_minimum(self, now: int) -> _Minimum:
        height = self.height_at(now)
        # A block accepted from now on is old enough only after half a minute.
        following = accepted.block_at(self._chain, height + 1)
        return _Minimum(height, now, LAG + (now if following is None else following.time))


class ValidatorDirectory:
    """The validators in memory, reread at intervals: a `ports.Directory`.

    Args:
        chain: The P-Chain.
        subnets: The subnets that validate the node's chains, besides the Primary Network.
    """

    def __init__(self, chain: PlatformChain, subnets: Iterable[ID] = ()) -> None:
        self._chain = chain
        self._subnets = {PRIMARY_NETWORK_ID, *subnets}
        self._validators: Mapping[ID, Mapping[NodeID, ValidatorInfo]] = {}
        self._uptimes: Mapping[NodeID, int] = {}

    def add(self, subnet_id: ID) -> None:
        """Read the validators of a further subnet from now on."""
        self._subnets = {*self._subnets, subnet_id}

    def read(self) -> None:
        """Read the validators and their observed uptimes. Blocking: call it in a thread."""
        now = clock.now()
        self._validators = {subnet_id: self._read(subnet_id) for subnet_id in self._subnets}
        tracking = uptime.tracking(self._chain)
        self._uptimes = {
            node_id: int(100 * seen.fraction(now, tracking=tracking))
            for node_id, seen in stakers.uptimes(self._chain).items()
        }

    def validators(self, subnet_id: ID = PRIMARY_NETWORK_ID) -> Mapping[NodeID, ValidatorInfo]:
        """Return the current validators of a subnet that validates a chain of this node."""
        return self._validators.get(subnet_id, {})

    def uptime_of(self, node_id: NodeID) -> int:
        """Return the uptime to report to a peer, in percent from 0 to 100."""
        return self._uptimes.get(node_id, 0)

    def _read(self, subnet_id: ID) -> Mapping[NodeID, ValidatorInfo]:
        members = stakers.current_members(self._chain, subnet_id)
        return {
            node_id: ValidatorInfo(member.weight, member.public_key)
            for node_id, member in members.items()
        }
