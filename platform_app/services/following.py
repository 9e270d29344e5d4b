"""Accepting blocks that other nodes have made: verified by the rules by which this one makes its own."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from chaindb.building import building
from chaindb.chains import Chain
from chaindb.locks import Lock
from platform_app.blocks import block as block_codec
from platform_app.blocks.block import Block, CommitBlock
from platform_app.blocks.errors import OtherBlockAccepted, UnreadableBlock
from platform_app.blocks.executor import Options, Parent, execute_block, verify_child
from platform_app.chain import PlatformChain
from platform_app.executor.env import Env
from platform_app.services import builder, clearing
from platform_app.services.builder import Beside, Step
from platform_app.services.environment import env
from platform_app.services.errors import MissingOption
from platform_app.state.diff import Diff
from platform_app.state.staker import Priority
from platform_app.store import blocks as chain_rows
from platform_app.store import uptime
from platform_app.store.blocks import Tip
from platform_app.store.state import DatabaseState
from primitives.codec_errors import CodecError
from primitives.ids import ID, NodeID


def parse_block(raw: bytes) -> Block:
    """Read a block that came from elsewhere.

    Raises:
        UnreadableBlock: The bytes are none, more than one, or more than a block may have.
    """
    try:
        return block_codec.parse_block(raw)
    except CodecError as reason:
        raise UnreadableBlock(reason) from reason


def accept(
    chain: PlatformChain, blocks: Sequence[Block], *, now: int, beside: Beside = lambda _block: None
) -> None:
    """Verify blocks, each on the state that those before it leave, and accept them: all or none.

    They come in the order of their heights, a proposal with its option behind it. Those that are
    accepted already are passed over.

    Args:
        chain: Which they belong to.
        blocks: As `parse_block` returns them.
        now: The node's time in Unix seconds.
        beside: Called for each new block in the transaction that accepts it, once it is written.

    Raises:
        InvalidBlock: A block breaks a rule; the class says which. Among these `UnknownParent`: the
            first new one does not follow the last accepted block.
        MissingOption: The last one is a proposal.
    """
    with _outstanding(chain, blocks):
        _accept(chain, blocks, now, beside)


def _outstanding(chain: PlatformChain, blocks: Sequence[Block]) -> AbstractContextManager[None]:
    """Count the first new block as outstanding: before the lock, which may be what it waits for."""
    tip = DatabaseState(chain.db).tip
    first = next((block.height for block in blocks if block.height > tip.height), None)
    return nullcontext() if first is None else building(Chain.P, first)


def _accept(chain: PlatformChain, blocks: Sequence[Block], now: int, beside: Beside) -> None:
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN)
        state = DatabaseState(chain.db)
        new = _new(chain, blocks, state.tip)
        if not new:
            return
        state.prefetch(tx for block in new for tx in block.txs)
        # All is verified before anything is written: the state reads rows as it is asked.
        steps = list(_verified(new, state, env(chain, state.network, now)))
        began = dict(_new_validators(steps))

        def written(block: Block) -> None:
            uptime.learn(chain.db, began.get(block.block_id, ()), now)
            beside(block)

        builder.accept(chain, steps, written)
        clearing.drop_rivals(chain, [tx for block in new for tx in block.txs], now)


def _new(chain: PlatformChain, blocks: Sequence[Block], tip: Tip) -> list[Block]:
    """Return the blocks above the last accepted one; the others must be accepted ones."""
    known = chain_rows.ids_at(chain.db, [one.height for one in blocks if one.height <= tip.height])
    for block in blocks:
        if block.height in known and known[block.height] != block.block_id:
            raise OtherBlockAccepted(block.height, known[block.height], block.block_id)
    return [block for block in blocks if block.height not in known]


def _verified(blocks: Sequence[Block], state: DatabaseState, surroundings: Env) -> Iterator[Step]:
    """Execute blocks one after the other; walk what is to be accepted."""
    ground = Diff(state)
    parent: Parent = state.tip
    rest = iter(blocks)
    for block in rest:
        verify_child(block, parent)
        outcome = execute_block(block, ground, surroundings)
        accepted: tuple[Block, ...] = (block,)
        if isinstance(outcome, Options):
            accepted = (block, _option(block, rest))
            commit, abort = outcome
            outcome = commit if isinstance(accepted[-1], CommitBlock) else abort
        yield Step(accepted, outcome.changes())
        outcome.apply(ground)
        parent = accepted[-1]


def _option(proposal: Block, rest: Iterator[Block]) -> Block:
    """Take the option that decides a proposal."""
    option = next(rest, None)
    if option is None:
        raise MissingOption(proposal.block_id, proposal.height)
    verify_child(option, proposal)
    return option


def _new_validators(steps: Sequence[Step]) -> Iterator[tuple[ID, list[NodeID]]]:
    """Walk the blocks with the validators of the Primary Network that begin in them.

    They count as online until now, however old the block is: nobody here has looked before.
    """
    for step in steps:
        nodes = [
            staker.node_id
            for staker in step.changes.stakers
            if staker.priority is Priority.PRIMARY_VALIDATOR_CURRENT
        ]
        if nodes:
            yield step.blocks[-1].block_id, nodes
