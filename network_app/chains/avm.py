"""The X-Chain for the network, besides its VM: `backend.ChainBackend` with the chain's services and rows."""

from collections.abc import Mapping, Sequence

from network_app.chains.backend import BuildTiming
from network_app.chains.outer_blocks import UnwrappedBlock
from network_app.ports import PoolLimitReached, TransactionSource
from primitives.codec_errors import CodecError
from primitives.hashing import sha256
from primitives.ids import ID
from xchain_app.blocks.block import AvmBlock
from xchain_app.chain import AvmChain
from xchain_app.selectors import accepted
from xchain_app.services import mempool
from xchain_app.services.errors import AvmMempoolFull
from xchain_app.store import mempool as pending
from xchain_app.txs.base import AvmTx
from xchain_app.txs.codec import parse

DELAY = 1
"""Seconds between blocks, as in the reference (xchain.md 12)."""


class AvmBackend:
    """The X-Chain of this node.

    Args:
        chain: The chain.
    """

    def __init__(self, chain: AvmChain) -> None:
        self._chain = chain

    @property
    def timing(self) -> BuildTiming:
        """When its blocks are built."""
        return BuildTiming(DELAY)

    def blocks(self, first: int, last: int, size: int) -> list[UnwrappedBlock]:
        """Return the accepted blocks between two heights until their total size exceeds `size`."""
        return [
            UnwrappedBlock(stored.height, stored.block_id, stored.time, stored.raw)
            for stored in accepted.raw_blocks(self._chain, first, last, size)
        ]

    def read(self, block: AvmBlock) -> AvmBlock:
        """Return the block, which is already parsed completely, because it has at most 256 KiB."""
        return block

    def is_proposal(self, block: AvmBlock) -> bool:
        """Return False: this chain has no proposals."""
        del block
        return False

    def transactions_in(self, block: AvmBlock) -> int:
        """Return the number of transactions in a block."""
        return len(block.txs)

    @property
    def more_transactions(self) -> Mapping[int, TransactionSource]:
        """Return nothing: the X-Chain has one kind of transactions."""
        return {}

    def state_summary(self) -> None:
        """Return None: the X-Chain has no state synchronization."""

    def waiting(self, limit: int) -> list[ID]:
        """Return IDs of pending transactions, newest last."""
        return pending.newest(self._chain.db, limit)

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return the bytes of pending transactions."""
        found = pending.raws(self._chain.db, tx_ids)
        return [found.get(tx_id) for tx_id in tx_ids]

    def transaction_id(self, raw: bytes) -> ID:
        """Return a transaction's ID: the hash of its bytes."""
        return ID(sha256(raw))

    def issue(self, raws: Sequence[bytes], *, now: int) -> list[ID | Exception]:
        """Add transactions from peers to the pool; return each ID or the reason for rejection."""
        read = [_read(raw) for raw in raws]
        txs = [item for item in read if isinstance(item, AvmTx)]
        outcomes = iter(mempool.issue(self._chain, txs, now=now, gossiped=True) if txs else ())
        found = [next(outcomes) if isinstance(item, AvmTx) else item for item in read]
        return [
            PoolLimitReached(str(entry)) if isinstance(entry, AvmMempoolFull) else entry
            for entry in found
        ]


def _read(raw: bytes) -> AvmTx | Exception:
    try:
        return parse(raw)
    except CodecError as error:
        return error
