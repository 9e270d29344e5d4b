"""The current validators for the engine: sampling and the connected share of the stake."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from random import Random, SystemRandom
from typing import Protocol

from typing_extensions import override

from network_app.consensus.report import StakeReport
from network_app.peers.bench import Bench
from network_app.ports import ValidatorInfo
from network_app.snowman.parameters import SnowParameters
from network_app.snowman.polls import sample
from network_app.snowman.ports import Validators
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

REFRESH = 1.0
"""Seconds between updates of the benched nodes."""


class ValidatorSource(Protocol):
    """A source of the current validators: a `ports.Directory`, or `OneValidator`."""

    def validators(self, subnet_id: ID = PRIMARY_NETWORK_ID) -> Mapping[NodeID, ValidatorInfo]:
        """Return the current validators of a subnet."""


class OneValidator:
    """The directory of a network with a single block producer, which is the only node polled.

    Args:
        node_id: The producer.
    """

    def __init__(self, node_id: NodeID) -> None:
        self._validators = {node_id: ValidatorInfo(1, None)}

    def validators(self, subnet_id: ID = PRIMARY_NETWORK_ID) -> Mapping[NodeID, ValidatorInfo]:
        """Return the producer as the only validator."""
        del subnet_id
        return self._validators


class CurrentValidators(Validators):
    """`snowman.ports.Validators` over the directory, for one chain.

    A benched validator counts as disconnected, as in the reference. At most a third of the stake that a
    poll can do without is benched, however many validators do not answer.

    Args:
        directory: The current validators.
        bench: The nodes that do not answer.
        parameters: The share of the stake that must be connected.
        own: This node, which counts as connected.
        alias: The chain's name.
        subnet_id: The subnet that validates the chain.
        random: Source of the samples; must be unpredictable, or the sampled validators are predictable.
        clock: Returns seconds, monotonic.
    """

    def __init__(
        self,
        directory: ValidatorSource,
        bench: Bench,
        parameters: SnowParameters,
        *,
        own: NodeID,
        alias: str,
        subnet_id: ID = PRIMARY_NETWORK_ID,
        random: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory
        self._bench = bench
        self._parameters = parameters
        self._own = own
        self._alias = alias
        self._subnet_id = subnet_id
        self._random = random or SystemRandom()
        self._clock = clock
        self._connected: dict[NodeID, None] = {own: None}
        self._benched: Collection[NodeID] = frozenset()
        self._looked: float | None = None

    def connected(self, node_id: NodeID) -> None:
        """Note a new peer."""
        self._connected[node_id] = None

    def disconnected(self, node_id: NodeID) -> None:
        """Note that a peer has disconnected."""
        self._connected.pop(node_id, None)

    def is_benched(self, node_id: NodeID) -> bool:
        """Return whether a node is benched because it does not answer."""
        now = self._clock()
        if self._looked is None or now - self._looked >= REFRESH:
            self._looked = now
            self._benched = self._look_at_bench(now)
        return node_id in self._benched

    def stake(self) -> StakeReport:
        """Return the validators' stake, and the validators that are disconnected or benched."""
        current = self._current()
        total = sum(facts.weight for facts in current.values())
        absent = {
            node_id: facts.weight
            for node_id, facts in current.items()
            if not self._is_there(node_id)
        }
        return StakeReport(len(current), total, absent)

    @override
    def is_validator(self, node_id: NodeID) -> bool:
        return node_id in self._current()

    @override
    def weight(self, node_id: NodeID | None) -> int:
        facts = self._current().get(self._own if node_id is None else node_id)
        return 0 if facts is None else facts.weight

    @override
    def connected_share(self) -> float:
        return self.stake().connected

    @override
    def sample(self, k: int) -> Counter[NodeID] | None:
        weights = {node_id: facts.weight for node_id, facts in self._current().items()}
        return sample(weights, k, self._random)

    @override
    def random_connected(self) -> NodeID | None:
        found = [
            node_id
            for node_id in self._current()
            if node_id != self._own and self._is_there(node_id)
        ]
        return self._random.choice(found) if found else None

    def _current(self) -> Mapping[NodeID, ValidatorInfo]:
        return self._directory.validators(self._subnet_id)

    def _is_there(self, node_id: NodeID) -> bool:
        return node_id in self._connected and not self.is_benched(node_id)

    def _look_at_bench(self, now: float) -> frozenset[NodeID]:
        """Return the benched nodes, as long as their total stake is within the limit."""
        current = self._current()
        total = sum(facts.weight for facts in current.values())
        tolerated = total * (1.0 - self._parameters.min_connected_to_poll) / 3.0
        found = []
        for node_id, aliases in self._bench.benched(now).items():
            facts = current.get(node_id)
            if self._alias in aliases and (facts is None or facts.weight <= tolerated):
                tolerated -= 0 if facts is None else facts.weight
                found.append(node_id)
        return frozenset(found)
