"""The P-Chain for the network, besides its VM: `inner.ChainBackend` by its own services and rows."""

from collections.abc import Sequence

from network_app.chains.outer_blocks import AcceptedBlock
from network_app.ports import NoRoom
from platform_app.blocks.block import Block, ProposalBlock
from platform_app.blocks.errors import InvalidBlock
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted
from platform_app.selectors import mempool as waiting
from platform_app.services import mempool
from platform_app.services.errors import MempoolFull
from platform_app.txs.base import Tx
from platform_app.txs.codec import parse
from platform_app.txs.errors import InvalidTx
from primitives.codec_errors import CodecError
from primitives.hashing import sha256
from primitives.ids import ID


class PlatformBackend:
    """The P-Chain of this node.

    Args:
        chain: The chain.
    """

    refused: type[Exception] = InvalidBlock

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain

    def blocks(self, first: int, last: int, size: int) -> list[AcceptedBlock]:
        """Return accepted blocks from a height to another until their bytes pass `size`."""
        return [
            AcceptedBlock(one.height, one.block_id, one.time, one.raw, is_option=one.is_option)
            for one in accepted.raw_blocks(self._chain, first, last, size)
        ]

    def read(self, block: Block) -> Block:
        """Return the block: all of it was read, since it has 256 KiB at most."""
        return block

    def is_proposal(self, block: Block) -> bool:
        """Say whether it is a proposal; nothing may follow one of before Banff, which has no time."""
        return isinstance(block, ProposalBlock) and block.time is not None

    def transactions_in(self, block: Block) -> int:
        """Return how many transactions a block has."""
        return len(block.txs) + (block.proposal is not None)

    def waiting(self, limit: int) -> list[ID]:
        """Return IDs of transactions that wait, newest last."""
        return waiting.newest(self._chain, limit)

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return waiting transactions' bytes."""
        found = waiting.raws(self._chain, tx_ids)
        return [found.get(tx_id) for tx_id in tx_ids]

    def transaction_id(self, raw: bytes) -> ID:
        """Return a transaction's ID: the hash of its bytes."""
        return ID(sha256(raw))

    def issue(self, raws: Sequence[bytes], *, now: int) -> list[ID | Exception]:
        """Take transactions in that peers have sent, or say why not."""
        read = [_read(raw) for raw in raws]
        txs = [one for one in read if isinstance(one, Tx)]
        outcomes = iter(mempool.issue(self._chain, txs, now=now, gossiped=True))
        found = [next(outcomes) if isinstance(one, Tx) else one for one in read]
        return [NoRoom(str(one)) if isinstance(one, MempoolFull) else one for one in found]


def _read(raw: bytes) -> Tx | Exception:
    try:
        return parse(raw)
    except (CodecError, InvalidTx) as error:
        return error
