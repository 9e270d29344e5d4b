"""Answers about accepted blocks as bytes, rendered once and kept: such a block never changes.

What stands in them is in `wire`. Bounded by an estimate of their bytes; what was kept first goes
first. Safe to use from any thread.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from cchain_app.api import wire
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.header import Header
from cchain_app.filters import LogFilter
from chaindb.connections import WouldBlock, on_event_loop
from primitives.evm import Hash

MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of answers that a process keeps."""

_TEXT_OF_TRANSACTION: Final = 4_000
_TEXT_OF_LOG: Final = 1_600
"""Estimates of what one takes in all the forms it is rendered in, hashes and dictionaries included."""

FILTERS_OF_BLOCK: Final = 16
"""Filters whose matches are kept with a block."""

SECONDS_ON_EVENT_LOOP: Final = 0.003
"""How long rendering may hold everybody up; a thread goes on where this ended."""

_encode: Final = msgspec.json.Encoder().encode


class Patience:
    """Ends on the event loop what takes long; elsewhere it is endless."""

    def __init__(self) -> None:
        self._deadline = time.monotonic() + SECONDS_ON_EVENT_LOOP if on_event_loop() else None

    def check(self) -> None:
        """Go on or give up.

        Raises:
            WouldBlock: It takes too long for the event loop.
        """
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise WouldBlock


class Matches(NamedTuple):
    """Rendered logs of a block that match a filter."""

    texts: tuple[Raw, ...]
    joined: bytes
    """The same with commas between them: what an array has between its brackets."""


NO_MATCHES: Final = Matches((), b"")


BlobPrice = Callable[[Header], int]
"""Says what a blob gas costs in a block, in wei."""


class RenderedBlock:
    """What was rendered of one block; each part on its first use.

    Args:
        block: The block.
        blob_price: Asked where a transaction has blobs; without, its receipt does not tell their price.
    """

    def __init__(self, block: AcceptedBlock, blob_price: BlobPrice | None = None) -> None:
        self._block = block
        self._blob_price = blob_price
        self._transactions: list[Raw | None] = [None] * len(block.transactions)
        self._receipts: list[Raw | None] = [None] * len(block.transactions)
        self._logs: list[tuple[Raw, ...] | None] = [None] * len(block.transactions)
        self._matching: dict[LogFilter, Matches] = {}
        self._wholes: dict[str, Raw] = {}
        counts = (len(receipt.logs) for receipt in block.receipts)
        self.first_log_indexes: Final = tuple(accumulate(counts, initial=0))
        """For each transaction the index of its first log in the block; one more at the end."""

    @property
    def weight(self) -> int:
        """About how many bytes it takes when all of it is rendered."""
        raw = sum(len(transaction.raw) for transaction in self._block.transactions)
        data = sum(len(log.data) for receipt in self._block.receipts for log in receipt.logs)
        counted = len(self._transactions) * _TEXT_OF_TRANSACTION
        return 8_000 + counted + 6 * raw + 6 * data + self.first_log_indexes[-1] * _TEXT_OF_LOG

    def header(self) -> Raw:
        """Return the header."""
        return self._whole("header", lambda: wire.header(self._block))

    def block(self, *, full: bool) -> Raw:
        """Return the block with its transactions, or with their hashes."""
        if full:
            return self._whole("full", self._with_transactions)
        return self._whole("hashes", self._with_hashes)

    def receipts(self) -> Raw:
        """Return all receipts as an array."""
        return self._whole("receipts", self._all_receipts)

    def transaction(self, index: int) -> Raw:
        """Return one transaction."""
        found = self._transactions[index]
        if found is None:
            found = Raw(_encode(wire.mined_transaction(self._block, index)))
            self._transactions[index] = found
        return found

    def receipt(self, index: int) -> Raw:
        """Return one receipt."""
        found = self._receipts[index]
        if found is None:
            found = Raw(_encode(self._receipt(index)))
            self._receipts[index] = found
        return found

    def _receipt(self, index: int) -> wire.Json:
        block, price = self._block, None
        if block.transactions[index].blob_hashes and self._blob_price is not None:
            price = self._blob_price(block.header)
        return wire.receipt(block, index, list(self.logs(index)), blob_price=price)

    def logs(self, index: int) -> tuple[Raw, ...]:
        """Return the logs of one transaction."""
        found = self._logs[index]
        if found is None:
            first = self.first_log_indexes[index]
            found = tuple(
                Raw(_encode(wire.log(self._block, index, first + offset, log)))
                for offset, log in enumerate(self._block.receipts[index].logs)
            )
            self._logs[index] = found
        return found

    def matching(self, log_filter: LogFilter) -> Matches:
        """Return the logs that match, in their order."""
        found = self._matching.get(log_filter)
        if found is None:
            texts = tuple(self._match(log_filter))
            found = Matches(texts, b",".join(texts))
            if len(self._matching) < FILTERS_OF_BLOCK:
                self._matching[log_filter] = found
        return found

    def _match(self, log_filter: LogFilter) -> Iterator[Raw]:
        for index, receipt in enumerate(self._block.receipts):
            for place, log in enumerate(receipt.logs):
                if log_filter.matches(log.address, log.topics):
                    yield self.logs(index)[place]

    def _with_transactions(self) -> wire.Json:
        patience = Patience()
        bodies = []
        for index in range(len(self._transactions)):
            patience.check()
            bodies.append(self.transaction(index))
        return wire.block(self._block, bodies)

    def _all_receipts(self) -> list[Raw]:
        patience = Patience()
        bodies = []
        for index in range(len(self._receipts)):
            patience.check()
            bodies.append(self.receipt(index))
        return bodies

    def _with_hashes(self) -> wire.Json:
        hashes = [wire.hexed(transaction.hash) for transaction in self._block.transactions]
        return wire.block(self._block, hashes)

    def _whole(self, name: str, make: Callable[[], object]) -> Raw:
        found = self._wholes.get(name)
        if found is None:
            found = Raw(_encode(make()))
            self._wholes[name] = found
        return found


class RenderedBlocks:
    """The rendered blocks of one chain in a process; see `RenderedBlock`."""

    def __init__(self, most_bytes: int = MOST_BYTES, blob_price: BlobPrice | None = None) -> None:
        self._blob_price = blob_price
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._blocks: dict[Hash, tuple[RenderedBlock, int]] = {}
        self._bytes = 0

    def of(self, block: AcceptedBlock) -> RenderedBlock:
        """Return what is kept of a block, new if nothing is."""
        found = self._blocks.get(block.hash)
        if found is not None:
            return found[0]
        rendered = RenderedBlock(block, self._blob_price)
        weight = rendered.weight
        with self._lock:
            if block.hash not in self._blocks:
                self._blocks[block.hash] = (rendered, weight)
                self._bytes += weight
            while self._bytes > self._most_bytes and len(self._blocks) > 1:
                _, gone = self._blocks.pop(next(iter(self._blocks)))
                self._bytes -= gone
        return rendered

    def __len__(self) -> int:
        return len(self._blocks)


def join(parts: Iterable[bytes | Raw]) -> Raw:
    """Return rendered values as one array; a part may be several values with commas between."""
    return Raw(b"[%b]" % b",".join(parts))


T = TypeVar("T")


class Remembered(Generic[T]):
    """Values by block hash; the oldest goes when there are too many. Safe to use from any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: dict[Hash, T] = {}

    def of(self, block_hash: Hash, reckon: Callable[[], T]) -> T:
        """Return what is known of a block, reckoning it at first."""
        known = self._values.get(block_hash)
        if known is None:
            known = reckon()
            with self._lock:
                self._values[block_hash] = known
                while len(self._values) > self._most:
                    del self._values[next(iter(self._values))]
        return known
