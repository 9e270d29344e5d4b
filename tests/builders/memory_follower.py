"""Consensus of a follower on a chain in memory: it queries the one node that produces all blocks."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from chainvm.errors import InvalidBlock, UnknownParent
from chainvm.port import BlockContext, Written
from network_app.consensus.runner import Runner
from network_app.consensus.validators import CurrentValidators, OneValidator
from network_app.consensus.vm import VotedChain
from network_app.ports import AcceptedChain, BlockRejection
from network_app.proposervm.errors import OuterBlockError, OuterBlockReason
from network_app.snowman.parameters import ONE_VOTE
from network_app.sync.handler import SharedParts
from network_app.sync.requests import Requests
from network_app.sync.voting import TakePart
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import OPTION, PROPOSAL, MemoryChain, block_bytes

OPTIONS = (b"option", b"other option")
"""The contents of the two options of a proposal."""


class Refused(InvalidBlock):
    """A block breaks the rule that the message names."""


class MemoryBlock(NamedTuple):
    """A `chainvm.port.Block`."""

    block_id: ID
    parent_id: ID
    height: int
    raw: bytes
    kind: int


class MemoryVM:
    """A `consensus.vm.ProposingVM` over a chain in memory; it builds nothing."""

    def __init__(self, chain: MemoryChain) -> None:
        self._chain = chain
        self._processing: dict[ID, MemoryBlock] = {}

    def last_accepted(self) -> ID:
        return self._chain.last_accepted().block_id

    def get_block(self, block_id: ID) -> MemoryBlock | None:
        raw = self._chain.block(block_id)
        return self._processing.get(block_id) if raw is None else self.parse(raw)

    def get_block_id_at_height(self, height: int) -> ID | None:
        (found,) = self._chain.accepted_at([height])
        return found

    def parse(self, raw: bytes) -> MemoryBlock:
        one = self._chain.parse(raw)
        kind = PROPOSAL if one.needs_option else 0
        return MemoryBlock(one.block_id, one.parent_id, one.height, raw, kind)

    def build(self, context: BlockContext, *, allow_empty: bool = False) -> MemoryBlock | None:
        del context, allow_empty
        self._chain.builds += 1
        return None

    def builds_from(self, milliseconds: int, *, minimum_delay: int = 0) -> int | None:
        del minimum_delay
        return milliseconds

    def verify(self, block: MemoryBlock, context: BlockContext) -> None:
        del context
        self._chain.executing.set()
        assert self._chain.may_execute.wait(60)
        if block.parent_id not in self._processing and block.parent_id != self.last_accepted():
            raise UnknownParent(block.block_id, block.parent_id)
        parent = self._processing.get(block.parent_id)
        height = self._chain.height if parent is None else parent.height
        try:
            self._chain.check_content(self._chain.parse(block.raw), height + 1)
        except BlockRejection as error:
            raise (
                OuterBlockError(OuterBlockReason.WRONG_SIGNATURE, proposer=NodeID(bytes(20)))
                if error.spoiled
                else Refused(error.reason)
            ) from error
        time.sleep(self._chain.execution)
        self._processing[block.block_id] = block

    def verify_all(self, line: Sequence[MemoryBlock], contexts: Sequence[BlockContext]) -> None:
        for one, context in zip(line, contexts, strict=True):
            self.verify(one, context)

    def options(self, block: MemoryBlock) -> tuple[MemoryBlock, MemoryBlock] | None:
        if block.kind != PROPOSAL:
            return None
        one, other = (
            self.parse(block_bytes(block.block_id, block.height + 1, text, OPTION))
            for text in OPTIONS
        )
        return one, other

    def set_preference(self, block_id: ID) -> None:
        del block_id

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        for block_id in block_ids:
            written(block_id)
            block = self._processing.pop(block_id)
            self._chain.append(block.raw)
            rivals = [item for item in self._processing.values() if item.height == block.height]
            for rival in rivals:
                self.reject(rival.block_id)
        self._chain.accepted_in.append(len(block_ids))

    def reject(self, block_id: ID) -> None:
        del self._processing[block_id]
        for item in [block for block in self._processing.values() if block.parent_id == block_id]:
            self.reject(item.block_id)


def following(producer: NodeID) -> TakePart:
    """Return a factory for the consensus of a node that follows the producer of all blocks."""

    def take_part(chain: AcceptedChain, shared: SharedParts, requests: Requests) -> Runner[Any]:
        assert isinstance(chain, MemoryChain)
        validators = CurrentValidators(
            OneValidator(producer),
            shared.bench,
            ONE_VOTE,
            own=shared.network.node_id,
            alias=chain.alias,
        )
        voted = VotedChain(
            chain.alias,
            chain.chain_id,
            MemoryVM(chain),
            shared.run,
            time.time,
            follows=True,
        )
        return Runner(
            voted,
            shared.network,
            requests,
            validators,
            budget=shared.budget,
            config=shared.config,
            parameters=ONE_VOTE,
        )

    return take_part
