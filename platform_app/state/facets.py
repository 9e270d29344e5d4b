"""The interface of a facet, and the small facets: the clock, the supplies, the accepted transactions.

A facet consists of a protocol with its reads and a class that layers changes on it, both in one module of `state`,
and of a class that reads and writes its rows (`store.facets.FacetRows`). A new facet gets one line in each of
`ChainState`, `Diff`, `store.state.DatabaseState` and `store.blocks.FACETS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from typing_extensions import override

from platform_app.txs.base import Tx, TxStatus
from primitives.ids import ID

Reads = TypeVar("Reads")
Layer = TypeVar("Layer", bound="FacetDiff[Any]")


class FacetDiff(ABC, Generic[Reads]):
    """Changes of one facet on top of the same facet of the parent state. It never writes to the parent.

    Subclasses implement the reads of their facet, setters, and the methods below. Setters do not check their
    arguments.
    """

    __slots__ = ("_parent",)

    def __init__(self, parent: Reads) -> None:
        self._parent = parent

    def rebase(self, parent: Reads) -> None:
        """Read through to another parent from now on, which must have the same content as the old one."""
        self._parent = parent

    @abstractmethod
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""

    @abstractmethod
    def changes(self) -> Any:
        """Return all changes relative to the parent, as an immutable value that can be compared."""


class Facet(Generic[Layer]):
    """An attribute of `Diff` with the changes of one facet.

    They are created at the first access and stored in the diff's `__dict__`, where later accesses find them:
    a transaction needs few facets, and each transaction has a diff.
    """

    def __init__(self, layer: Callable[[Any], Layer]) -> None:
        """Create the attribute; `layer` is called with the same facet of the diff's parent."""
        self._layer = layer

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, diff: Any, owner: type | None = None) -> Layer:
        layer: Layer = self._layer(getattr(diff.parent, self._name))
        diff.__dict__[self._name] = layer
        return layer


@dataclass(frozen=True, slots=True)
class FeeState:
    """The inputs of dynamic fees (pchain.md 6.3), in gas."""

    capacity: int = 0
    excess: int = 0


class ClockState(Protocol):
    """The reads of this facet."""

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""

    def fee_state(self) -> FeeState:
        """Return gas capacity and excess."""


@dataclass(frozen=True, slots=True)
class ClockChanges:
    """New values; None means unchanged."""

    timestamp: int | None
    fee_state: FeeState | None


class ClockDiff(FacetDiff[ClockState]):
    """Changes of time and gas."""

    __slots__ = ("_fee_state", "_timestamp")

    def __init__(self, parent: ClockState) -> None:
        super().__init__(parent)
        self._timestamp: int | None = None
        self._fee_state: FeeState | None = None

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""
        return self._parent.timestamp() if self._timestamp is None else self._timestamp

    def fee_state(self) -> FeeState:
        """Return gas capacity and excess."""
        return self._parent.fee_state() if self._fee_state is None else self._fee_state

    def set_timestamp(self, timestamp: int) -> None:
        """Set the chain's time, in Unix seconds."""
        self._timestamp = timestamp

    def set_fee_state(self, fee_state: FeeState) -> None:
        """Set gas capacity and excess."""
        self._fee_state = fee_state

    @override
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""
        if self._timestamp is not None:
            into.set_timestamp(self._timestamp)
        if self._fee_state is not None:
            into.set_fee_state(self._fee_state)

    @override
    def changes(self) -> ClockChanges:
        """Return all changes relative to the parent."""
        return ClockChanges(self._timestamp, self._fee_state)


class Supplies(Protocol):
    """The reads of this facet."""

    def get(self, subnet_id: ID) -> int | None:
        """Return the current supply of a subnet's staked asset; None if the subnet mints nothing."""


class SupplyDiff(FacetDiff[Supplies]):
    """Changes of supplies."""

    __slots__ = ("_supplies",)

    def __init__(self, parent: Supplies) -> None:
        super().__init__(parent)
        self._supplies: dict[ID, int] = {}

    def get(self, subnet_id: ID) -> int | None:
        """Return the current supply of a subnet's staked asset."""
        supply = self._supplies.get(subnet_id)
        return self._parent.get(subnet_id) if supply is None else supply

    def set(self, subnet_id: ID, supply: int) -> None:
        """Set the current supply of a subnet's staked asset."""
        self._supplies[subnet_id] = supply

    @override
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""
        for subnet_id, supply in self._supplies.items():
            into.set(subnet_id, supply)

    @override
    def changes(self) -> Mapping[ID, int]:
        """Return the new supplies by subnet."""
        return dict(self._supplies)


class Txs(Protocol):
    """The reads of this facet."""

    def get(self, tx_id: ID) -> Tx | None:
        """Return an accepted transaction, whether committed or aborted."""


class TxDiff(FacetDiff[Txs]):
    """Newly accepted transactions."""

    __slots__ = ("_txs",)

    def __init__(self, parent: Txs) -> None:
        super().__init__(parent)
        self._txs: dict[ID, tuple[Tx, TxStatus]] = {}

    def get(self, tx_id: ID) -> Tx | None:
        """Return an accepted transaction, whether committed or aborted."""
        known = self._txs.get(tx_id)
        return self._parent.get(tx_id) if known is None else known[0]

    def add(self, tx: Tx, status: TxStatus) -> None:
        """Add an accepted transaction."""
        self._txs[tx.tx_id] = (tx, status)

    @override
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""
        for tx, status in self._txs.values():
            into.add(tx, status)

    @override
    def changes(self) -> tuple[tuple[Tx, TxStatus], ...]:
        """Return the new transactions in the order of execution."""
        return tuple(self._txs.values())
