"""The P-Chain for the network, besides its VM: `backend.ChainBackend` with the chain's services and rows."""

from collections.abc import Mapping, Sequence

from network_app.chains.backend import BuildTiming
from network_app.chains.outer_blocks import UnwrappedBlock
from network_app.ports import PoolLimitReached, TransactionSource
from platform_app.blocks.block import Block, ProposalBlock
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted
from platform_app.selectors import mempool as waiting
from platform_app.services import mempool
from platform_app.services.errors import MempoolFull
from platform_app.txs.base import Tx
from platform_app.txs.codec import parse
from primitives.codec_errors import CodecError
from primitives.hashing import sha256
from primitives.ids import ID
from utxo.errors import InvalidTx

DELAY = 1
"""Seconds between blocks, as in the reference (p2p.md 11.5)."""


class PlatformBackend:
    """The P-Chain of this node.

    Args:
        chain: The chain.
    """

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain

    @property
    def timing(self) -> BuildTiming:
        """When its blocks are built."""
        return BuildTiming(DELAY)

    def blocks(self, first: int, last: int, size: int) -> list[UnwrappedBlock]:
        """Return the accepted blocks between two heights until their total size exceeds `size`."""
        return [
            UnwrappedBlock(
                raw_block.height,
                raw_block.block_id,
                raw_block.time,
                raw_block.raw,
                is_option=raw_block.is_option,
            )
            for raw_block in accepted.raw_blocks(self._chain, first, last, size)
        ]

    def read(self, block: Block) -> Block:
        """Return the block, which is already parsed completely, because it has at most 256 KiB."""
        return block

    def is_proposal(self, block: Block) -> bool:
        """Return whether a block is a proposal with a time. Without one (before Banff), no block may follow it."""
        return isinstance(block, ProposalBlock) and block.time is not None

    def transactions_in(self, block: Block) -> int:
        """Return the number of transactions in a block."""
        return len(block.txs) + (block.proposal is not None)

    @property
    def more_transactions(self) -> Mapping[int, TransactionSource]:
        """Return nothing: the P-Chain has one kind of transactions."""
        return {}

    def state_summary(self) -> None:
        """Return None: the P-Chain has no state synchronization."""

    def waiting(self, limit: int) -> list[ID]:
        """Return IDs of pending transactions, newest last."""
        return waiting.newest(self._chain, limit)

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return the bytes of pending transactions."""
        found = waiting.raws(self._chain, tx_ids)
        return [found.get(tx_id) for tx_id in tx_ids]

    def transaction_id(self, raw: bytes) -> ID:
        """Return a transaction's ID: the hash of its bytes."""
        return ID(sha256(raw))

    def issue(self, raws: Sequence[bytes], *, now: int) -> list[ID | Exception]:
        """Add transactions from peers to the pool; return each ID or the reason for rejection."""
        read = [_read(raw) for raw in raws]
        txs = [item for item in read if isinstance(item, Tx)]
        outcomes = iter(mempool.issue(self._chain, txs, now=now, gossiped=True))
        found = [next(outcomes) if isinstance(other, Tx) else other for other in read]
        return [
            PoolLimitReached(str(entry)) if isinstance(entry, MempoolFull) else entry
            for entry in found
        ]


def _read(raw: bytes) -> Tx | Exception:
    try:
        return parse(raw)
    except (CodecError, InvalidTx) as error:
        return error
