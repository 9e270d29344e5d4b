"""The P-Chain for the network: its own services and rows, in the words of `inner`."""

from collections.abc import Sequence
from functools import cached_property
from typing import cast

from network_app.chains.inner import Beside, InnerBlock, InnerTip, Refused, Unreadable
from network_app.ports import NoRoom
from platform_app.apps import platform_chain
from platform_app.blocks.block import Block, ProposalBlock, build_options
from platform_app.blocks.errors import InvalidBlock
from platform_app.selectors import raw_blocks, waiting
from platform_app.services import following, mempool, scheduling
from platform_app.services.errors import MempoolFull
from platform_app.txs.base import Tx
from platform_app.txs.codec import parse
from platform_app.txs.errors import InvalidTx
from primitives.codec_errors import CodecError
from primitives.hashing import sha256
from primitives.ids import ID, PRIMARY_NETWORK_ID


class PlatformChain:
    """The P-Chain of this node."""

    alias = "P"
    chain_id = PRIMARY_NETWORK_ID

    @cached_property
    def _genesis(self) -> InnerBlock:
        return self.blocks(0, 0, 1)[0]

    def genesis(self) -> InnerBlock:
        """Return block 0."""
        return self._genesis

    def tip(self) -> InnerTip:
        """Return the last accepted block."""
        tip = platform_chain().tip()
        return InnerTip(tip.height, tip.block_id)

    def blocks(self, first: int, last: int, size: int) -> list[InnerBlock]:
        """Return accepted blocks from a height to another until their bytes pass `size`."""
        return [
            InnerBlock(
                one.height, one.block_id, one.parent_id, one.time, one.raw, is_option=one.is_option
            )
            for one in raw_blocks.raw_blocks(platform_chain(), first, last, size)
        ]

    def glance(self, raw: bytes) -> InnerBlock:
        """Read a block, all of it: it has 256 KiB at most. Raises Unreadable."""
        try:
            block = following.parse_block(raw)
        except InvalidBlock as error:
            raise Unreadable(str(error)) from error
        return InnerBlock(
            block.height,
            block.block_id,
            block.parent_id,
            block.time,
            raw,
            options=_options(block),
            parsed=block,
        )

    def parse(self, seen: InnerBlock) -> InnerBlock:
        """Return what was read."""
        return seen

    def accept(self, blocks: Sequence[InnerBlock], *, now: int, beside: Beside) -> int:
        """Accept blocks in one transaction and return how many transactions they have.

        Raises:
            Refused: One breaks a rule.
        """
        values = [cast(Block, one.parsed) for one in blocks]
        try:
            following.accept(
                platform_chain(), values, now=now, beside=lambda block: beside(block.block_id)
            )
        except InvalidBlock as error:
            raise Refused(str(error)) from error
        return sum(len(value.txs) + (value.proposal is not None) for value in values)

    def request_block(self) -> None:
        """Wake the maker of blocks."""
        scheduling.request_block()

    def waiting(self, limit: int) -> list[ID]:
        """Return IDs of transactions that wait, newest last."""
        return waiting.newest(platform_chain(), limit)

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return waiting transactions' bytes."""
        found = waiting.raws(platform_chain(), tx_ids)
        return [found.get(tx_id) for tx_id in tx_ids]

    def transaction_id(self, raw: bytes) -> ID:
        """Return a transaction's ID: the hash of its bytes."""
        return ID(sha256(raw))

    def issue(self, raws: Sequence[bytes], *, now: int) -> list[ID | Exception]:
        """Take transactions in that peers have sent, or say why not."""
        read = [_read(raw) for raw in raws]
        txs = [one for one in read if isinstance(one, Tx)]
        outcomes = iter(mempool.issue(platform_chain(), txs, now=now, gossiped=True))
        found = [next(outcomes) if isinstance(one, Tx) else one for one in read]
        return [NoRoom(str(one)) if isinstance(one, MempoolFull) else one for one in found]


def _options(block: Block) -> tuple[ID, ...]:
    """Return what may follow a proposal; nothing may follow one of before Banff, which has no time."""
    if not isinstance(block, ProposalBlock) or block.time is None:
        return ()
    return tuple(option.block_id for option in build_options(block))


def _read(raw: bytes) -> Tx | Exception:
    try:
        return parse(raw)
    except (CodecError, InvalidTx) as error:
        return error
