"""Stateful precompiles in the rules of a chain: in force by a block's time, and begun before its transactions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockReason, BlockRefused, TransactionRefused, wrong_field
from cchain_app.evm.engine import BlockEnv, StateChanges, StateReader
from cchain_app.evm.upgrades import upgrade_changes
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.predicates import (
    AccessList,
    PredicateError,
    extra_gas,
    has_predicates,
    parse_predicates,
)
from cchain_app.precompiles.schedule import PrecompileSchedule
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.txs.codec import decode_unsigned
from cchain_app.txs.transaction import InvalidTransaction, Transaction, intrinsic_gas
from chainvm.port import BlockContext

NO_HEIGHT: Final = "the block has no P-Chain height at which a warp message could be verified"
"""Why a transaction is left out of a block."""


def with_precompiles(
    env: BlockEnv,
    schedule: PrecompileSchedule,
    identity: WarpIdentity | None,
    failed: Mapping[bytes, int] | None = None,
) -> BlockEnv:
    """Return a block's environment with the stateful precompiles that are in force in it.

    Args:
        env: The environment without them.
        schedule: The chain's precompiles.
        identity: Who the chain is to other chains; None: the warp precompile is not among the precompiles.
        failed: By transaction, the bits of warp messages that do not hold.

    Raises:
        NoBlockchainID: The warp precompile is in force, and the chain has no ID yet.
    """
    if not schedule:
        return env
    network_id, blockchain_id = 0, b""
    if schedule.config_at(PrecompileKey.WARP, env.timestamp) is not None:
        assert identity is not None, "only chains with an ID have the warp precompile"
        network_id, blockchain_id = identity.network_id, bytes(identity.blockchain_id())
    active = schedule.active_at(
        env.timestamp,
        network_id=network_id,
        blockchain_id=blockchain_id,
        failed=tuple((failed or {}).items()),
    )
    return replace(env, stateful=active)


def begun(
    schedule: PrecompileSchedule, parent: AcceptedBlock, env: BlockEnv, state: StateReader
) -> StateChanges:
    """Return the changes of the precompiles that begin or end in a block, as `ChainRules.changes_before` does."""
    return upgrade_changes(
        schedule,
        state,
        parent=parent.header.timestamp,
        timestamp=env.timestamp,
        number=env.number,
    )


def without_height(
    env: BlockEnv, transactions: Sequence[Transaction], context: BlockContext
) -> frozenset[int]:
    """Return the indexes of transactions that a block cannot contain, because it has no P-Chain height.

    Those are transactions with warp messages in the first block of a chain on which nodes vote.
    """
    if env.stateful.warp is None or not context.lacks_height:
        return frozenset()
    return frozenset(
        index for index, one in enumerate(transactions) if has_predicates(one.access_list)
    )


def verify_verifiable(
    env: BlockEnv,
    transactions: Sequence[Transaction],
    context: BlockContext,
    claimed: CandidateBlock,
) -> None:
    """Check that nodes agree on the messages of a block of another node, and that it pays for their verification.

    Call it before any signature is verified, so that the block's gas bounds that work. Unreadable messages do not
    matter: no signature of theirs is verified, and they make their transaction invalid. Unspecified: coreth compares the
    whole gas that the transactions need at least (coreth.md 6); here refunds may lower the gas used, to half at most, so
    that half of it counts.

    Args:
        env: The environment of the block.
        transactions: Its transactions.
        context: The block's context.
        claimed: The block.

    Raises:
        BlockRefused: Nodes vote on the block, and there is no P-Chain height at which to verify its messages; a
            transaction has too little gas for its messages; or the gas that the block claims to use is too little for
            all of them, or more than a block has.
    """
    assert env.stateful.warp is not None, "without warp no message is verified"
    if without_height(env, transactions, context):
        raise BlockRefused(BlockReason.NO_PREDICATE_CONTEXT)
    prices, least = env.stateful.warp.gas, 0
    for index, transaction in enumerate(transactions):
        if not has_predicates(transaction.access_list):
            continue
        try:
            predicates = parse_predicates(transaction.access_list)
        except PredicateError:
            continue
        needed = intrinsic_gas(transaction, env.fork) + extra_gas(predicates, prices)
        if transaction.gas < needed:
            raise BlockRefused(
                BlockReason.MESSAGE_GAS, index=index, have=transaction.gas, want=needed
            )
        least += needed
    used, most = claimed.header.gas_used, env.limits.in_block(env.gas_limit)
    if least and used > most:
        raise wrong_field(BlockReason.GAS_ABOVE_LIMIT, used, most)
    if least > used * _MOST_REFUNDED:
        raise wrong_field(BlockReason.MESSAGES_GAS, used, least)


_MOST_REFUNDED: Final = 2
"""The gas before refunds, by that after them, at most: before London half of it may come back."""


def access_lists_of(transactions: Sequence[Transaction]) -> list[tuple[bytes, AccessList]]:
    """Return the access lists of transactions, each with the hash of its transaction."""
    return [(transaction.hash, transaction.access_list) for transaction in transactions]


def access_lists_in(block: AcceptedBlock | CandidateBlock) -> list[tuple[bytes, AccessList]]:
    """Return the access lists of a block's transactions.

    Raises:
        TransactionRefused: A transaction of a candidate cannot be read.
    """
    if isinstance(block, AcceptedBlock):
        return access_lists_of(block.transactions)
    found: list[tuple[bytes, AccessList]] = []
    for index, raw in enumerate(block.transactions):
        try:
            decoded = decode_unsigned(raw)
        except InvalidTransaction as error:
            raise TransactionRefused(index, error) from error
        found.append((decoded.hash, decoded.access_list))
    return found
