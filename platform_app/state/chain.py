"""The complete state of the P-Chain as rules see it, and copy-on-write layers over it.

It has two implementations: the rows (`store.state.DatabaseState`) and a `Diff` over another state.
Reading never changes anything. A missing object is None, never an error.

A diff reads through to its parent, which must not change while the diff is in use. Diffs nest: execute
a transaction on a diff of its own, then `apply` it to the block's diff or discard it. The rules in `executor`
decide whether a change is allowed.
"""

from typing import Protocol, Self

from platform_app.state.facets import (
    ClockDiff,
    ClockState,
    Facet,
    Supplies,
    SupplyDiff,
    TxDiff,
    Txs,
)
from platform_app.state.l1_validators import L1Diff, L1Validators
from platform_app.state.stakers import StakerDiff, Stakers
from platform_app.state.subnets import SubnetDiff, Subnets
from platform_app.state.utxos import UTXODiff, UTXOs


class ChainState(Protocol):
    """Everything that a rule may read."""

    @property
    def clock(self) -> ClockState:
        """The time and the gas."""

    @property
    def supplies(self) -> Supplies:
        """The supplies of staked assets."""

    @property
    def utxos(self) -> UTXOs:
        """The outputs of this chain, and those shared with it."""

    @property
    def stakers(self) -> Stakers:
        """The staker sets."""

    @property
    def subnets(self) -> Subnets:
        """The subnets and blockchains."""

    @property
    def l1_validators(self) -> L1Validators:
        """The L1s and their validators."""

    @property
    def txs(self) -> Txs:
        """The accepted transactions."""


class Diff:
    """A `ChainState` that can be changed, composed of facets. It never writes to the parent."""

    # The instance's __dict__ contains only the facets in use.
    __slots__ = ("__dict__", "parent")

    clock = Facet(ClockDiff)
    supplies = Facet(SupplyDiff)
    utxos = Facet(UTXODiff)
    stakers = Facet(StakerDiff)
    subnets = Facet(SubnetDiff)
    l1_validators = Facet(L1Diff)
    txs = Facet(TxDiff)

    def __init__(self, parent: ChainState) -> None:
        self.parent = parent

    def copy(self) -> Self:
        """Return a diff over the same parent with the same changes, for an alternative continuation."""
        twin = type(self)(self.parent)
        self.apply(twin)
        return twin

    def apply(self, into: Self) -> None:
        """Repeat every change of this diff on another diff, which may be its parent."""
        for name, facet in vars(self).items():
            facet.apply(getattr(into, name))

    def rebase(self, parent: ChainState) -> None:
        """Read through to another parent from now on, which must have the same content as the old one.

        A rebased diff can outlive the state it was made on, because its old parent's changes are stored by now.
        """
        self.parent = parent
        for name, facet in vars(self).items():
            facet.rebase(getattr(parent, name))
