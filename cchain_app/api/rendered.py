"""Answers about accepted blocks as bytes, rendered once and cached, because an accepted block never changes.

`wire` defines the contents. The cache is limited by its memory, and drops the oldest blocks first. Safe to use
from any thread.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, compress
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from cchain_app.api import wire
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import PendingBlock
from cchain_app.evm.engine import Log
from cchain_app.filters import LogFilter
from cchain_app.selectors.logs import FoundLog
from chaindb.connections import WouldBlock, on_event_loop
from primitives.bounded_cache import BoundedCache
from primitives.evm import Hash

MAX_BYTES: Final = 32 * 1024 * 1024
"""Memory for answers and their blocks in a process, in bytes; enough for some thousand small blocks with receipts."""

_BLOCK: Final = 2_500
_TRANSACTION: Final = 1_000
_LOG: Final = 800
"""Memory of a block, transaction or log object in bytes, without its variable-length data."""
_TEXT: Final = 120
"""Memory of a rendered part in bytes, besides its text."""
_END: Final = 40
"""Memory of the end offset of one log in `RenderedLogs`, in bytes."""
_MATCHES: Final = 600
_WANTED: Final = 120
"""Memory of a filter's matches in bytes, besides their text, and of each address or topic of the filter."""

FILTERS_OF_BLOCK: Final = 16
"""Maximum number of filters whose matches are cached with a block."""

SECONDS_ON_EVENT_LOOP: Final = 0.003
"""Longest time that rendering may block the event loop; beyond it a thread continues."""

_encode: Final = msgspec.json.Encoder().encode


class LoopBudget:
    """A time limit for work on the event loop; in a thread there is no limit."""

    def __init__(self) -> None:
        self._deadline = time.monotonic() + SECONDS_ON_EVENT_LOOP if on_event_loop() else None

    def check(self) -> None:
        """Check the time limit.

        Raises:
            WouldBlock: The work takes too long for the event loop.
        """
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise WouldBlock


class RenderedLogs(NamedTuple):
    """Logs as JSON. There may be thousands of logs, so they are one piece of bytes."""

    joined: bytes
    """All logs, separated by commas: the contents of a JSON array without its brackets."""
    ends: Sequence[int]
    """The offset of the end of each log in `joined`."""

    def texts(self) -> Iterator[memoryview]:
        """Yield each log as a view, which keeps `joined` alive."""
        view, begin = memoryview(self.joined), 0
        for end in self.ends:
            yield view[begin:end]
            begin = end + 1

    def those(self, wanted: Sequence[bool]) -> "RenderedLogs":
        """Return the selected logs.

        Args:
            wanted: For each log, whether to include it.
        """
        return self if all(wanted) else join_logs(list(compress(self.texts(), wanted)))


NO_LOGS: Final = RenderedLogs(b"", ())


def join_logs(texts: Sequence[bytes | memoryview]) -> RenderedLogs:
    """Return rendered logs as one piece of bytes."""
    ends = accumulate((len(text) + 1 for text in texts), initial=-1)
    return RenderedLogs(b",".join(texts), list(ends)[1:])


BlobPrice = Callable[[AcceptedBlock], int]
"""Returns the price of blob gas in a block, in wei."""

LogsPlace = tuple[int, Hash, int, Hash, int]
"""The position of logs: number, hash and timestamp of the block; hash and index of the transaction."""

RenderLogs = Callable[[tuple[Log, ...], LogsPlace, int], tuple[bytes, Sequence[int]]]
"""Returns the fields of `RenderedLogs` for a transaction's logs; the number is the first log's index in the block."""


class LogRenderer(NamedTuple):
    """The function that renders logs, and its limit."""

    render: RenderLogs
    on_event_loop: int
    """Maximum number of logs of a block that are matched and rendered on an event loop: about two milliseconds."""


def render_log(log: FoundLog) -> bytes:
    """Return a log as bytes."""
    return _exact(_encode(wire.found_log(log)))


def render_logs(logs: tuple[Log, ...], position: LogsPlace, first: int) -> RenderedLogs:
    """Render the logs of a transaction; see `RenderLogs`."""
    number, block_hash, timestamp, sent, nth = position
    return join_logs(
        [
            render_log(FoundLog(*log, number, block_hash, timestamp, sent, nth, index))
            for index, log in enumerate(logs, first)
        ]
    )


BY_PYTHON: Final = LogRenderer(render_logs, 500)


Grown = Callable[["RenderedBlock", int], object]
"""Receives the number of bytes by which a block grows, and adds it to the block's weight."""


def _grow(rendered: "RenderedBlock", size: int) -> None:
    rendered.weight += size


class RenderedBlock:
    """The rendered parts of one block; each is rendered on its first use.

    Args:
        block: The block.
        blob_price: Returns the blob price of receipts of blob transactions; without it these receipts omit the price.
        renderer: Renders the block's logs.
        grown: Receives the size of each cached part.
    """

    def __init__(
        self,
        block: AcceptedBlock,
        blob_price: BlobPrice | None = None,
        renderer: LogRenderer = BY_PYTHON,
        grown: Grown = _grow,
    ) -> None:
        self._block = block
        self.hash: Final = block.hash
        self._blob_price = blob_price
        self._renderer = renderer
        self._grown = grown
        self._transactions: list[Raw | None] = [None] * len(block.transactions)
        self._receipts: list[Raw | None] = [None] * len(block.transactions)
        self._logs: list[RenderedLogs | None] = [None] * len(block.transactions)
        self._matching: dict[LogFilter, RenderedLogs] = {}
        self._wholes: dict[str, Raw] = {}
        counts = (len(receipt.logs) for receipt in block.receipts)
        self.first_log_indexes: Final = tuple(accumulate(counts, initial=0))
        """The index in the block of each transaction's first log, and at the end the number of all logs."""
        self.weight = _weight_of(block)
        """Approximate memory in bytes, with the block itself, because this object may hold the only reference to it."""

    def header(self) -> Raw:
        """Return the header."""
        return self._whole("header", lambda: wire.header(self._block))

    def block(self, *, full: bool) -> Raw:
        """Return the block with its transactions, or with their hashes."""
        if full:
            return self._whole("full", self._with_transactions)
        return self._whole("hashes", self._with_hashes)

    def receipts(self) -> Raw:
        """Return all receipts as an array. Raises as `logs`."""
        return self._whole("receipts", self._all_receipts)

    def transaction(self, index: int) -> Raw:
        """Return one transaction."""
        rendered = self._transactions[index]
        if rendered is None:
            rendered = self._rendered(wire.mined_transaction(self._block, index))
            self._transactions[index] = rendered
        return rendered

    def receipt(self, index: int) -> Raw:
        """Return one receipt. Raises as `logs`."""
        rendered = self._receipts[index]
        if rendered is None:
            rendered = self._rendered(self._receipt(index))
            self._receipts[index] = rendered
        return rendered

    def _receipt(self, index: int) -> wire.Json:
        block, price = self._block, None
        if block.transactions[index].blob_hashes and self._blob_price is not None:
            price = self._blob_price(block)
        return wire.receipt(block, index, join([self.logs(index).joined]), blob_price=price)

    def logs(self, index: int) -> RenderedLogs:
        """Return the logs of one transaction.

        Raises:
            WouldBlock: There are too many logs for the event loop.
        """
        rendered = self._logs[index]
        if rendered is None:
            block = self._block
            logs, first = block.receipts[index].logs, self.first_log_indexes[index]
            self._verify_few(len(logs))
            sent = block.transactions[index].hash
            position = block.number, block.hash, block.header.timestamp, sent, index
            rendered = self._logs[index] = RenderedLogs(
                *self._renderer.render(logs, position, first)
            )
            self._grown(self, _weight_of_logs(rendered))
        return rendered

    def matching(self, log_filter: LogFilter) -> RenderedLogs:
        """Return the logs that match, in their order.

        Raises:
            WouldBlock: The block has too many logs for the event loop.
        """
        rendered = self._matching.get(log_filter)
        if rendered is None:
            self._verify_few(self.first_log_indexes[-1])
            rendered = self._match(log_filter)
            if len(self._matching) < FILTERS_OF_BLOCK:
                self._matching[log_filter] = rendered
                wanted = len(log_filter.addresses) + sum(map(len, log_filter.topics))
                is_kept = any(rendered is log for log in self._logs)
                size = 0 if is_kept else _weight_of_logs(rendered)
                self._grown(self, _MATCHES + size + wanted * _WANTED)
        return rendered

    def _match(self, log_filter: LogFilter) -> RenderedLogs:
        matching = []
        for index, receipt in enumerate(self._block.receipts):
            wanted = log_filter.matches(receipt.logs)
            if any(wanted):
                matching.append(self.logs(index).those(wanted))
        if len(matching) == 1:
            return matching[0]
        return join_logs([text for item in matching for text in item.texts()])

    def _verify_few(self, logs: int) -> None:
        if logs > self._renderer.on_event_loop and on_event_loop():
            raise WouldBlock

    def _with_transactions(self) -> wire.Json:
        patience = LoopBudget()
        bodies = []
        for index in range(len(self._transactions)):
            patience.check()
            bodies.append(self.transaction(index))
        return wire.block(self._block, bodies)

    def _all_receipts(self) -> list[Raw]:
        patience = LoopBudget()
        bodies = []
        for index in range(len(self._receipts)):
            patience.check()
            bodies.append(self.receipt(index))
        return bodies

    def _with_hashes(self) -> wire.Json:
        hashes = [wire.hexed(transaction.hash) for transaction in self._block.transactions]
        return wire.block(self._block, hashes)

    def _whole(self, name: str, make: Callable[[], object]) -> Raw:
        rendered = self._wholes.get(name)
        if rendered is None:
            rendered = self._rendered(make())
            self._wholes[name] = rendered
        return rendered

    def _rendered(self, value: object) -> Raw:
        """Encode a value, and count its size."""
        text = _exact(_encode(value))
        self._grown(self, _TEXT + len(text))
        return Raw(text)


def _exact(text: bytes) -> bytes:
    """Copy bytes to their exact size, because the encoder's buffer may be half as large again."""
    return bytes(memoryview(text))


def _weight_of_logs(logs: RenderedLogs) -> int:
    return _TEXT + len(logs.joined) + _END * len(logs.ends)


def _weight_of(block: AcceptedBlock) -> int:
    """Return the approximate memory of a block in bytes before anything is rendered."""
    transactions = (
        _TRANSACTION + len(transaction.raw) + len(transaction.data)
        for transaction in block.transactions
    )
    logs = (_LOG + len(log.data) for receipt in block.receipts for log in receipt.logs)
    return _BLOCK + sum(transactions) + sum(logs)


class RenderedBlocks:
    """The rendered blocks of one chain in a process; see `RenderedBlock`."""

    def __init__(
        self,
        most_bytes: int = MAX_BYTES,
        blob_price: BlobPrice | None = None,
        renderer: LogRenderer = BY_PYTHON,
    ) -> None:
        self._blob_price = blob_price
        self.renderer: Final = renderer
        """Renders the logs of blocks."""
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        # Not a `BoundedCache`: blocks get heavier after they were stored, and the last one is never evicted.
        self._blocks: dict[Hash, RenderedBlock] = {}
        self._bytes = 0
        self._pending: tuple[PendingBlock, RenderedBlock] | None = None
        """The last requested pending block, cached separately because an accepted block with its hash looks different."""

    @property
    def weight(self) -> int:
        """Approximate memory of the cache in bytes."""
        return self._bytes

    def of(self, block: AcceptedBlock) -> RenderedBlock:
        """Return the rendered parts of a block; create them if the block is not cached."""
        if isinstance(block, PendingBlock):
            return self._of_pending(block)
        found = self._blocks.get(block.hash)
        if found is not None:
            return found
        rendered = RenderedBlock(block, self._blob_price, self.renderer, self._grow)
        with self._lock:
            kept = self._blocks.setdefault(block.hash, rendered)
            if kept is rendered:
                self._add(rendered.weight)
        return kept

    def _of_pending(self, block: PendingBlock) -> RenderedBlock:
        known = self._pending
        if known is not None and known[0] is block:
            return known[1]
        rendered = RenderedBlock(block, self._blob_price, self.renderer)
        self._pending = block, rendered
        return rendered

    def _grow(self, rendered: RenderedBlock, size: int) -> None:
        """Add the size of a rendered part to its block, and to the cache if it still holds the block."""
        with self._lock:
            rendered.weight += size
            if self._blocks.get(rendered.hash) is rendered:
                self._add(size)

    def _add(self, size: int) -> None:
        """Add bytes to the total, and drop the oldest blocks if it is too large. The lock must be held."""
        self._bytes += size
        while self._bytes > self._most_bytes and len(self._blocks) > 1:
            self._bytes -= self._blocks.pop(next(iter(self._blocks))).weight

    def __len__(self) -> int:
        return len(self._blocks)


def join(parts: Iterable[bytes | Raw]) -> Raw:
    """Return rendered values as one array; each part may be several values, separated by commas."""
    # Formatting would copy a long text several times.
    return Raw(b"".join((b"[", b",".join(parts), b"]")))


T = TypeVar("T")


class RenderedCache(Generic[T]):
    """Values by block hash, limited in number; the oldest is dropped first. Safe to use from any thread."""

    def __init__(self, most: int) -> None:
        self._values: BoundedCache[Hash, T] = BoundedCache(most)

    def __contains__(self, block_hash: Hash) -> bool:
        return block_hash in self._values

    def of(self, block_hash: Hash, reckon: Callable[[], T]) -> T:
        """Return the value for a block; calculate it if it is not stored."""
        known = self._values.peek(block_hash)
        if known is None:
            known = reckon()
            self._values.put(block_hash, known)
        return known
