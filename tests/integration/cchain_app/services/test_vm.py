"""The C-Chain behind the VM port: blocks are verified on processing parents, and written when accepted.

Two chains with the same genesis use two databases. One accepts blocks out of random trees in any order; the other
one accepts the same blocks directly.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import OperationalError, connections

from cchain_app import models
from cchain_app.blocks.candidate import EvmBlock, evm_block, parse_block
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.chain import EvmChain
from cchain_app.evm.trie import TrieError
from cchain_app.genesis import built_in_text
from cchain_app.selectors import blocks, pool
from cchain_app.selectors.state import StateAt
from cchain_app.services import admissions, transactions
from cchain_app.services.genesis import load_genesis
from cchain_app.services.runtime import EvmRuntime
from cchain_app.services.vm import EvmVM
from chaindb.database import Database
from chainvm.errors import InvalidBlock, NotProcessing, UnknownParent
from chainvm.port import BlockContext, ChainVM, HeadMoved
from primitives.ids import ID
from tests.builders.decided import accept_evm
from tests.builders.evm_chains import another_process, produce
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.builders.transactions import RECIPIENT, signed
from tests.integration.cchain_app.followed import forged
from tests.integration.recomputed import assert_recomputes
from tests.searching import seeds

ALIASES = ("default", "second")

pytestmark = pytest.mark.django_db(transaction=True, databases=ALIASES)

POOL = {"cchain_app_pooltransaction"}
"""Tables of pending data, not of accepted data."""


@dataclass
class Side:
    """A chain and its VM."""

    runtime: EvmRuntime
    written: list[ID] = field(default_factory=list)
    nonce: int = 0

    @property
    def chain(self) -> EvmChain:
        return self.runtime.chain

    def __post_init__(self) -> None:
        self.genesis = load_genesis(self.chain)
        self.vm = EvmVM(self.chain)
        self.now = self.genesis.header.timestamp

    def restart(self) -> None:
        """Clear everything that is only in memory."""
        self.chain.__dict__.pop("memory", None)
        self.chain.__dict__.pop("trie", None)
        self.vm = EvmVM(self.chain)

    def send(self, count: int = 1, **fields: object) -> None:
        """Put the next transactions of the well-known account into the pool."""
        for _ in range(count):
            (outcome,) = transactions.submit(self.runtime, [signed(nonce=self.nonce, **fields).raw])
            assert not isinstance(outcome, Exception)
            self.nonce += 1

    def build(self) -> EvmBlock | None:
        self.now += 1
        return self.vm.build(BlockContext(self.now))

    def built(self) -> EvmBlock:
        block = self.build()
        assert block is not None
        return block

    def accept(self, *accepted: EvmBlock) -> None:
        self.vm.accept([item.block_id for item in accepted], written=self.written.append)


@pytest.fixture
def sides() -> Iterator[tuple[Side, Side]]:
    node = updated(settings.NODE, mining="manual")
    # The genesis of the local network would have the time of its first start.
    document = json.loads(built_in_text("local")) | {"timestamp": hex(1_700_000_000)}
    text = json.dumps(document).encode()
    first, second = (
        Side(
            EvmRuntime(
                EvmChain(
                    node.common,
                    node.cchain,
                    Database(alias),
                    aliases=(f"C{place}",),
                    genesis_file=lambda: text,
                )
            )
        )
        for place, alias in enumerate(ALIASES)
    )
    yield first, second
    for side in (first, second):
        assert_recomputes(side.chain)


def rows(alias: str) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of the chain, by table; keys of past trie nodes only count insertions, and are left out."""
    found = {}
    with connections[alias].cursor() as cursor:
        for model in apps.get_app_config("cchain_app").get_models():
            table = model._meta.db_table
            first = 1 if model is models.TrieNodeChange else 0
            columns = [f'"{one.column}"' for one in model._meta.concrete_fields[first:]]
            if table not in POOL:
                cursor.execute(f"SELECT {', '.join(columns)} FROM {table}")  # the model's own names
                listed = (tuple(map(_plain, row)) for row in cursor.fetchall())
                found[table] = sorted(listed, key=repr)
    return found


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value


def test_vm_implements_the_consensus_port(sides: tuple[Side, Side]) -> None:
    vm: ChainVM[EvmBlock] = sides[0].vm
    genesis = vm.get_block(vm.last_accepted())
    assert genesis is not None
    assert genesis.height == 0
    assert vm.get_block_id_at_height(0) == genesis.block_id
    assert vm.get_block_id_at_height(1) is None
    assert vm.get_block(ID(bytes(32))) is None
    assert vm.options(genesis) is None
    assert vm.parse(genesis.raw) == genesis


def test_nothing_is_built_where_nothing_waits(sides: tuple[Side, Side]) -> None:
    assert sides[0].build() is None


def test_a_processing_block_is_nowhere_but_in_memory(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    before = rows("default")
    side.send()
    block = side.built()
    assert side.vm.get_block(block.block_id) == block
    assert side.vm.get_block_id_at_height(1) is None
    assert blocks.catch_up(side.chain).number == 0
    assert rows("default") == before
    side.accept(block)
    assert side.written == [block.block_id]
    assert side.vm.last_accepted() == block.block_id
    assert blocks.head(side.chain).number == 1
    assert pool.counts(side.chain) == (0, 0)


def test_a_line_is_built_on_undecided_blocks_and_accepted_at_once(
    sides: tuple[Side, Side],
) -> None:
    side, other = sides
    line = []
    for _ in range(3):
        side.send(2, value=1)
        line.append(side.built())
        side.vm.set_preference(line[-1].block_id)
    assert [item.height for item in line] == [1, 2, 3]
    for block in line:
        other.vm.verify(other.vm.parse(block.raw), BlockContext(side.now))
    for value in (side, other):
        value.accept(*line)
        assert value.written == [block.block_id for block in line]
    assert rows("default") == rows("second")


def test_transactions_of_processing_ancestors_are_not_built_again(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    side.send()
    first = side.built()
    side.vm.set_preference(first.block_id)
    assert side.build() is None
    side.send()
    assert side.built().parent_id == first.block_id


def test_transactions_of_a_rejected_block_return_to_the_pool(sides: tuple[Side, Side]) -> None:
    side, other = sides
    sent = signed(nonce=0, value=7)
    transactions.submit(other.runtime, [sent.raw])
    rival = other.built()
    side.vm.verify(side.vm.parse(rival.raw), BlockContext(side.now + 5))
    side.now += 1
    empty = side.vm.build(BlockContext(side.now + 1), allow_empty=True)
    assert empty is not None
    assert pool.counts(side.chain) == (0, 0)
    side.accept(empty)
    assert pool.counts(side.chain) == (1, 0)
    with pytest.raises(NotProcessing):
        side.vm.reject(rival.block_id)


def test_acceptance_succeeds_if_rejected_transactions_are_not_pooled(
    sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    side, other = sides
    transactions.submit(other.runtime, [signed(nonce=0, value=7).raw])
    rival = other.built()
    side.vm.verify(side.vm.parse(rival.raw), BlockContext(side.now + 5))
    side.now += 1
    empty = side.vm.build(BlockContext(side.now + 1), allow_empty=True)
    assert empty is not None
    monkeypatch.setattr(admissions, "add_to_pool", no_database)
    side.accept(empty)
    assert side.vm.last_accepted() == empty.block_id
    assert "not in the mempool: 1 transaction of rejected blocks" in caplog.text


def no_database(*_arguments: Any, **_options: Any) -> None:
    raise OperationalError("database is locked")


def test_only_a_whole_line_is_accepted(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    side.send()
    first = side.built()
    side.vm.set_preference(first.block_id)
    side.send()
    second = side.built()
    before = rows("default")
    with pytest.raises(NotProcessing):
        side.accept(second)
    assert rows("default") == before
    assert blocks.catch_up(side.chain).number == 0
    side.vm.verify(first, BlockContext(side.now))
    side.vm.verify(second, BlockContext(side.now))
    side.accept(first, second)


def test_failure_beside_a_block_rolls_it_back(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    side.send()
    block = side.built()
    before = rows("default")

    def fail(block_id: ID) -> None:
        raise OSError(block_id)

    with pytest.raises(OSError, match=str(block.block_id)):
        side.vm.accept([block.block_id], written=fail)
    assert rows("default") == before
    assert side.vm.last_accepted() == ID(side.genesis.hash)
    assert pool.counts(side.chain) == (1, 0)
    side.accept(side.built())


def test_block_accepted_by_another_process_is_noticed(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    side.send()
    block = side.built()
    made = produce(side.runtime, now=side.now + 1)
    assert made is not None
    assert side.vm.last_accepted() == ID(made.hash)
    with pytest.raises(NotProcessing):
        side.accept(block)


def line_of(side: Side, length: int) -> list[EvmBlock]:
    """Build a chain of blocks with one transfer each."""
    line = []
    for _ in range(length):
        side.send(value=1)
        line.append(side.built())
        side.vm.set_preference(line[-1].block_id)
    return line


def test_a_line_is_verified_as_a_whole_or_not_at_all(
    sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    side, other = sides
    good = [side.vm.parse(element.raw) for element in line_of(other, 3)]
    bad = evm_block(forged(good[2].candidate(parse_block), gas_used=1))
    recovered, submitted = [], []
    recover = side.chain.recover_senders
    monkeypatch.setattr(
        side.chain, "recover_senders", lambda seen: recovered.append(len(seen)) or recover(seen)
    )
    monkeypatch.setattr(transactions, "submit", lambda *given, **_: submitted.append(given))

    with raises(BlockReason.WRONG_GAS_USED, kind=BlockRefused) as refused:
        side.vm.verify_all([*good[:2], bad], [BlockContext(side.now + 5)] * 3)
    assert (refused.value.height, refused.value.block_id) == (3, ID(bad.hash))
    assert not any(is_processing(side.vm, value) for value in [*good, bad])
    with pytest.raises(UnknownParent) as orphaned:
        side.vm.verify_all([good[0], good[2]], [BlockContext(side.now + 5)] * 2)
    assert (orphaned.value.height, orphaned.value.block_id) == (3, good[2].block_id)
    assert str(orphaned.value).endswith(f": the head is 0x{good[0].hash.hex()}")
    assert not is_processing(side.vm, good[0])

    side.vm.verify(good[0], BlockContext(side.now + 5))
    with raises(BlockReason.WRONG_GAS_USED, kind=BlockRefused):
        side.vm.verify_all([*good[:2], bad], [BlockContext(side.now + 5)] * 3)
    assert [is_processing(side.vm, item) for item in good] == [True, False, False]
    side.vm.verify_all(good, [BlockContext(side.now + 5)] * len(good))
    assert all(is_processing(side.vm, entry) for entry in good)
    assert recovered == [3, 1, 2, 2]
    assert not submitted


def test_transactions_of_an_own_rejected_block_are_still_pooled(
    sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    side = sides[0]
    side.send(3)
    block = side.built()
    submitted: list[object] = []
    monkeypatch.setattr(transactions, "submit", lambda *given, **_: submitted.append(given))

    side.vm.reject(block.block_id)

    assert not submitted
    assert pool.counts(side.chain) == (3, 0)
    assert side.built().header.transactions_root == block.header.transactions_root


def test_nodes_of_a_newer_state_say_that_another_process_was_faster(
    sides: tuple[Side, Side],
) -> None:
    side = sides[0]
    side.send(value=1)
    side.restart()  # the trie's cache is empty
    genesis = side.vm.last_accepted()
    made = produce(another_process(side.chain), now=side.now + 1)
    assert made is not None
    assert side.vm.get_block_id_at_height(1) is None

    with pytest.raises(HeadMoved):
        side.vm.build(BlockContext(side.now + 2), allow_empty=True)

    assert genesis != side.vm.last_accepted() == ID(made.hash)
    side.send(value=2)
    assert side.built().height == 2


def test_damaged_trie_node_is_not_reported_as_moved_head(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    side.send()
    side.restart()
    node = models.TrieNode.objects.get(key=b"a")
    models.TrieNode.objects.filter(key=node.key).delete()

    with pytest.raises(TrieError, match="is not stored"):
        side.build()

    node.save(force_insert=True)
    side.accept(side.built())


def test_a_parent_that_another_process_has_accepted_is_found(sides: tuple[Side, Side]) -> None:
    side, other = sides
    line = line_of(other, 2)
    assert side.vm.last_accepted() == ID(side.genesis.hash)
    elsewhere = another_process(side.chain)
    accept_evm(elsewhere, [line[0].candidate(parse_block)], now=side.now + 5)

    side.vm.verify(line[1], BlockContext(side.now + 5))

    assert is_processing(side.vm, line[1])


def test_decided_blocks_leave_memory(sides: tuple[Side, Side]) -> None:
    """The tree lives as long as the process: on a long chain it holds only the head and its possible children."""
    side = sides[0]
    for _ in range(12):
        side.send(value=1)
        assert produce(side.runtime, now=side.now) is not None
    side.send(value=1)
    vm = side.runtime.vm
    assert isinstance(vm, EvmVM)
    waiting = vm.build(BlockContext(side.now))
    assert waiting is not None
    assert produce(side.runtime, now=side.now + 1) is not None  # a competing block
    tree = vm._known
    assert tree is not None
    assert (len(tree), tree._superseded, vm._built) == (0, [], {})
    assert isinstance(tree.state_after(vm.last_accepted()), StateAt)


def test_a_block_that_breaks_a_rule_is_not_processing(sides: tuple[Side, Side]) -> None:
    side, other = sides
    other.send()
    good = other.built()
    with raises(BlockReason.BLOCK_ENCODING, kind=BlockRefused):
        side.vm.parse(good.raw[:-1])
    orphan = side.vm.parse(good.raw.replace(good.header.parent_hash, bytes(31) + b"\x01", 1))
    with pytest.raises(InvalidBlock):
        side.vm.verify(orphan, BlockContext(side.now + 5))
    assert side.vm.get_block(orphan.block_id) is None


@pytest.mark.parametrize("seed", seeds(6, thorough=200))
def test_any_order_ends_in_the_rows_of_the_winning_line(
    sides: tuple[Side, Side], seed: int
) -> None:
    """Accept and reject blocks of a random tree in random order; then accept the same branch directly."""
    side, other = sides
    random = Random(seed)
    known: dict[ID, EvmBlock] = {}
    accepted: list[EvmBlock] = []

    def processing() -> list[EvmBlock]:
        return [item for item in known.values() if is_processing(side.vm, item)]

    def build() -> None:
        if side.nonce < 40:
            side.send(random.randint(1, 3), value=random.randint(0, 9), to=RECIPIENT)
        parents = [item.block_id for item in processing()] + [side.vm.last_accepted()]
        side.vm.set_preference(random.choice(parents))
        block = side.build()
        if block is not None:
            known[block.block_id] = block

    def accept() -> None:
        last = side.vm.last_accepted()
        assert last == (accepted[-1].block_id if accepted else ID(side.genesis.hash))
        children = [block for block in processing() if block.parent_id == last]
        if children:
            accepted.append(random.choice(children))
            side.accept(accepted[-1])

    def reject() -> None:
        if waiting := processing():
            side.vm.reject(random.choice(waiting).block_id)

    def verify_again() -> None:
        for block in list(known.values()):
            parent = block.parent_id
            if parent == side.vm.last_accepted() or (
                parent in known and is_processing(side.vm, known[parent])
            ):
                side.vm.verify(side.vm.parse(block.raw), BlockContext(side.now))

    steps: list[Callable[[], None]] = [build] * 5 + [accept] * 3 + [reject, verify_again]
    for _ in range(30):
        random.choice([*steps, side.restart])()
    other.now = side.now
    candidates = [parse_block(entry.raw) for entry in accepted]
    accept_evm(other.runtime, candidates, now=side.now)
    assert [item.block_id for item in accepted] == side.written
    assert rows("default") == rows("second")


def is_processing(vm: EvmVM, block: EvmBlock) -> bool:
    """Return whether a block is processing (verified and not decided)."""
    found = vm.get_block(block.block_id)
    return found is not None and vm.get_block_id_at_height(block.height) != block.block_id
