"""`ports.Chain`: a chain's services behind outer blocks."""

import time
from collections.abc import Collection, Sequence

from django.db import transaction as database

from chaindb import clock
from network_app.chains.accepting import Acceptor
from network_app.chains.verifying import HIGHEST, Trust, Verifier
from network_app.chains.wrapping import Wrapper
from network_app.ports import Accepted, BlockPlace, ParsedBlock
from network_app.store import fetched, outer
from primitives.ids import ID, NodeID

CHUNK = 128
"""Blocks that are read together where many are asked for."""
SINCE_BYTES = 8 * 1024 * 1024
"""Of blocks since a height that are read together."""
OVERHEAD = 4
"""Bytes that the protocol reckons for each block besides its own."""


class WrappedChain:
    """One chain of this node for the network.

    Args:
        wrapper: Its outer blocks, and the chain inside.
        makes_blocks: Whether this node makes blocks at all; then it looks whether it is its turn when
            others' blocks were accepted.
    """

    def __init__(self, wrapper: Wrapper, *, makes_blocks: bool) -> None:
        self._wrapper = wrapper
        self.inner = wrapper.inner
        """The chain without outer blocks."""
        self.alias = self.inner.alias
        self.chain_id = self.inner.chain_id
        self._verifier = Verifier(wrapper)
        after = self.inner.request_block if makes_blocks else _nothing
        self._acceptor = Acceptor(wrapper, self._verifier, after)

    def last_accepted(self) -> BlockPlace:
        """Return the last accepted block."""
        return self._wrapper.place()

    def parse(self, raw: bytes) -> ParsedBlock:
        """Read a block. Raises InvalidBlock."""
        read = self._verifier.read(raw)
        return ParsedBlock(
            read.outer.outer_id,
            read.outer.parent_id,
            read.inner.height,
            raw,
            needs_option=bool(read.inner.options),
            proposer=read.proposer,
        )

    def producers(self) -> frozenset[NodeID]:
        """Return who makes blocks of this network, as far as it is known here by now."""
        return self._verifier.producers()

    def signer(self, raw: bytes, among: Collection[NodeID]) -> NodeID | None:
        """Return which of some nodes has signed a block, or None. Raises InvalidBlock."""
        return self._verifier.signer(raw, among)

    def accepted_at(self, heights: Sequence[int]) -> list[ID | None]:
        """Return the accepted blocks at these heights."""
        self._wrapper.last()
        found = outer.ids_at(self.alias, [height for height in heights if 0 < height <= HIGHEST])
        found[0] = self.inner.genesis().block_id
        return [found.get(height) for height in heights]

    def height_of(self, block_ids: Sequence[ID]) -> list[int | None]:
        """Return the heights of those of these blocks that are accepted.

        What was made here and is not wrapped yet has no ID that anybody could ask for.
        """
        found = outer.heights_of(self.alias, block_ids)
        found[self.inner.genesis().block_id] = 0
        return [found.get(block_id) for block_id in block_ids]

    def block(self, block_id: ID) -> bytes | None:
        """Return an accepted block's bytes; genesis is bare."""
        (height,) = self.height_of([block_id])
        if not height:
            return None if height is None else self.inner.genesis().raw
        return self._wrapper.raws(height, height, 1)[0][1]

    def ancestors(self, block_id: ID, *, count: int, size: int, seconds: float) -> list[bytes]:
        """Return an accepted block and those before it, newest first; empty when it is unknown.

        Of genesis, which every node has, only whoever asks for itself is told.
        """
        until = time.monotonic() + seconds
        (top,) = self.height_of([block_id])
        if top == 0:
            return [self.inner.genesis().raw]
        found: list[bytes] = []
        while top and len(found) < count and (not found or time.monotonic() < until):
            bottom = max(1, top - min(CHUNK, count - len(found)) + 1)
            pieces = self._wrapper.raws(top, bottom, size)
            for _, raw in pieces:
                size -= len(raw) + OVERHEAD
                if size < 0 and found:
                    return found
                found.append(raw)
            top = pieces[-1][0].height - 1
        return found

    def accepted_since(self, height: int, count: int) -> list[tuple[BlockPlace, bytes]]:
        """Return accepted blocks above a height, in order."""
        top = min(self._wrapper.last().height, height + count)
        if top <= height:
            return []
        return self._wrapper.raws(height + 1, top, SINCE_BYTES)

    def accept(
        self,
        raws: Sequence[bytes],
        *,
        bootstrapping: bool,
        agreed: bool = False,
        tellers: Sequence[Collection[NodeID]] = (),
    ) -> Accepted:
        """Verify, execute and accept blocks in order; see `ports.Chain.accept`."""
        return self._acceptor.accept(raws, Trust(bootstrapping, agreed, tellers))

    def keep_fetched(self, blocks: Sequence[ParsedBlock]) -> None:
        """Store fetched blocks."""
        with database.atomic(durable=True):
            fetched.keep(self.alias, blocks)

    def fetched(self, above: int, count: int) -> list[bytes]:
        """Return stored blocks above a height that follow each other."""
        return fetched.above(self.alias, above, count)

    def fetched_extent(self) -> tuple[BlockPlace, ID] | None:
        """Return the lowest stored block and its parent."""
        return fetched.lowest(self.alias)

    def fetched_bytes(self) -> int:
        """Return how many bytes the stored blocks have together."""
        return fetched.size(self.alias)

    def forget_fetched(self, up_to: int | None = None) -> None:
        """Delete stored blocks up to a height, or all."""
        with database.atomic(durable=True):
            fetched.forget(self.alias, up_to)

    def waiting(self, limit: int) -> Sequence[ID]:
        """Return IDs of transactions that wait, newest last."""
        return self.inner.waiting(limit)

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return waiting transactions' bytes."""
        return self.inner.transactions(tx_ids)

    def transaction_id(self, raw: bytes) -> ID:
        """Return the ID by which a transaction is known."""
        return self.inner.transaction_id(raw)

    def issue(self, raws: Sequence[bytes]) -> list[ID | Exception]:
        """Take transactions in, or say why not."""
        return self.inner.issue(raws, now=clock.now())


def _nothing() -> None:
    """Do nothing after blocks were accepted."""
