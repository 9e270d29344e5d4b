"""The interface of a facet's rows: `FacetRows`, and the blocks that are being written (`Commit`)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from chaindb.database import Database
from chaindb.fields import row_id
from platform_app.state.diff import Diff
from platform_app.txs.base import Tx
from primitives.ids import ID


class Moment(NamedTuple):
    """The height and time at which a block changes the state."""

    height: int
    time: int
    """Chain time after the block."""


class TxPlace(NamedTuple):
    """The place of a transaction in a block."""

    height: int
    place: int


class Commit(NamedTuple):
    """Accepted blocks that are being written, with their combined changes."""

    db: Database
    diff: Diff
    """Its changes take effect with the last block."""
    moment: Moment
    """The height of the last block, and the time after it."""
    asset_id: ID
    """The asset of fees and of the Primary Network's stake."""
    places: Mapping[ID, TxPlace]
    """The places of the transactions."""

    def position(self, tx_id: ID) -> int:
        """Return the key of a transaction's row."""
        return row_id(*self.places[tx_id])


class FacetRows(ABC):
    """The rows of one facet: reads them for the rules and writes the changes of accepted blocks.

    Reads see the last accepted block. Each of them costs a statement, so every value is cached; an object
    is valid until the next block.
    """

    __slots__ = ("_db",)

    def __init__(self, db: Database) -> None:
        self._db = db

    def prefetch(self, txs: Sequence[Tx]) -> None:  # noqa: B027  # optional: few facets can batch their reads
        """Read the objects that rules need for transactions, with a few statements for all of them.

        Without this method the rules read them one by one.
        """

    @staticmethod
    @abstractmethod
    def write(commit: Commit) -> None:
        """Write the changes of this facet. The caller holds the lock and the transaction."""
