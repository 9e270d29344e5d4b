"""Verification and execution of blocks on their parent's state (xchain.md 11)."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from chainvm.shared_memory import AtomicRequests
from primitives.ids import EMPTY_ID, ID
from utxo.errors import CredentialReason, InvalidTx
from xchain_app.blocks.block import AvmBlock
from xchain_app.blocks.errors import AvmBlockReason, AvmBlockTooEarly, InvalidAvmBlock
from xchain_app.config import SYNCHRONY_BOUND, AvmEnv
from xchain_app.executor.effects import execute, merge_requests
from xchain_app.executor.errors import MissingSharedUtxo, causes_of
from xchain_app.executor.semantic import verify_semantics
from xchain_app.state.chain import AvmDiff, AvmState
from xchain_app.txs.syntax import verify_syntax


class AvmParent(Protocol):
    """The parent of a block: a block, or the stored ID and height of one."""

    @property
    def block_id(self) -> ID:
        """The parent's ID."""

    @property
    def height(self) -> int:
        """The parent's height."""


class AvmOutcome(NamedTuple):
    """The outcome of a block."""

    state: AvmDiff
    """The state after it, as changes over its parent's."""
    imports: frozenset[ID] = frozenset()
    """The outputs of other chains that it imports."""
    requests: tuple[AtomicRequests, ...] = ()
    """Its changes of shared memory, one for each peer."""


def verify_alone(block: AvmBlock, env: AvmEnv, now: int) -> None:
    """Check what does not depend on a block's parent.

    Args:
        block: The block.
        env: The chain and its network.
        now: The node's clock in Unix seconds.

    Raises:
        InvalidAvmBlock: The root is not zero, the time is too far ahead of the clock, there are no transactions, or one
            of them is malformed.
    """
    if block.merkle_root != EMPTY_ID:
        raise InvalidAvmBlock(AvmBlockReason.UNEXPECTED_ROOT, root=block.merkle_root)
    if block.time > now + SYNCHRONY_BOUND:
        raise InvalidAvmBlock(
            AvmBlockReason.TIME_TOO_FAR_AHEAD, time=moment(block.time), now=moment(now)
        )
    if not block.txs:
        raise InvalidAvmBlock(AvmBlockReason.NO_TXS)
    for tx in block.txs:
        try:
            verify_syntax(tx, env)
        except InvalidTx as reason:
            raise InvalidAvmBlock(
                AvmBlockReason.MALFORMED_TX, tx_id=tx.tx_id, cause=reason
            ) from reason


def execute_block(
    block: AvmBlock,
    parent: AvmParent,
    parent_state: AvmState,
    env: AvmEnv,
    imported_before: Collection[ID] = (),
) -> AvmOutcome:
    """Execute a block on its parent's state; call `verify_alone` first.

    Args:
        block: The block.
        parent: Its parent.
        parent_state: The state after the parent.
        env: The chain and its network.
        imported_before: The outputs that undecided ancestors import.

    Raises:
        InvalidAvmBlock: Its height or time does not follow the parent's, a transaction cannot be executed, or one
            imports an output that an earlier transaction or an ancestor imports.
    """
    if block.height != parent.height + 1:
        raise InvalidAvmBlock(
            AvmBlockReason.WRONG_HEIGHT, expected=parent.height + 1, got=block.height
        )
    chain_time = parent_state.timestamp()
    if block.time < chain_time:
        raise InvalidAvmBlock(
            AvmBlockReason.TIME_BEFORE_CHAIN,
            time=moment(block.time),
            chain_time=moment(chain_time),
        )
    diff = AvmDiff(parent_state)
    diff.set_timestamp(block.time)
    imports: set[ID] = set()
    requests = []
    for tx in block.txs:
        try:
            verify_semantics(tx, diff, env, block.time)
        except InvalidTx as reason:
            kind = AvmBlockTooEarly if _may_become_valid(reason) else InvalidAvmBlock
            raise kind(AvmBlockReason.REFUSED_TX, tx_id=tx.tx_id, cause=reason) from reason
        effects = execute(tx, diff)
        if not imports.isdisjoint(effects.imported):
            raise InvalidAvmBlock(AvmBlockReason.CONFLICTING_TXS)
        imports.update(effects.imported)
        if effects.requests is not None:
            requests.append(effects.requests)
    if not imports.isdisjoint(imported_before):
        raise InvalidAvmBlock(AvmBlockReason.CONFLICT_WITH_ANCESTOR, parent_id=block.parent_id)
    return AvmOutcome(diff, frozenset(imports), merge_requests(requests))


def _may_become_valid(reason: InvalidTx) -> bool:
    """Return whether a refused transaction may be valid later, or on other nodes, whose clocks may differ."""
    return any(
        isinstance(cause, MissingSharedUtxo)
        or (isinstance(cause, InvalidTx) and cause.reason is CredentialReason.TIME_LOCKED)
        for cause in causes_of(reason)
    )


def moment(seconds: int) -> str:
    """Format a time as the reference does; a time beyond the calendar as a number of seconds."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"
    except (ValueError, OverflowError, OSError):
        return str(seconds)
