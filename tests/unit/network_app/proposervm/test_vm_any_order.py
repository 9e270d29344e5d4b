"""The proposer VM under events in any order: build, verify, accept, reject, restart."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chainvm.errors import UnknownParent
from chainvm.port import BlockContext
from network_app.proposervm.vm import ProposerBlock
from tests.builders.chain_vm import (
    GENESIS,
    TextBlock,
)
from tests.builders.outer_blocks import NOW
from tests.builders.proposer_vm import Setup


class AnyOrder(RuleBasedStateMachine):
    """Any tree of blocks, decided in any order: only the accepted branch has rows."""

    def __init__(self) -> None:
        super().__init__()
        self.setup = Setup()
        self.known: list[ProposerBlock[TextBlock]] = []
        self.line: list[ProposerBlock[TextBlock]] = []
        self.count = 0

    def processing(self) -> list[ProposerBlock[TextBlock]]:
        return [item for item in self.known if item.block_id in self.setup.vm]

    @rule(data=st.data(), late=st.integers(0, 3), same=st.booleans())
    def build(self, data: Any, late: int, *, same: bool) -> None:
        parents = [item.block_id for item in self.processing()] + [self.setup.vm.last_accepted()]
        self.setup.vm.set_preference(data.draw(st.sampled_from(parents)))
        self.count += not same
        self.setup.inner.waiting = [f"{self.count}"]
        block = self.setup.vm.build(BlockContext(NOW + late))
        if block is None:  # an ancestor already contains the text
            assert same
            return
        self.known.append(block)

    @precondition(lambda self: self.processing())
    @rule(data=st.data())
    def accept(self, data: Any) -> None:
        last = self.setup.vm.last_accepted()
        children = [item for item in self.processing() if item.parent_id == last]
        block = data.draw(st.sampled_from(children))
        assert self.setup.accept(block) == [block.block_id]
        self.line.append(block)

    @precondition(lambda self: self.processing())
    @rule(data=st.data())
    def reject(self, data: Any) -> None:
        self.setup.vm.reject(data.draw(st.sampled_from(self.processing())).block_id)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def verify_again(self, data: Any) -> None:
        block = data.draw(st.sampled_from(self.known))
        known = {item.block_id for item in self.processing()} | {self.setup.vm.last_accepted()}
        if block.parent_id in known:
            self.setup.vm.verify(self.setup.vm.parse(block.raw), BlockContext(NOW + 3))
            assert block.block_id in self.setup.vm
        elif block.block_id not in known:
            with pytest.raises(UnknownParent):
                self.setup.vm.verify(block, BlockContext(NOW + 3))

    @rule()
    def restart(self) -> None:
        self.setup.restart()

    @invariant()
    def rows_are_the_line(self) -> None:
        assert [block.outer_id for block in self.setup.rows.blocks] == [
            other.block_id for other in self.line
        ]
        assert self.setup.inner.accepted[1:] == [item.inner for item in self.line]
        last = self.line[-1].block_id if self.line else GENESIS.block_id
        assert self.setup.vm.last_accepted() == last


TestAnyOrder = AnyOrder.TestCase
