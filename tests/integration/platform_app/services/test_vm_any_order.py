"""Any tree of valid blocks in any order ends in the same rows as accepting the winning branch directly.

Two chains with the same genesis use two databases. One accepts blocks out of random trees of blocks with all kinds of
transactions; the other one accepts the same blocks directly.
"""

from collections.abc import Callable
from random import Random

import pytest

from platform_app.blocks.block import AbortBlock, Block, CommitBlock, OptionBlock
from platform_app.models import ValidatorUptime
from platform_app.services import mempool
from platform_app.services.vm import parse_block
from platform_app.state.stakers import Priority
from platform_app.store import blocks
from primitives.ids import ID
from tests.builders.decided import accept_platform
from tests.builders.platform_random import History
from tests.integration.platform_app.sides import ALIASES, Side, sides
from tests.searching import seeds

__all__ = ["sides"]

pytestmark = [pytest.mark.sqlite_only, pytest.mark.django_db(transaction=True, databases=ALIASES)]

STEPS = 60


class Tree:
    """Makes a node build, verify, accept, reject and restart at random."""

    def __init__(self, side: Side, seed: int) -> None:
        self.side = side
        self.random = Random(seed)
        self.history: History = side.history(seed)
        self.known: dict[ID, Block] = {}
        """All blocks that were ever processing."""
        self.line: list[Block] = []
        """The accepted blocks; after a restart only those that are stored."""
        self.seen: set[type[Block]] = set()
        self.rejected = 0

    def run(self, steps: int) -> None:
        actions: list[Callable[[], None]] = [self.build] * 6 + [self.accept] * 4
        actions += [self.reject, self.verify_again, self.restart]
        for _ in range(steps):
            self.random.choice(actions)()
            assert self.side.vm._tree.state.place == blocks.read(self.side.chain.db)
            assert self.side.vm.last_accepted() == self._last().block_id

    def finish(self) -> None:
        """Decide the proposal that waits for its option, if any."""
        if self._last().proposal is not None:
            self._decide()

    def build(self) -> None:
        """Issue transactions, and build on a random block; verify the options of a proposal."""
        history, side = self.history, self.side
        history.pass_time()
        side.now = max(side.now, history.now)
        mempool.issue(side.chain, history.txs(3), now=side.now, gossiped=True)
        parents = [None, *self._processing()]
        block = side.build(on=self.random.choice(parents))
        if block is None:
            return
        self.known[block.block_id] = block
        options = side.vm.options(block) or ()
        for option in options:
            side.verify(option)
            self.known[option.block_id] = option

    def accept(self) -> None:
        """Accept a child of the last accepted block, and possibly also a child of that child."""
        children = self._children(self._last())
        if not children:
            return
        line = [self.random.choice(children)]
        after = self._children(line[0])
        if after and self.random.random() < 0.6:
            line.append(self.random.choice(after))
        self._accept(*line)

    def reject(self) -> None:
        """Reject a random block, but no option: one of an accepted proposal's options must remain."""
        chosen = [block for block in self._processing() if not isinstance(block, OptionBlock)]
        if chosen:
            self.side.vm.reject(self.random.choice(chosen).block_id)

    def verify_again(self) -> None:
        """Verify again all blocks that were lost and whose parent is known."""
        for block in list(self.known.values()):
            if self.side.vm.get_block(block.parent_id) in (self._last(), *self._processing()):
                self.side.verify(block)

    def restart(self) -> None:
        """Clear everything that is only in memory."""
        self.side.restart()
        if self.line and self.line[-1].proposal is not None:
            self.line.pop()

    def _decide(self) -> None:
        options = self.side.vm.options(self._last())
        assert options is not None
        chosen = self.random.choice(options)
        self.side.verify(chosen)
        self._accept(chosen)

    def _accept(self, *line: Block) -> None:
        before = len(self._processing())
        self.side.accept(*line)
        self.rejected += before - len(line) - len(self._processing())
        self.line += line
        self.seen |= {type(item) for item in line}
        if line[-1].proposal is None:
            history = self.side.history()
            self.history.state = history.state
            self._let_some_be_offline()

    def _let_some_be_offline(self) -> None:
        for staker in self.history.state.stakers.values():
            if staker.priority is Priority.PRIMARY_VALIDATOR_CURRENT and staker.tx_id[0] % 2:
                ValidatorUptime.objects.filter(staker=staker.tx_id).update(
                    up_duration=0, last_updated=staker.end
                )

    def _last(self) -> Block:
        return self.line[-1] if self.line else self.side.genesis

    def _processing(self) -> list[Block]:
        accepted = {item.block_id for item in self.line}
        return [
            other
            for other in self.known.values()
            if other.block_id not in accepted and self.side.vm.get_block(other.block_id)
        ]

    def _children(self, parent: Block) -> list[Block]:
        return [block for block in self._processing() if block.parent_id == parent.block_id]


@pytest.mark.parametrize("seed", seeds(8, thorough=200))
def test_any_order_ends_in_the_rows_of_the_winning_line(
    sides: tuple[Side, Side], seed: int
) -> None:
    side, other = sides
    tree = Tree(side, seed)
    tree.run(STEPS)
    tree.finish()
    line = [parse_block(entry.raw) for entry in tree.line]
    accept_platform(other.runtime, line, now=side.now + 9)
    assert [item.block_id for item in tree.line] == side.written
    assert side.chain.tip() == other.chain.tip()
    assert side.rows() == other.rows()


def test_random_trees_have_rivals_and_both_options(sides: tuple[Side, Side]) -> None:
    tree = Tree(sides[0], 1)
    tree.run(4 * STEPS)
    assert tree.rejected > 5
    assert any(issubclass(other, CommitBlock) for other in tree.seen)
    assert any(issubclass(item, AbortBlock) for item in tree.seen)
