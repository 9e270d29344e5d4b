"""The rows as rules see them: `DatabaseState`, the `ChainState` of the last accepted block.

Each single read costs a statement. A caller that knows the objects a block will use can read all of them
together (`prefetch`). Every value is cached, so a state is valid until the next block.
"""

from collections.abc import Iterable

from chaindb.database import Database
from platform_app.state.facets import FeeState
from platform_app.store import blocks
from platform_app.store.blocks import StoredNetwork, Tip
from platform_app.store.facets import FacetRows, SubnetRows, SupplyRows, TxRows
from platform_app.store.l1_validators import L1Rows
from platform_app.store.stakers import StakerRows
from platform_app.store.utxos import UTXORows
from platform_app.txs.base import Tx
from primitives.ids import EMPTY_ID

_NOTHING = (
    StoredNetwork(EMPTY_ID, 0, 0, EMPTY_ID, EMPTY_ID, EMPTY_ID),
    Tip(0, EMPTY_ID, 0, FeeState(), 0),
)
"""Before the genesis."""


class DatabaseState:
    """The state after the last accepted block. It does not see later blocks.

    Args:
        db: The chain's database.
        place: The network and tip, if the caller knows them; otherwise they are read.
    """

    def __init__(self, db: Database, place: tuple[StoredNetwork, Tip] | None = None) -> None:
        self._chain = place or blocks.read(db) or _NOTHING
        self.clock = TipClock(self.tip)
        self.txs = TxRows(db)
        self.utxos = UTXORows(db)
        self.stakers = StakerRows(db)
        self.subnets = SubnetRows(db)
        self.l1_validators = L1Rows(db, self.tip.l1s)
        self.supplies = SupplyRows(db)

    @property
    def place(self) -> tuple[StoredNetwork, Tip]:
        """The network and the tip of this state."""
        return self._chain

    @property
    def network(self) -> StoredNetwork:
        """The network of this state."""
        return self._chain[0]

    @property
    def tip(self) -> Tip:
        """The block that this is the state of."""
        return self._chain[1]

    def prefetch(self, txs: Iterable[Tx]) -> None:
        """Read the objects that rules need for transactions, with a few statements for all of them."""
        listed = list(txs)
        for facet in vars(self).values():
            if isinstance(facet, FacetRows):
                facet.prefetch(listed)


class TipClock:
    """Time and gas of the tip, whose row `store.blocks` reads and writes."""

    def __init__(self, tip: Tip) -> None:
        self._tip = tip

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""
        return self._tip.timestamp

    def fee_state(self) -> FeeState:
        """Return gas capacity and excess."""
        return self._tip.fee_state
