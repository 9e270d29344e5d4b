"""The complete state of the P-Chain as rules see it, composed of facets.

It has two implementations: the rows (`store.state.DatabaseState`) and a `Diff` over another state.
Reading never changes anything. A missing object is None, never an error.
"""

from typing import Protocol

from platform_app.state.clock import ClockState
from platform_app.state.stakers import Stakers
from platform_app.state.subnets import Subnets
from platform_app.state.supplies import Supplies
from platform_app.state.txs import Txs
from platform_app.state.utxos import UTXOs


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
    def txs(self) -> Txs:
        """The accepted transactions."""
