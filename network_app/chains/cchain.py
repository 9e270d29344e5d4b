"""The C-Chain for the network: its own services and rows, in the words of `inner`."""

from collections.abc import Sequence
from functools import cached_property
from typing import cast

from cchain_app.apps import evm_chain
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import InvalidBlock
from cchain_app.pool.errors import (
    AccountLimitExceeded,
    FutureReplacesPending,
    InFlightLimitReached,
    PoolFull,
    Underpriced,
)
from cchain_app.selectors import blocks as accepted
from cchain_app.selectors import pool, raw_blocks
from cchain_app.services import following, scheduling, transactions
from network_app.chains.inner import Beside, InnerBlock, InnerTip, Refused, Unreadable
from network_app.ports import NoRoom
from primitives.evm import Hash
from primitives.hashing import keccak256
from primitives.ids import ID

_LACK_OF_ROOM = (
    AccountLimitExceeded, FutureReplacesPending, InFlightLimitReached, PoolFull, Underpriced,
)  # fmt: skip


class CChain:
    """The C-Chain of this node.

    Args:
        chain_id: The transaction of the P-Chain's genesis that created it.
    """

    alias = "C"

    def __init__(self, chain_id: ID) -> None:
        self.chain_id = chain_id

    @cached_property
    def _genesis(self) -> InnerBlock:
        return self.blocks(0, 0, 1)[0]

    def genesis(self) -> InnerBlock:
        """Return block 0."""
        return self._genesis

    def tip(self) -> InnerTip:
        """Return the last accepted block."""
        head = accepted.catch_up(evm_chain())
        return InnerTip(head.number, ID(head.hash))

    def blocks(self, first: int, last: int, size: int) -> list[InnerBlock]:
        """Return accepted blocks from a height to another until their bytes pass `size`."""
        return [
            InnerBlock(one.number, ID(one.hash), ID(one.parent_hash), one.timestamp, one.raw)
            for one in raw_blocks.raw_blocks(evm_chain(), first, last, size)
        ]

    def glance(self, raw: bytes) -> InnerBlock:
        """Read a block's header. Raises Unreadable."""
        try:
            found = following.parse_header(raw)
        except InvalidBlock as error:
            raise Unreadable(str(error)) from error
        header = found.header
        return InnerBlock(
            header.number, ID(found.hash), ID(header.parent_hash), header.timestamp, raw
        )

    def parse(self, seen: InnerBlock) -> InnerBlock:
        """Read the transactions behind a header. Raises Unreadable."""
        try:
            return seen._replace(parsed=following.parse_block(seen.raw))
        except InvalidBlock as error:
            raise Unreadable(str(error)) from error

    def accept(self, blocks: Sequence[InnerBlock], *, now: int, beside: Beside) -> int:
        """Accept blocks in one transaction and return how many transactions they have.

        Raises:
            Refused: One breaks a rule.
        """
        candidates = [cast(CandidateBlock, one.parsed) for one in blocks]
        try:
            following.accept(
                evm_chain(), candidates, now=now, beside=lambda block: beside(ID(block.hash))
            )
        except InvalidBlock as error:
            raise Refused(str(error)) from error
        return sum(len(one.transactions) for one in candidates)

    def request_block(self) -> None:
        """Wake the maker of blocks."""
        scheduling.request_block(evm_chain())

    def waiting(self, limit: int) -> list[ID]:
        """Return hashes of transactions that wait, newest last."""
        return [ID(one) for one in pool.newest_hashes(evm_chain(), limit)]

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return waiting transactions' signed envelopes."""
        found = pool.raws_of(evm_chain(), [Hash(bytes(tx_id)) for tx_id in tx_ids])
        return [found.get(Hash(bytes(tx_id))) for tx_id in tx_ids]

    def transaction_id(self, raw: bytes) -> ID:
        """Return a transaction's hash."""
        return ID(keccak256(raw))

    def issue(self, raws: Sequence[bytes], *, now: int) -> list[ID | Exception]:
        """Take transactions in that other nodes have acknowledged, or say why not."""
        del now  # the pool asks the clock itself
        return [_outcome(one) for one in transactions.submit(evm_chain(), raws, gossiped=True)]


def _outcome(outcome: Hash | Exception) -> ID | Exception:
    if isinstance(outcome, _LACK_OF_ROOM):
        return NoRoom(str(outcome))
    return outcome if isinstance(outcome, Exception) else ID(outcome)
