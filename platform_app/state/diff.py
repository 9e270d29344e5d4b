"""A copy-on-write layer over another state: rules write to it, and its changes can be discarded.

A diff reads through to its parent, which must not change while the diff is in use. Diffs nest: execute
a transaction on a diff of its own, then `apply` it to the block's diff or discard it. The rules in `executor`
decide whether a change is allowed.
"""

from typing import Self

from platform_app.state.chain import ChainState
from platform_app.state.clock import ClockDiff
from platform_app.state.facet import Facet
from platform_app.state.stakers import StakerDiff
from platform_app.state.subnets import SubnetDiff
from platform_app.state.supplies import SupplyDiff
from platform_app.state.txs import TxDiff
from platform_app.state.utxos import UTXODiff


class Diff:
    """A `ChainState` that can be changed, composed of facets. It never writes to the parent."""

    # The instance's __dict__ contains only the facets in use.
    __slots__ = ("__dict__", "parent")

    clock = Facet(ClockDiff)
    supplies = Facet(SupplyDiff)
    utxos = Facet(UTXODiff)
    stakers = Facet(StakerDiff)
    subnets = Facet(SubnetDiff)
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
