"""Validators of L1s, which pay a fee each second, and the conversions of subnets to L1s (etna.md 3, 4).

Amounts are in the smallest unit of the staking asset, times in Unix seconds. A validator pays from its balance while it
is active. Its record contains the accrued fees at which its balance is used up, so records do not change as time passes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import merge
from operator import attrgetter
from typing import NamedTuple, Protocol, Self

from typing_extensions import override

from platform_app.state.facets import FacetDiff
from platform_app.txs.l1 import PChainOwner
from primitives.ids import EMPTY_NODE_ID, ID, NodeID


@dataclass(frozen=True, slots=True)
class L1Validator:
    """One validation of an L1 by a node."""

    validation_id: ID
    subnet_id: ID
    node_id: NodeID
    public_key: bytes
    """The BLS key, 48 bytes."""
    remaining_balance_owner: PChainOwner
    deactivation_owner: PChainOwner
    start: int
    weight: int
    """0 once the validator has been removed."""
    min_nonce: int = 0
    """The least nonce of the next message that sets the weight."""
    end_accumulated_fee: int = 0
    """The accrued fees at which the balance is used up; 0: the validator is inactive."""

    @property
    def is_active(self) -> bool:
        """Whether the validator pays and signs."""
        return self.weight != 0 and self.end_accumulated_fee != 0

    @property
    def order(self) -> tuple[int, bytes]:
        """The order in which active validators run out of balance."""
        return (self.end_accumulated_fee, bytes(self.validation_id))

    @property
    def effective_node_id(self) -> NodeID:
        """The node under which the weight counts in validator sets: inactive validators share the empty ID."""
        return self.node_id if self.is_active else EMPTY_NODE_ID

    def deactivated(self) -> Self:
        """Return the validator without a balance."""
        return replace(self, end_accumulated_fee=0)


class Conversion(NamedTuple):
    """How a subnet was converted to an L1."""

    conversion_id: ID
    manager_chain_id: ID
    """The chain with the contract that manages the validators."""
    manager_address: bytes


class Expiry(NamedTuple):
    """A registration message that must not be used again before it expires."""

    time: int
    validation_id: ID


class L1Fees(NamedTuple):
    """The state of the continuous fee."""

    excess: int = 0
    accrued: int = 0
    """The amount that a validator would have paid if it had always been active."""


class L1Totals(NamedTuple):
    """Totals over all L1s. The row of the chain's tip has them, so that a network without L1s reads no further rows."""

    fees: L1Fees = L1Fees()
    active: int = 0
    """Number of active validators."""
    expiries: int = 0
    """Number of used registration messages that have not expired."""


class L1Validators(Protocol):
    """The reads of this facet."""

    def fees(self) -> L1Fees:
        """Return the state of the continuous fee."""

    def get(self, validation_id: ID) -> L1Validator | None:
        """Return a validator, active or not; None if it was removed or never existed."""

    def of_node(self, subnet_id: ID, node_id: NodeID) -> ID | None:
        """Return the validation of an L1 by a node, of which there is at most one."""

    def total_weight(self, subnet_id: ID) -> int:
        """Return the weight of all validators of an L1, active or not."""

    def active(self) -> Iterator[L1Validator]:
        """Yield the active validators of all L1s; the one whose balance ends first comes first."""

    def active_count(self) -> int:
        """Return the number of active validators of all L1s."""

    def conversion(self, subnet_id: ID) -> Conversion | None:
        """Return how a subnet was converted; None if it is no L1."""

    def has_expiry(self, expiry: Expiry) -> bool:
        """Return whether a registration message has been used and has not expired."""

    def expired(self, time: int) -> Iterable[Expiry]:
        """Return the used registration messages that expire at this time or before."""


@dataclass(frozen=True, slots=True)
class L1Changes:
    """Changes of L1s relative to the parent."""

    validators: Mapping[ID, L1Validator]
    """By validation ID; those with weight 0 have been removed."""
    conversions: Mapping[ID, Conversion]
    """By subnet."""
    expiries: Mapping[Expiry, bool]
    """False if the entry was removed."""
    fees: L1Fees | None
    """None means unchanged."""

    @property
    def are_none(self) -> bool:
        """Whether neither validators nor conversions have changed."""
        return not self.validators and not self.conversions


_ORDER = attrgetter("order")


class L1Diff(FacetDiff[L1Validators]):
    """Changes of L1s and their validators."""

    __slots__ = ("_conversions", "_expiries", "_fees", "_nodes", "_validators")

    def __init__(self, parent: L1Validators) -> None:
        super().__init__(parent)
        self._validators: dict[ID, L1Validator] = {}
        self._nodes: dict[tuple[ID, NodeID], ID | None] = {}
        self._conversions: dict[ID, Conversion] = {}
        self._expiries: dict[Expiry, bool] = {}
        self._fees: L1Fees | None = None

    def fees(self) -> L1Fees:
        """Return the state of the continuous fee."""
        return self._parent.fees() if self._fees is None else self._fees

    def get(self, validation_id: ID) -> L1Validator | None:
        """Return a validator, active or not; None if it was removed or never existed."""
        changed = self._validators.get(validation_id)
        if changed is None:
            return self._parent.get(validation_id)
        return changed if changed.weight else None

    def of_node(self, subnet_id: ID, node_id: NodeID) -> ID | None:
        """Return the validation of an L1 by a node, of which there is at most one."""
        key = (subnet_id, node_id)
        return self._nodes[key] if key in self._nodes else self._parent.of_node(*key)

    def total_weight(self, subnet_id: ID) -> int:
        """Return the weight of all validators of an L1, active or not."""
        changed = [item for item in self._validators.values() if item.subnet_id == subnet_id]
        before = (self._parent.get(item.validation_id) for item in changed)
        total = self._parent.total_weight(subnet_id) - sum(item.weight for item in before if item)
        return total + sum(item.weight for item in changed)

    def active(self) -> Iterator[L1Validator]:
        """Yield the active validators of all L1s; the one whose balance ends first comes first."""
        # Both are copied: the caller may deactivate each validator that it gets.
        changed = dict(self._validators)
        unchanged = (item for item in self._parent.active() if item.validation_id not in changed)
        own = sorted((item for item in changed.values() if item.is_active), key=_ORDER)
        return merge(unchanged, own, key=_ORDER)

    def active_count(self) -> int:
        """Return the number of active validators of all L1s."""
        before = (self._parent.get(validation_id) for validation_id in self._validators)
        count = self._parent.active_count() - sum(item.is_active for item in before if item)
        return count + sum(item.is_active for item in self._validators.values())

    def conversion(self, subnet_id: ID) -> Conversion | None:
        """Return how a subnet was converted; None if it is no L1."""
        return self._conversions.get(subnet_id) or self._parent.conversion(subnet_id)

    def has_expiry(self, expiry: Expiry) -> bool:
        """Return whether a registration message has been used and has not expired."""
        changed = self._expiries.get(expiry)
        return self._parent.has_expiry(expiry) if changed is None else changed

    def expired(self, time: int) -> Iterable[Expiry]:
        """Return the used registration messages that expire at this time or before."""
        added = {
            item for item, is_added in self._expiries.items() if is_added and item.time <= time
        }
        unchanged = {item for item in self._parent.expired(time) if item not in self._expiries}
        return sorted(added | unchanged)

    def set_fees(self, fees: L1Fees) -> None:
        """Set the state of the continuous fee."""
        self._fees = fees

    def put(self, validator: L1Validator) -> None:
        """Add or change a validator; weight 0 removes it."""
        key = (validator.subnet_id, validator.node_id)
        if validator.weight:
            self._nodes[key] = validator.validation_id
        elif self.of_node(*key) == validator.validation_id:
            self._nodes[key] = None
        self._validators[validator.validation_id] = validator

    def convert(self, subnet_id: ID, conversion: Conversion) -> None:
        """Note that a subnet has become an L1."""
        self._conversions[subnet_id] = conversion

    def add_expiry(self, expiry: Expiry) -> None:
        """Note that a registration message has been used."""
        self._expiries[expiry] = True

    def remove_expiry(self, expiry: Expiry) -> None:
        """Forget a used registration message."""
        self._expiries[expiry] = False

    @override
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""
        # A node may have left and registered again: removals come first.
        for validator in sorted(self._validators.values(), key=lambda item: item.weight != 0):
            into.put(validator)
        for subnet_id, conversion in self._conversions.items():
            into.convert(subnet_id, conversion)
        for expiry, is_added in self._expiries.items():
            if is_added:
                into.add_expiry(expiry)
            else:
                into.remove_expiry(expiry)
        if self._fees is not None:
            into.set_fees(self._fees)

    @override
    def changes(self) -> L1Changes:
        """Return all changes relative to the parent."""
        return L1Changes(
            dict(self._validators), dict(self._conversions), dict(self._expiries), self._fees
        )
