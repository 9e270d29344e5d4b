"""Pages of outputs by owner, for any two tables of outputs and their owners.

A chain's own outputs and the outputs exported to it are paged in the same way. Outputs are ordered by
address; within an address by UTXO ID, or with `newest_first` by block, the latest first.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from chaindb.database import Database
from primitives.codec import VERSION
from primitives.ids import EMPTY_ID, ID, ShortID

PAGE: Final = 1024
"""The maximum number of UTXOs in one result."""

_FEW = 8
"""Maximum number of addresses that are queried one by one; otherwise those that own anything are selected first."""

_TOP = 2**63 - 1
"""A height above every block."""

# Keys first, then the outputs by key: with a join, a database may read all outputs of an owner, or all outputs.
_KEYS = """
SELECT utxo_id FROM {owners}
WHERE {chains}address = %s AND utxo_id > %s ORDER BY utxo_id LIMIT %s
"""
# The reference lists an address's outputs from the newest on: it adds each new output at the head of a list.
_NEWEST_KEYS = """
SELECT o.utxo_id, u.height FROM {owners} o JOIN {outputs} u ON u.utxo_id = o.utxo_id
WHERE {o_chains}o.address = %s AND (u.height < %s OR u.height = %s AND o.utxo_id > %s)
ORDER BY u.height DESC, o.utxo_id LIMIT %s
"""
# Where owners have heights, their index has the order. CROSS JOIN makes SQLite begin with it, so that it reads one page.
_NEWEST_OUTPUTS = """
SELECT o.utxo_id, o.height, u.tx_id, u.output_index, u.asset_id, u.output
FROM {owners} o CROSS JOIN {outputs} u
WHERE {o_chains}o.address = %s AND o.height <= %s AND (o.height < %s OR o.utxo_id > %s)
AND u.utxo_id = o.utxo_id ORDER BY o.height DESC, o.utxo_id LIMIT %s
"""
_HEIGHT = """
SELECT u.height FROM {owners} o JOIN {outputs} u ON u.utxo_id = o.utxo_id
WHERE {o_chains}o.address = %s AND o.utxo_id = %s
"""
_UTXOS = """
SELECT utxo_id, tx_id, output_index, asset_id, output FROM {outputs} WHERE utxo_id IN ({{keys}})
"""
_OWNERS = """
WITH asked (address) AS (VALUES {{marks}})
SELECT address FROM asked WHERE EXISTS (
  SELECT 1 FROM {owners} o WHERE {o_chains}o.address = asked.address
)
"""


class UtxoCursor(NamedTuple):
    """The last UTXO of a page. UTXOs are ordered by address, then within the address."""

    address: ShortID
    utxo_id: ID


class UtxoPage(NamedTuple):
    """UTXOs as clients get them (starting with the codec version), and the start of the next page."""

    utxos: list[bytes]
    end: UtxoCursor


FIRST: Final = UtxoCursor(ShortID(bytes(ShortID.SIZE)), EMPTY_ID)
"""The cursor before every UTXO."""


def raw_utxo(tx_id: bytes, index: int, asset_id: bytes, output: bytes) -> bytes:
    """Return the UTXO of a row as clients get it, starting with the codec version."""
    return b"".join((VERSION, tx_id, index.to_bytes(4, "big"), asset_id, output))


class OwnedOutputs:
    """The outputs of a table, by owner.

    Args:
        db: The database.
        outputs: The table of the outputs.
        owners: The table of their owners.
        chains: Destination and source chain, if the owners' keys begin with them.
        owners_have_heights: Whether the owners have the heights of their outputs, with an index.
    """

    def __init__(
        self,
        db: Database,
        outputs: str,
        owners: str,
        chains: tuple[ID, ID] | None = None,
        *,
        owners_have_heights: bool = False,
    ) -> None:
        self._db = db
        self._owners_have_heights = owners_have_heights
        self._chains: tuple[ID, ...] = chains or ()
        names = ("destination_chain", "source_chain") if chains else ()
        self._names = {
            "outputs": outputs,
            "owners": owners,
            "chains": "".join(f"{name} = %s AND " for name in names),
            "o_chains": "".join(f"o.{name} = %s AND " for name in names),
        }

    def page(
        self,
        addresses: Iterable[ShortID],
        *,
        after: UtxoCursor | None = None,
        limit: int = PAGE,
        newest_first: bool = False,
    ) -> UtxoPage:
        """Return a page of the outputs that any of these addresses can sign for, after the cursor.

        With `newest_first`, a page whose cursor was spent meanwhile starts again with the address's first output, and
        each page costs a query that reads all outputs of the address, unless its owners have heights. The order and the
        new start are rules of the reference.

        Args:
            addresses: In any order.
            after: The end of the previous page; without it, the page starts with the first output.
            limit: Maximum number of UTXOs, 1 to `PAGE`.
            newest_first: Whether the latest block's outputs come first.
        """
        place = after or FIRST
        asked = sorted({address for address in addresses if address >= place.address})
        if newest_first and self._owners_have_heights:
            return self._page_by_height(asked, place, limit)
        walk = self._owned(asked, place, limit, newest_first=newest_first)
        raws: dict[ID, bytes] = {}
        last = place
        while len(raws) < limit and (batch := list(islice(walk, limit - len(raws)))):
            keys = [cursor.utxo_id for cursor in batch]
            raws.update(self._raws([key for key in keys if key not in raws]))
            last = batch[-1]
        return self._page_of(list(raws.values()), asked, last, limit)

    def _page_by_height(self, asked: Sequence[ShortID], place: UtxoCursor, limit: int) -> UtxoPage:
        """Return the page after a place, the latest outputs of each address first, with a statement for each address."""
        query = _NEWEST_OUTPUTS.format_map(self._names)
        raws: dict[bytes, bytes] = {}
        last = place
        for address in self._owners_among(asked):
            start = place.utxo_id if address == place.address else EMPTY_ID
            height, after = self._height_of(address, start)
            more = True
            while more:
                params = (*self._chains, address, height, height, after, limit)
                rows = self._db.rows(query, params)
                for key, _, *columns in rows:
                    raws.setdefault(key, raw_utxo(*columns))
                    if len(raws) == limit:
                        return UtxoPage(list(raws.values()), UtxoCursor(address, ID(key)))
                if rows:
                    after, height = ID(rows[-1][0]), rows[-1][1]
                    last = UtxoCursor(address, after)
                more = len(rows) == limit
        return self._page_of(list(raws.values()), asked, last, limit)

    def _page_of(
        self, raws: list[bytes], asked: Sequence[ShortID], last: UtxoCursor, limit: int
    ) -> UtxoPage:
        if len(raws) < limit and asked and asked[-1] != last.address:
            # As in the reference: in shared memory the cursor applies to outputs of its own address only.
            last = UtxoCursor(asked[-1], EMPTY_ID if self._chains else last.utxo_id)
        return UtxoPage(raws, last)

    def _owned(
        self, addresses: Sequence[ShortID], place: UtxoCursor, limit: int, *, newest_first: bool
    ) -> Iterator[UtxoCursor]:
        """Iterate over the UTXOs of addresses after a place, reading `limit` keys at a time."""
        keys_of = self._newest_keys if newest_first else self._keys
        for address in self._owners_among(addresses):
            start = place.utxo_id if address == place.address else EMPTY_ID
            for key in keys_of(address, start, limit):
                yield UtxoCursor(address, key)

    def _keys(self, address: ShortID, start: ID, limit: int) -> Iterator[ID]:
        """Iterate over the UTXOs of an address after one of them, by ID."""
        query = _KEYS.format_map(self._names)
        more = True
        while more:
            rows = self._db.rows(query, (*self._chains, address, start, limit))
            keys = [ID(key) for (key,) in rows]
            yield from keys
            more = len(keys) == limit
            start = keys[-1] if more else start

    def _newest_keys(self, address: ShortID, start: ID, limit: int) -> Iterator[ID]:
        """Iterate over the UTXOs of an address after one of them, the latest first.

        If the address does not, or no longer, own that UTXO, iterate over all.
        """
        query = _NEWEST_KEYS.format_map(self._names)
        height, last = self._height_of(address, start)
        more = True
        while more:
            page = self._db.rows(query, (*self._chains, address, height, height, last, limit))
            yield from (ID(key) for key, _ in page)
            more = len(page) == limit
            if more:
                key, height = page[-1]
                last = ID(key)

    def _height_of(self, address: ShortID, start: ID) -> tuple[int, ID]:
        """Return the height and ID after which a page begins: those of an output of the address, else the highest ones."""
        if start == EMPTY_ID:
            return _TOP, EMPTY_ID
        row = self._db.row(_HEIGHT.format_map(self._names), (*self._chains, address, start))
        return (_TOP, EMPTY_ID) if row is None else (row[0], start)

    def _raws(self, keys: Sequence[ID]) -> Iterator[tuple[ID, bytes]]:
        """Yield those of the outputs that still exist, in the given order."""
        read = self._db.rows_by_keys(_UTXOS.format_map(self._names), keys)
        columns_of = {bytes(key): columns for key, *columns in read}
        return ((key, raw_utxo(*columns_of[key])) for key in keys if key in columns_of)

    def _owners_among(self, addresses: Sequence[ShortID]) -> list[ShortID]:
        """Return those addresses that own anything, in order."""
        if len(addresses) <= _FEW:
            return list(addresses)
        marks = ", ".join(["(%s)"] * len(addresses))
        question = _OWNERS.format_map(self._names).format(marks=marks)
        owners = self._db.rows(question, (*addresses, *self._chains))
        return sorted(ShortID(bytes(address)) for (address,) in owners)
