"""The flow check: for each asset, a transaction must consume at least the amount that it produces (pchain.md 5.2).

Fees count as produced. The remainder is burned.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from primitives.ids import ID
from primitives.uint64 import MAX
from utxo.errors import InvalidTx, UtxoReason


class AssetFlow:
    """The amounts of each asset that a transaction consumes and produces."""

    def __init__(self, produced: Mapping[ID, int] | None = None) -> None:
        """Start with amounts that are produced in any case: the fee."""
        self.consumed: dict[ID, int] = defaultdict(int)
        self.produced: dict[ID, int] = defaultdict(int, produced or {})

    def consume(self, asset_id: ID, amount: int) -> None:
        """Add the amount of an input."""
        self.consumed[asset_id] += amount

    def produce(self, asset_id: ID, amount: int) -> None:
        """Add the amount of an output."""
        self.produced[asset_id] += amount

    def verify(self) -> None:
        """Check that enough of each asset is consumed.

        Raises:
            InvalidTx: A sum does not fit into 64 bits; more of an asset is produced than
                consumed.
        """
        self.verify_sums()
        for asset_id, missing in self.shortages():
            raise InvalidTx(UtxoReason.INSUFFICIENT_INPUTS, missing=missing, asset_id=asset_id)

    def verify_sums(self) -> None:
        """Check the size of all sums. Raises as the function `verify_sums`."""
        verify_sums(self.consumed.values())
        verify_sums(self.produced.values())

    def shortages(self) -> Iterator[tuple[ID, int]]:
        """Yield each asset of which too little is consumed, and the missing amount."""
        for asset_id, needed in self.produced.items():
            consumed = self.consumed.get(asset_id, 0)
            if needed > consumed:
                yield asset_id, needed - consumed


def verify_sums(sums: Iterable[int]) -> None:
    """Check that sums of amounts fit into 64 bits.

    Raises:
        InvalidTx: One of them does not.
    """
    if any(total > MAX for total in sums):
        raise InvalidTx(UtxoReason.SUM_OVERFLOW)
