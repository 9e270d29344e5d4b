"""A chain of simple blocks in memory, with real hashes, for tests of the network code.

A block is its parent's ID, its height, its kind and transactions. A seal follows, which the ID does not
cover, as the block ID of the real chain does not cover a signature. Blocks with a wrong seal or the word BAD
are invalid.
"""

import threading
import time
from collections.abc import Sequence

from chainvm.errors import UnknownParent
from network_app.ports import (
    AcceptResult,
    BlockRef,
    BlockRejection,
    NotYet,
    ParsedBlock,
    TransactionSource,
)
from primitives.hashing import sha256
from primitives.ids import ID

HEADER = 32 + 8 + 1
SEAL = 4
NORMAL, PROPOSAL, OPTION = range(3)
BAD = b"BAD"


def seal(body: bytes) -> bytes:
    """Return the seal that must follow a block."""
    return sha256(b"seal" + body)[:SEAL]


def block_bytes(parent_id: ID, height: int, payload: bytes = b"", kind: int = NORMAL) -> bytes:
    """Return a valid block."""
    body = parent_id + height.to_bytes(8, "big") + bytes([kind]) + payload
    return body + seal(body)


def id_of(raw: bytes) -> ID:
    """Return a block's ID."""
    return ID(sha256(raw[:-SEAL]))


def payload_of(raw: bytes) -> bytes:
    """Return a block's transactions."""
    return raw[HEADER:-SEAL]


GENESIS = block_bytes(ID(bytes(32)), 0, b"genesis")


class MemoryChain:
    """An in-memory `ports.AcceptedChain`. It counts requests; execution can be made slow.

    Args:
        alias: "P" or "C".
        execution: Seconds to execute a block.
        genesis: Block 0.
        dialect: A block kind that other chains cannot parse; blocks made here have this kind.
    """

    def __init__(
        self,
        alias: str = "P",
        *,
        execution: float = 0.0,
        genesis: bytes = GENESIS,
        dialect: int = NORMAL,
    ) -> None:
        self.alias = alias
        self.more_transactions: dict[int, TransactionSource] = {}
        """Further pools, by the number of their gossip handler."""
        self.summary: bytes | None = None
        self.chain_id = ID(bytes(32)) if alias == "P" else ID(sha256(alias.encode()))
        self.execution = execution
        self.dialect = dialect
        self.raws = [genesis]
        self.heights = {id_of(genesis): 0}
        self.builds = 0
        """How often a block was requested to be built."""
        self.lenient = False
        """Whether its rules allow bad transactions."""
        self.stored: dict[int, ParsedBlock] = {}
        self.most_stored = 0
        self.most_bytes_stored = 0
        self.pool: dict[ID, bytes] = {}
        self.refused: set[bytes] = set()
        self.accepted_in: list[int] = []
        """The number of blocks in each call of `accept`."""
        self.issued: list[bytes] = []
        """All transactions that `issue` was called with."""
        self.commits: dict[ID, float] = {}
        self.executing = threading.Event()
        self.may_execute = threading.Event()
        self.may_execute.set()
        self._lock = threading.RLock()
        self._accepting = threading.Lock()

    # --- methods for tests

    @property
    def height(self) -> int:
        """The last accepted block's height."""
        return len(self.raws) - 1

    def make(self, payload: bytes = b"", kind: int | None = None) -> ID:
        """Accept a block that this node made."""
        kind = self.dialect if kind is None else kind
        with self._lock:
            raw = block_bytes(id_of(self.raws[-1]), len(self.raws), payload, kind)
            self.append(raw)
            return id_of(raw)

    def make_many(self, count: int, size: int = 0) -> None:
        """Accept several blocks that this node made."""
        for _ in range(count):
            self.make(bytes(size))

    def mine(self) -> ID:
        """Put all pending transactions into a block."""
        with self._lock:
            payload = b"".join(self.pool.values())
            self.pool.clear()
            return self.make(payload)

    def submit(self, raw: bytes) -> ID:
        """Add a local transaction to the pool."""
        with self._lock:
            tx_id = self.transaction_id(raw)
            self.pool[tx_id] = raw
            return tx_id

    def append(self, raw: bytes) -> None:
        """Accept a block."""
        self.raws.append(raw)
        self.heights[id_of(raw)] = len(self.raws) - 1
        self.commits[id_of(raw)] = time.monotonic()

    # --- ports.AcceptedChain

    def state_summary(self) -> bytes | None:
        return self.summary

    def last_accepted(self) -> BlockRef:
        with self._lock:
            return BlockRef(self.height, id_of(self.raws[-1]))

    def parse(self, raw: bytes) -> ParsedBlock:
        if len(raw) < HEADER + SEAL:
            # Without its seal a block has the same ID as with it.
            cut_off = len(raw) >= HEADER
            raise BlockRejection(ID(sha256(raw)), None, "no block", spoiled=cut_off)
        if raw[HEADER - 1] not in {NORMAL, PROPOSAL, OPTION, self.dialect}:
            raise BlockRejection(id_of(raw), None, "an unknown kind of block")
        height = int.from_bytes(raw[32:40], "big")
        return ParsedBlock(id_of(raw), ID(raw[:32]), height, raw, raw[HEADER - 1] == PROPOSAL)

    def accepted_at(self, heights: Sequence[int]) -> list[ID | None]:
        with self._lock:
            return [id_of(self.raws[at]) if at < len(self.raws) else None for at in heights]

    def height_of(self, block_ids: Sequence[ID]) -> list[int | None]:
        with self._lock:
            return [self.heights.get(block_id) for block_id in block_ids]

    def block(self, block_id: ID) -> bytes | None:
        with self._lock:
            height = self.heights.get(block_id)
            return None if height is None else self.raws[height]

    def ancestors(self, block_id: ID, *, count: int, size: int, seconds: float) -> list[bytes]:
        del seconds
        with self._lock:
            height = self.heights.get(block_id)
            if height is None:
                return []
            found: list[bytes] = []
            for raw in reversed(self.raws[max(0, height - count + 1) : height + 1]):
                size -= len(raw) + 4
                if size < 0:
                    break
                found.append(raw)
            return found

    def accepted_since(self, height: int, count: int) -> list[tuple[BlockRef, bytes]]:
        with self._lock:
            raws = self.raws[height + 1 : height + 1 + count]
            return [(BlockRef(height + 1 + at, id_of(raw)), raw) for at, raw in enumerate(raws)]

    def accept(self, raws: Sequence[bytes]) -> AcceptResult:
        self.executing.set()
        assert self.may_execute.wait(60)
        with self._accepting:
            done = self._accept(raws)
        self.accepted_in.append(len(done))
        return AcceptResult(tuple(done))

    def _accept(self, raws: Sequence[bytes]) -> list[BlockRef]:
        done: list[BlockRef] = []
        todo = [self.parse(raw) for raw in raws]
        todo = [item for item in todo if item.block_id not in self.heights]
        while todo:
            unit = todo[: 2 if todo[0].needs_option else 1]
            if unit[-1].needs_option:
                raise NotYet("the option is missing")
            for other in unit:
                self._check(other, first=not done)
                time.sleep(self.execution)
                with self._lock:
                    self.append(other.raw)
                done.append(BlockRef(other.height, other.block_id))
            todo = todo[len(unit) :]
        return done

    def _check(self, block: ParsedBlock, *, first: bool) -> None:
        if block.height > self.height + 1 and first:
            raise UnknownParent(block.block_id, block.parent_id)
        if block.parent_id != id_of(self.raws[-1]) or block.height != self.height + 1:
            raise BlockRejection(block.block_id, block.height, "it follows another block")
        self.check_content(block, self.height + 1)

    def check_content(self, block: ParsedBlock, height: int) -> None:
        """Reject a block that breaks a rule or is not at this height."""
        if block.height != height:
            raise BlockRejection(block.block_id, block.height, f"its height has to be {height}")
        self._check_seal(block)
        if BAD in payload_of(block.raw) and not self.lenient:
            self.refused.add(block.raw)
            raise BlockRejection(block.block_id, block.height, "bad transaction")

    def _check_seal(self, block: ParsedBlock) -> None:
        if block.raw[-SEAL:] != seal(block.raw[:-SEAL]):
            self.refused.add(block.raw)
            raise BlockRejection(block.block_id, block.height, "wrong seal", spoiled=True)

    def keep_fetched(self, blocks: Sequence[ParsedBlock]) -> None:
        with self._lock:
            self.stored.update((block.height, block) for block in blocks)
            self.most_stored = max(self.most_stored, len(self.stored))
            self.most_bytes_stored = max(self.most_bytes_stored, self.fetched_bytes())

    def fetched(self, above: int, count: int) -> list[bytes]:
        with self._lock:
            found: list[ParsedBlock] = []
            for height in sorted(self.stored):
                if height <= above:
                    continue
                block = self.stored[height]
                if found and block.parent_id != found[-1].block_id:
                    break
                found.append(block)
                if len(found) == count:
                    break
            return [item.raw for item in found]

    def fetched_extent(self) -> tuple[BlockRef, ID] | None:
        with self._lock:
            if not self.stored:
                return None
            lowest = self.stored[min(self.stored)]
            return BlockRef(lowest.height, lowest.block_id), lowest.parent_id

    def fetched_bytes(self) -> int:
        with self._lock:
            return sum(len(item.raw) for item in self.stored.values())

    def forget_fetched(self, up_to: int | None = None) -> None:
        with self._lock:
            for height in [item for item in self.stored if up_to is None or item <= up_to]:
                del self.stored[height]

    def waiting(self, limit: int) -> Sequence[ID]:
        with self._lock:
            return list(self.pool)[-limit:]

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        with self._lock:
            return [self.pool.get(tx_id) for tx_id in tx_ids]

    def transaction_id(self, raw: bytes) -> ID:
        return ID(sha256(raw))

    def issue(self, raws: Sequence[bytes]) -> list[ID | Exception]:
        with self._lock:
            self.issued.extend(raws)
            return [self._issue(raw) for raw in raws]

    def _issue(self, raw: bytes) -> ID | Exception:
        tx_id = self.transaction_id(raw)
        if tx_id in self.pool or BAD in raw:
            return RuntimeError("already known" if tx_id in self.pool else "bad")
        self.pool[tx_id] = raw
        return tx_id
