"""Processing blocks of the C-Chain: executed on undecided parents, decided in any order."""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from cchain_app.blocks.accepted import AcceptedBlock, encode_block, make_block
from cchain_app.blocks.candidate import CandidateBlock, parse_block, parse_block_with_payload
from cchain_app.blocks.effects import BlockEffects, PayloadPlace
from cchain_app.blocks.errors import BlockReason, BlockRefused, TransactionRefused, UnknownParent
from cchain_app.blocks.receipt import encode_logs
from cchain_app.evm.engine import StateChanges
from cchain_app.evm.pending_state import MAX_LEVELS
from cchain_app.evm.select import has_native, select_engine, select_trie
from cchain_app.evm.trie import NodeReader, StateTrie, Tries, TrieUpdate
from cchain_app.genesis import built_in_text, load_genesis
from cchain_app.processing import BlockExecutor, EvmProcessingBlocks, VerifiedBlock
from cchain_app.rules.ethereum import NO_EXTENSION, EthereumRules, NoExtension
from cchain_app.rules.port import BlockExtension
from cchain_app.txs.transaction import InvalidTransaction, Transaction, TransactionReason
from chainvm.errors import NotProcessing
from chainvm.port import BlockContext
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.ids import ID
from tests.builders.accepted import header
from tests.builders.bytecode import COUNTER, DESTROYER, STORE, created, deploy_code, words
from tests.builders.cchain import COIN, SENDERS, MemoryState, transaction
from tests.builders.reasons import raises
from tests.builders.tries import MemoryNodes, state_from_scratch

pytestmark = pytest.mark.skipif(not has_native(), reason="the native engine was not built")

GENESIS = load_genesis(built_in_text("local"))
NOW = 1_800_000_000


@dataclass
class Stored:
    """The database contents of a chain: state and trie nodes after its head."""

    state: MemoryState = field(default_factory=MemoryState)
    nodes: MemoryNodes = field(default_factory=MemoryNodes)

    def after(self, made: VerifiedBlock) -> "Stored":
        """Return the contents after one more block, leaving this object unchanged."""
        following = Stored(self.state.copy())
        following.nodes.stored = dict(self.nodes.stored)
        following.state.apply(made.executed.changes)
        following.state.hashes[made.block.number] = made.block.hash
        following.nodes.apply(made.trie)
        return following


def _funded() -> tuple[AcceptedBlock, Stored]:
    """Return a head whose state has funded accounts and a contract."""
    stored = Stored()
    for sender in SENDERS:
        stored.state.put(sender, balance=1_000 * COIN)
    stored.state.put(Address(b"\xcc" * 20), nonce=1, code=COUNTER, storage={0: 7})
    root, nodes = state_from_scratch(stored.state.accounts, stored.state.storages)
    stored.nodes.stored = nodes
    head = make_block(
        header(0, state_root=root, timestamp=NOW - 100, gas_limit=GENESIS.gas_limit), (), ()
    )
    stored.state.hashes[0] = head.hash
    return head, stored


def _tries() -> Tries:
    return Tries(select_trie("native", cache_bytes=1 << 20), select_trie("native"))


def _processing(
    tries: Tries | None = None, extension: BlockExtension = NO_EXTENSION
) -> EvmProcessingBlocks:
    head, stored = _funded()
    executor = BlockExecutor(
        EthereumRules(GENESIS.config, GENESIS.gas_limit, extension=extension),
        select_engine("native"),
        encode_logs,
    )
    return EvmProcessingBlocks(executor, tries or _tries(), head, stored.state, stored.nodes)


def _candidate(block: AcceptedBlock) -> CandidateBlock:
    return parse_block(encode_block(block.header, [item.raw for item in block.transactions]))


def _built(blocks: EvmProcessingBlocks, *txs: Transaction, now: int = NOW) -> AcceptedBlock:
    made = blocks.build(txs, BlockContext(now), allow_empty=True).made
    assert made is not None
    return made.block


def _id(block: AcceptedBlock) -> ID:
    return ID(block.hash)


def test_a_built_block_is_verified_by_another_node() -> None:
    here, there = _processing(), _processing()
    parent = _built(here, transaction(0))
    here.prefer(_id(parent))
    child = _built(here, transaction(0, nonce=1), transaction(1))
    for block in (parent, child):
        there.verify(_candidate(block), block.transactions, BlockContext(NOW))
    found = there.get(_id(child))
    assert found is not None
    assert found.block == child
    assert [made.block for made in there.branch(_id(child))] == [parent, child]


def test_a_transaction_that_cannot_be_in_the_block_is_skipped() -> None:
    blocks = _processing()
    built = blocks.build([transaction(0, nonce=5)], BlockContext(NOW))
    assert built.made is None
    assert [item.retry for item in built.skipped] == [True]
    assert len(blocks) == 0


def test_building_twice_gives_the_block_that_is_processing() -> None:
    blocks = _processing()
    assert _built(blocks, transaction(0)) == _built(blocks, transaction(0))
    assert len(blocks) == 1


def test_siblings_have_states_of_their_own() -> None:
    blocks = _processing()
    one = _built(blocks, transaction(0))
    other = _built(blocks, transaction(0, value=2))
    balances = [blocks.state_after(_id(block)).account(SENDERS[0]) for block in (one, other)]
    assert balances[0] != balances[1]
    assert blocks.state_after(ID(blocks.head.hash)).account(SENDERS[0]).balance == 1_000 * COIN  # type: ignore[union-attr]


def test_acceptance_rejects_siblings_and_their_descendants() -> None:
    blocks = _processing()
    one = _built(blocks, transaction(0))
    other = _built(blocks, transaction(0, value=2))
    blocks.prefer(_id(other))
    child = _built(blocks, transaction(0, nonce=1))
    decision = blocks.accept([_id(one)])
    assert [made.block for made in decision.blocks] == [one]
    assert [made.block for made in decision.rejected] == [other, child]
    assert (blocks.head, blocks.preference) == (one, _id(one))
    with pytest.raises(NotProcessing):
        blocks.state_after(_id(child))


def test_an_unknown_parent_is_refused() -> None:
    here, there = _processing(), _processing()
    here.prefer(_id(_built(here, transaction(0))))
    child = _built(here, transaction(0, nonce=1))
    with pytest.raises(UnknownParent):
        there.verify(_candidate(child), child.transactions, BlockContext(NOW))
    with pytest.raises(NotProcessing):
        there.accept([_id(child)])


def test_block_with_false_header_is_refused_and_not_kept() -> None:
    block = _built(_processing(), transaction(0))
    lie = replace(block, header=replace(block.header, gas_used=1))
    there = _processing()
    with raises(BlockReason.WRONG_GAS_USED, kind=BlockRefused):
        there.verify(_candidate(lie), block.transactions, BlockContext(NOW))
    assert len(there) == 0


def test_transactions_that_cannot_be_read_are_reported_after_the_header() -> None:
    block = _built(_processing(), transaction(0))
    refusal = TransactionRefused(0, InvalidTransaction(TransactionReason.SENDER_NOT_RECOVERABLE))
    there = _processing()
    with pytest.raises(TransactionRefused):
        there.verify(_candidate(block), refusal, BlockContext(NOW))
    foreign = replace(block, transactions=(transaction(1),))
    with raises(BlockReason.WRONG_TRANSACTIONS_ROOT, kind=BlockRefused):
        there.verify(_candidate(foreign), refusal, BlockContext(NOW))


def test_a_long_undecided_line_reads_through_few_levels() -> None:
    blocks = _processing()
    for nonce in range(3 * MAX_LEVELS):
        block = _built(blocks, transaction(0, nonce=nonce))
        blocks.prefer(_id(block))
    state = blocks.state_after(blocks.preference)
    assert state.levels <= MAX_LEVELS  # type: ignore[attr-defined]
    account = state.account(SENDERS[0])
    assert account is not None
    assert account.nonce == 3 * MAX_LEVELS


class Superseded(MemoryState):
    """The state before an accepted block, which no processing block may read any longer."""

    def account(self, address: Address) -> None:
        raise AssertionError(f"account 0x{address.hex()} of a superseded state was read")


class Tree:
    """A random tree of valid blocks, decided in a random order."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.blocks = _processing()
        self.head, self.stored = _funded()
        self.blocks.reset_to(self.head, self.stored.state, self.stored.nodes)
        self.known: dict[ID, AcceptedBlock] = {}
        self.winners: list[AcceptedBlock] = []
        self.now = NOW
        self.rivals = self.restarts = 0

    def run(self, steps: int) -> None:
        actions = (
            [self.build] * 6 + [self.verify] * 2 + [self.accept] * 3 + [self.reject, self.restart]
        )
        for _ in range(steps):
            self.random.choice(actions)()

    def processing(self) -> list[AcceptedBlock]:
        return [item for item in self.known.values() if _id(item) in self.blocks]

    def build(self) -> None:
        """Build on any block; the transactions are transfers, and create, call and destroy contracts."""
        places = [_id(self.blocks.head), *map(_id, self.processing())]
        self.blocks.prefer(self.random.choice(places))
        self.now += self.random.randrange(3)
        state = self.blocks.state_after(self.blocks.preference)
        txs = []
        for sender in range(3):
            account = state.account(SENDERS[sender])
            nonce = account.nonce if account else 0
            txs += [self._transaction(sender, nonce + more) for more in range(2)]
        block = _built(self.blocks, *txs, now=self.now)
        self.known[_id(block)] = block

    def verify(self) -> None:
        """Verify a rejected or forgotten block again, if its parent is present."""
        here = {_id(self.blocks.head), *map(_id, self.processing())}
        lost = [
            item
            for item in self.known.values()
            if _id(item) not in here and ID(item.header.parent_hash) in here
        ]
        if lost:
            block = self.random.choice(lost)
            self.blocks.verify(_candidate(block), block.transactions, BlockContext(self.now))
            assert _id(block) in self.blocks

    def accept(self) -> None:
        """Accept a chain of blocks together and store the results."""
        if not self.processing():
            return
        line = [
            made.block for made in self.blocks.branch(_id(self.random.choice(self.processing())))
        ]
        decision = self.blocks.accept([_id(block) for block in line])
        self.rivals += len(decision.rejected)
        before = self.stored
        for made in decision.blocks:
            self.stored = self.stored.after(made)
        self.winners += line
        self.blocks.rebase(self.stored.state, self.stored.nodes)
        before.state.__class__ = Superseded

    def reject(self) -> None:
        if self.processing():
            self.blocks.reject(_id(self.random.choice(self.processing())))

    def restart(self) -> None:
        """Forget everything that was not stored."""
        if self.random.random() < 0.3:
            self.restarts += 1
            self.blocks.reset_to(self.blocks.head, self.stored.state, self.stored.nodes)

    def _transaction(self, sender: int, nonce: int) -> Transaction:
        made = [created(SENDERS[sender], number) for number in range(nonce)]
        some = self.random.choice([*made, Address(b"\xcc" * 20)])
        data = words(self.random.randrange(4), self.random.randrange(4))
        kinds = [
            {"to": SENDERS[self.random.randrange(5)], "value": self.random.randrange(COIN)},
            {"to": some, "data": data, "gas": 100_000, "value": 0},
            {
                "to": None,
                "data": deploy_code(self.random.choice([COUNTER, STORE, DESTROYER])),
                "gas": 200_000,
                "value": 0,
            },
        ]
        return transaction(sender, nonce=nonce, **self.random.choice(kinds))  # type: ignore[arg-type]


def _straight(line: list[AcceptedBlock], now: int) -> tuple[AcceptedBlock, Stored]:
    """Return head and state after blocks accepted one by one, without siblings."""
    head, stored = _funded()
    blocks = _processing()
    for block in line:
        blocks.reset_to(head, stored.state, stored.nodes)
        blocks.verify(_candidate(block), block.transactions, BlockContext(now))
        (made,) = blocks.accept([_id(block)]).blocks
        head, stored = made.block, stored.after(made)
    return head, stored


@pytest.mark.parametrize("seed", range(8))
def test_any_order_ends_in_the_state_of_the_winning_line(seed: int) -> None:
    tree = Tree(seed)
    tree.run(60)
    head, stored = _straight(tree.winners, tree.now)
    assert head == tree.blocks.head
    assert stored.state == tree.stored.state
    assert stored.nodes.stored == tree.stored.nodes.stored
    root, nodes = state_from_scratch(stored.state.accounts, stored.state.storages)
    assert root == head.header.state_root
    assert nodes == stored.nodes.stored


@pytest.mark.parametrize("seed", range(4))
def test_processing_blocks_equal_a_fresh_verification(seed: int) -> None:
    tree = Tree(seed)
    tree.run(50)
    for block in tree.processing():
        line = [made.block for made in tree.blocks.branch(_id(block))]
        anew = _processing()
        anew.reset_to(tree.blocks.head, tree.stored.state, tree.stored.nodes)
        for item in line:
            anew.verify(_candidate(item), item.transactions, BlockContext(tree.now))
            assert anew.get(_id(item)) == tree.blocks.get(_id(item))


def test_trees_have_rivals_and_restarts() -> None:
    trees = [Tree(seed) for seed in range(8)]
    for tree in trees:
        tree.run(60)
    assert sum(tree.rivals for tree in trees) > 10
    assert sum(tree.restarts for tree in trees) > 3
    assert max(len(tree.winners) for tree in trees) > 10


class CountingTries(Tries):
    """A pair of tries that records which of the two is used."""

    def __init__(self) -> None:
        super().__init__(select_trie("native", cache_bytes=1 << 20), select_trie("native"))
        self.asked: list[str] = []
        for name in ("cached", "uncached"):
            setattr(self, name, _Counting(getattr(self, name), name, self.asked))


class _Counting:
    def __init__(self, trie: StateTrie, name: str, asked: list[str]) -> None:
        self._trie, self._name, self._asked = trie, name, asked

    def update(self, root: Hash, changes: StateChanges, nodes: NodeReader) -> TrieUpdate:
        self._asked.append(self._name)
        return self._trie.update(root, changes, nodes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trie, name)


def test_a_line_of_blocks_has_the_cached_trie() -> None:
    tries = CountingTries()
    blocks = _processing(tries)
    for nonce in range(4):
        blocks.prefer(_id(_built(blocks, transaction(0, nonce=nonce))))
    assert tries.asked == ["cached"] * 4


def test_rivals_leave_the_cache_to_the_line_that_has_it() -> None:
    tries = CountingTries()
    blocks = _processing(tries)
    first = _built(blocks, transaction(0))
    blocks.prefer(_id(first))
    second = _built(blocks, transaction(0, nonce=1))
    blocks.prefer(ID(blocks.head.hash))
    _built(blocks, transaction(0, value=2))
    blocks.prefer(_id(second))
    _built(blocks, transaction(0, nonce=2))
    assert tries.asked == ["cached", "cached", "uncached", "cached"]


class _WithPayload(NoExtension):
    """An extension that requires a payload in blocks with extra data."""

    def verify(self, candidate: CandidateBlock, context: BlockContext) -> None:
        if candidate.header.extra_data != keccak256(candidate.payload or b""):
            raise BlockRefused(
                BlockReason.EXTRA_DATA_TOO_LONG, size=context.p_chain_height or 0, most=0
            )

    def effects(self, payload: bytes, place: PayloadPlace) -> BlockEffects:
        return BlockEffects(StateChanges(), ())


def test_a_payload_is_kept_with_the_block_and_verified_in_its_context() -> None:
    here, there = _processing(), _processing(extension=_WithPayload())
    block, payload = _built(here, transaction(0)), b"payload"
    sent = replace(block, header=replace(block.header, extra_data=keccak256(payload)))
    given = parse_block_with_payload(replace(sent, payload=payload).raw)
    there.verify(given, block.transactions, BlockContext(NOW, 9))
    found = there.get(ID(given.hash))
    assert found is not None
    assert (found.block.payload, found.block.raw) == (payload, given.raw)
    with raises(BlockReason.EXTRA_DATA_TOO_LONG, kind=BlockRefused, match="9 > 0"):
        there.verify(_candidate(block), block.transactions, BlockContext(NOW, 9))
