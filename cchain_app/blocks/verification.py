"""Compare a candidate's header with the values that its parent, the rules and its execution require. Pure.

The same rules build and check blocks: the required values come from `rules.port.ChainRules`, as for a
block of this node. This module compares field by field, so that a refusal names the
field. Unspecified: geth lets a producer choose the gas limit near the parent's, and the coinbase;
here both follow from the genesis, and any other value is refused.
"""

from collections.abc import Iterable

from cchain_app.blocks import errors
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.header import EMPTY_OMMERS_HASH, Header
from cchain_app.config import at_least
from cchain_app.evm.engine import BlockEnv
from primitives.evm import Hash
from primitives.hashing import EMPTY_ROOT

MAX_FUTURE_BLOCK_TIME = 10
"""Seconds by which a block may be ahead of this node's clock (p2p.md 11.2)."""

MAXIMUM_EXTRA_DATA_SIZE = 32
"""Bytes."""

EMPTY_NONCE = bytes(8)
"""The nonce of every block since proof of work ended."""

Rule = tuple[type[errors.WrongField], int | bytes | None, int | bytes | None]
"""The error to raise if the next two values differ: the header's value and the required one."""


def verify_place(header: Header, parent: AcceptedBlock, *, now: int) -> None:
    """Check that a block follows another one, also in time.

    Args:
        header: The candidate's.
        parent: The block that it should follow.
        now: This node's time in Unix seconds.

    Raises:
        UnknownParent: It follows another block.
        WrongNumber: Its height is not the parent's plus one.
        BlockBeforeParent: It is older than its parent.
        BlockInFuture: It is more than ten seconds ahead of `now`.
    """
    if header.parent_hash != parent.hash:
        raise errors.UnknownParent(header.parent_hash, parent.hash)
    compare([(errors.WrongNumber, header.number, parent.number + 1)])
    if header.timestamp < parent.header.timestamp:
        raise errors.BlockBeforeParent(header.timestamp, parent.header.timestamp)
    if header.timestamp > now + MAX_FUTURE_BLOCK_TIME:
        raise errors.BlockInFuture(header.timestamp, now + MAX_FUTURE_BLOCK_TIME)


def verify_extra_data(header: Header) -> None:
    """Check the length of a header's extra data.

    Raises:
        ExtraDataTooLong: It has more than 32 bytes.
    """
    if len(header.extra_data) > MAXIMUM_EXTRA_DATA_SIZE:
        raise errors.ExtraDataTooLong(len(header.extra_data), MAXIMUM_EXTRA_DATA_SIZE)


def verify_environment(header: Header, env: BlockEnv) -> None:
    """Check the fields that are known before a block is executed.

    Args:
        header: The candidate's.
        env: The environment of the block after its parent, computed as for a block of this node.

    Raises:
        WrongField: By the subclass of the first field that differs.
    """
    no_withdrawals = EMPTY_ROOT if at_least(env.fork, "shanghai") else None
    compare(
        [
            (errors.WrongGasLimit, header.gas_limit, env.gas_limit),
            (errors.WrongBaseFee, header.base_fee, env.base_fee),
            (errors.WrongCoinbase, header.coinbase, env.coinbase),
            (errors.WrongDifficulty, header.difficulty, env.difficulty),
            (errors.WrongMixHash, header.mix_hash, env.prev_randao),
            (errors.WrongNonce, header.nonce, EMPTY_NONCE),
            (errors.WrongUnclesHash, header.ommers_hash, EMPTY_OMMERS_HASH),
            (errors.WrongWithdrawalsRoot, header.withdrawals_root, no_withdrawals),
            (errors.WrongExcessBlobGas, header.excess_blob_gas, env.excess_blob_gas),
            (errors.WrongBeaconRoot, header.parent_beacon_block_root, env.parent_beacon_block_root),
        ]
    )


def verify_body(header: Header, transactions_root: Hash) -> None:
    """Check that a header has the root of its transactions, which is given.

    Raises:
        WrongTransactionsRoot: It does not.
    """
    compare([(errors.WrongTransactionsRoot, header.transactions_root, transactions_root)])


def verify_outcome(candidate: CandidateBlock, made: AcceptedBlock) -> None:
    """Check that executing a candidate's transactions makes exactly the block that the candidate claims.

    Raises:
        WrongField: By the subclass of the first field that differs.
    """
    if candidate.hash == made.hash:
        return
    have, want = candidate.header, made.header
    compare(
        [
            (errors.WrongGasUsed, have.gas_used, want.gas_used),
            (errors.WrongBlobGasUsed, have.blob_gas_used, want.blob_gas_used),
            (errors.WrongStateRoot, have.state_root, want.state_root),
            (errors.WrongReceiptsRoot, have.receipts_root, want.receipts_root),
            (errors.WrongBloom, have.logs_bloom, want.logs_bloom),
            (errors.WrongRequestsHash, have.requests_hash, want.requests_hash),
            (errors.WrongHash, candidate.hash, made.hash),
        ]
    )


def compare(rules: Iterable[Rule]) -> None:
    """Raise the error of the first rule whose two values differ."""
    for refusal, have, want in rules:
        if have != want:
            raise refusal(have, want)
