"""Blocks of other nodes: executing them creates the same rows as at the node that built them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cchain_app import models, notifications
from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.evm.select import select_engine, select_trie
from cchain_app.evm.trie import TrieError
from cchain_app.processing import BlockExecutor
from cchain_app.selectors import blocks, pool
from cchain_app.selectors.state import state_at
from cchain_app.services import transactions as submitting
from cchain_app.services import vm
from cchain_app.store.chain import load_block
from cchain_app.txs.transaction import SET_CODE, Transaction
from chaindb.events import ChainEvents, Message
from chainvm.errors import UnknownParent
from chainvm.port import HeadMoved
from primitives.evm import Address
from primitives.hexadecimal import encode_data
from primitives.ids import ID
from tests.builders import bytecode
from tests.builders.cchain import JUNK_KEYS, SENDERS, authorization
from tests.builders.evm_chains import another_process, produce
from tests.builders.node_settings import updated
from tests.builders.transactions import KEY, RECIPIENT, SENDER, legacy, signed
from tests.integration.cchain_app.followed import dump, follow, forged, genesis_without, rewind
from tests.integration.conftest import Chain, Rpc
from tests.searching import cases

STORE, LOGGER, FACTORY = (bytecode.created(SENDER, nonce) for nonce in range(3))
DESTROYER_INIT = bytecode.deploy_code(
    bytecode.DESTROYER, before=bytecode.assemble("9 3 SSTORE 8 2 SSTORE")
)
DESTROYER = bytecode.created2(FACTORY, 0, DESTROYER_INIT)


def deploy(chain: Chain) -> None:
    """Make a block with the contracts that later transactions call."""
    for code in (bytecode.STORE, bytecode.LOGGER, bytecode.FACTORY):
        chain.send(chain.make(to=None, data=bytecode.deploy_code(code), gas=500_000, value=0))
    chain.mine()


def called(chain: Chain, to: Address, data: bytes, **fields: Any) -> Transaction:
    return chain.make(to=to, data=data, gas=900_000, value=0, **fields)


def history(chain: Chain) -> None:
    """Make blocks of every kind: contracts, logs, slots set and cleared, delegations, failures."""
    deploy(chain)
    chain.send(
        called(chain, STORE, bytecode.words(1, 5)),
        called(chain, STORE, bytecode.words(2, 6)),
        called(chain, LOGGER, b"\x2a"),
        legacy(key=JUNK_KEYS[0], max_fee_per_gas=50 * 10**9, max_priority_fee_per_gas=50 * 10**9),
    )
    chain.mine()
    chain.mine()
    chain.send(
        called(chain, STORE, bytecode.words(1, 0)),
        called(chain, FACTORY, bytecode.words(0) + DESTROYER_INIT),
        called(chain, STORE, b"", max_priority_fee_per_gas=0),
        chain.make(to=None, data=bytecode.assemble("0 0 REVERT"), gas=100_000, value=0),
    )
    chain.mine()
    chain.send(
        called(chain, DESTROYER, bytecode.words(RECIPIENT)),
        signed(
            key=JUNK_KEYS[1],
            type=SET_CODE,
            gas=200_000,
            authorizations=(authorization(2, STORE, 0),),
        ),
    )
    chain.mine()
    chain.send(called(chain, SENDERS[2], bytecode.words(3, 4)), chain.make(value=77))
    chain.mine()


@pytest.fixture
def told(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int | None]]:
    """Heights announced to followers, each with the height of this process's memory at that time."""
    heard: list[tuple[int, int | None]] = []

    def hear(_events: ChainEvents, _chain: str, message: Message) -> None:
        head = evm_chain().memory.blocks.head
        assert head is not None
        if message["type"] == notifications.HEAD:
            heard.append((message["number"], head.number))

    monkeypatch.setattr(ChainEvents, "send", hear)  # of each node, as `rewind` makes a new one
    return heard


@pytest.mark.parametrize("together", [1, 2, 4, 100])
def test_followed_blocks_write_the_same_rows(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    history(chain)
    made = dump()
    candidates = rewind(monkeypatch)
    assert models.Block.objects.count() == 1

    for start in range(0, len(candidates), together):
        follow(*candidates[start : start + together])

    assert dump() == made
    assert len(made["Log"]) == 2
    assert blocks.head(evm_chain()) == load_block(
        evm_chain().db, len(candidates), evm_chain().format
    )


@pytest.mark.parametrize(("maker", "follower"), [("native", "reference"), ("reference", "native")])
def test_engines_follow_each_other(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, node_settings: Any, maker: str, follower: str
) -> None:
    engines = {name: select_engine(name) for name in (maker, follower)}
    tries = {name: select_trie(name, cache_bytes=1 << 20) for name in (maker, follower)}
    monkeypatch.setattr(evm_chain(), "engine", engines[maker])
    monkeypatch.setattr(evm_chain(), "trie", tries[maker])
    history(chain)
    made = dump()
    monkeypatch.undo()
    candidates = rewind(monkeypatch)
    monkeypatch.setattr(evm_chain(), "engine", engines[follower])
    monkeypatch.setattr(evm_chain(), "trie", tries[follower])

    follow(*candidates[:3])
    follow(*candidates[3:])

    assert dump() == made


@pytest.fixture
def before_cancun(tmp_path: Path, settings: Any, node_settings: Any) -> None:
    """A genesis file with Shanghai's rules, under which SELFDESTRUCT clears a contract's storage."""
    path = tmp_path / "genesis.json"
    path.write_text(genesis_without("cancunTime", "pragueTime", "blobSchedule"))
    settings.NODE = updated(settings.NODE, genesis=str(path))


@pytest.mark.parametrize("together", [1, 3, 100])
def test_destroyed_storage_is_empty_in_the_next_block(
    before_cancun: None, chain: Chain, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    deploy(chain)
    for data, to in (
        (bytecode.words(0) + DESTROYER_INIT, FACTORY),
        (bytecode.words(RECIPIENT), DESTROYER),
        (bytecode.words(0) + DESTROYER_INIT, FACTORY),
        (bytecode.words(RECIPIENT), DESTROYER),
    ):
        chain.send(called(chain, to, data))
        chain.mine()
    made = dump()
    candidates = rewind(monkeypatch)

    for start in range(0, len(candidates), together):
        follow(*candidates[start : start + together])

    assert dump() == made
    assert not models.StorageSlot.objects.filter(key__gte=bytes(DESTROYER)).filter(
        key__lt=bytes(DESTROYER) + b"\xff" * 33
    )


_kinds = st.sampled_from(
    ["transfer", "store", "clear", "log", "create", "destroy", "delegate", "fail", "late"]
)
_blocks = st.lists(
    st.lists(st.tuples(_kinds, st.integers(0, 2), st.integers(0, 3)), max_size=4), max_size=6
)


def _drawn(kind: str, sender: int, number: int, nonce: int) -> Transaction:
    key = (KEY, *JUNK_KEYS)[sender]
    fields: dict[str, Any] = {"key": key, "nonce": nonce, "gas": 600_000, "value": 0}
    calls: dict[str, dict[str, Any]] = {
        "transfer": {"to": RECIPIENT, "value": number},
        "store": {"to": STORE, "data": bytecode.words(number, number + 1)},
        "clear": {"to": STORE, "data": bytecode.words(number, 0)},
        "log": {"to": LOGGER, "data": bytes(number)},
        "create": {"to": FACTORY, "data": bytecode.words(number) + DESTROYER_INIT},
        "destroy": {
            "to": bytecode.created2(FACTORY, number, DESTROYER_INIT),
            "data": bytecode.words(RECIPIENT),
        },
        "delegate": {
            "type": SET_CODE,
            "authorizations": (authorization(3 + number % 2, STORE, 0),),
        },
        "fail": {"to": FACTORY, "gas": 30_000 + number},
        "late": {"to": RECIPIENT, "nonce": nonce + 1},
    }
    return signed(**{**fields, **calls[kind]})


@hypothesis_settings(
    max_examples=cases(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(drawn=_blocks, sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_any_blocks_that_were_made_are_followed_to_the_same_rows(
    chain: Chain,
    monkeypatch: pytest.MonkeyPatch,
    drawn: list[list[tuple[str, int, int]]],
    sizes: list[int],
) -> None:
    rewind(monkeypatch)
    chain.nonce = 0
    deploy(chain)
    for actions in drawn:
        for kind, sender, number in actions:
            account = (SENDER, *SENDERS)[sender]
            submitting.submit(
                evm_runtime(),
                [_drawn(kind, sender, number, pool.next_nonce(evm_chain(), account)).raw],
            )
        chain.mine()
    made = dump()
    waiting = rewind(monkeypatch)

    while waiting:
        for size in sizes:
            follow(*waiting[:size])
            del waiting[:size]

    assert dump() == made


def test_a_block_is_followed_as_it_was_made(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, told: list[tuple[int, int | None]]
) -> None:
    made = [chain.do(value=value)[1] for value in (1, 2, 3)]
    told.clear()
    candidates = rewind(monkeypatch)

    assert follow(*candidates) == made
    assert told == [(3, 3)]
    assert evm_chain().memory.state.number == 3
    for block in made:
        assert blocks.by_hash(evm_chain(), block.hash) == block
    assert follow() == []


def test_rows_of_a_block_are_written_in_its_transaction(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in (1, 2, 3):
        chain.do(value=value)
    candidates = rewind(monkeypatch)
    seen = []

    def look(block: Any) -> None:
        memory = evm_chain().memory.blocks.head
        seen.append((block.height, models.Block.objects.count(), memory and memory.number))

    follow(*candidates, written=look)

    assert seen == [(1, 1, 0), (2, 1, 0), (3, 1, 0)]


def test_failure_in_a_block_rolls_back_the_whole_call(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, told: list[tuple[int, int | None]]
) -> None:
    sent = [chain.do(value=value)[0] for value in (1, 2)]
    made = dump()
    candidates = rewind(monkeypatch)
    chain.send(*sent)
    before, waiting = dump(), models.PoolTransaction.objects.count()
    told.clear()

    def fail(block: Any) -> None:
        if block.height == 2:
            raise ConnectionError("the disk is full")

    with pytest.raises(ConnectionError, match="the disk is full"):
        follow(*candidates, written=fail)

    assert (dump(), models.PoolTransaction.objects.count()) == (before, waiting)
    assert (blocks.head(evm_chain()).number, told) == (0, [])
    follow(*candidates)
    assert dump() == made


def test_transaction_mined_elsewhere_leaves_the_pool(
    chain: Chain, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    mined, _ = chain.do(value=1)
    chain.do(value=2)
    candidates = rewind(monkeypatch)
    replaced = signed(nonce=1, value=9)
    follower = signed(nonce=2, value=3)
    poor = signed(key=JUNK_KEYS[0], nonce=3)
    chain.send(mined, replaced, follower, poor)
    assert rpc("txpool_status") == {"pending": "0x3", "queued": "0x1"}

    follow(*candidates)

    left = [row.hash for row in models.PoolTransaction.objects.order_by("id")]
    assert left == [follower.hash, poor.hash]
    assert rpc("txpool_status") == {"pending": "0x1", "queued": "0x1"}
    assert pool.next_nonce(evm_chain(), SENDER) == 3
    assert rpc("eth_getTransactionByHash", encode_data(mined.hash))["blockNumber"] == "0x1"
    assert rpc("eth_getTransactionByHash", encode_data(replaced.hash)) is None
    assert evm_chain().memory.transactions.get(mined.hash) is None


def test_production_continues_after_followed_blocks(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(chain)
    candidates = rewind(monkeypatch)

    follow(*candidates[:4])
    chain.send(signed(nonce=10, value=5))
    chain.mine()

    assert blocks.head(evm_chain()).number == 5
    account = state_at(evm_chain(), 5).account(SENDER)
    assert account is not None
    assert account.nonce == 11


def test_senders_of_waiting_transactions_are_not_recovered_again(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = chain.do(value=1)
    second, _ = chain.do(value=2)
    candidates = rewind(monkeypatch)
    chain.send(first)
    asked: list[int] = []
    recover = evm_chain().recover_senders

    def count(digests: Any) -> Any:
        asked.append(len(digests))
        return recover(digests)

    monkeypatch.setattr(evm_chain(), "recover_senders", count)
    follow(*candidates)

    assert asked == [1]
    assert blocks.find_transaction(evm_chain(), second.hash) is not None


def test_a_block_that_was_accepted_already_does_not_follow_the_head(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.do()
    chain.do()
    candidates = rewind(monkeypatch)
    follow(candidates[0])

    with pytest.raises(UnknownParent) as caught:
        follow(*candidates)

    assert (caught.value.height, caught.value.block_id) == (1, ID(candidates[0].hash))
    assert blocks.head(evm_chain()).number == 1


@pytest.fixture
def another(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[CandidateBlock]]:
    """Another node's block, on the same parent on which this node makes its own."""
    chain.do(value=1)
    yield rewind(monkeypatch)
    assert blocks.catch_up(evm_chain()).number == 1
    assert models.Block.objects.count() == 2


def test_followed_block_beside_an_own_block_is_refused(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, another: list[CandidateBlock]
) -> None:
    accept = vm.accept

    def overtaken(*arguments: Any, **more: Any) -> None:
        monkeypatch.setattr(vm, "accept", accept)
        # Between execution and commit.
        produce(another_process(evm_chain()), now=chain.now + 9, allow_empty=True)
        accept(*arguments, **more)

    monkeypatch.setattr(vm, "accept", overtaken)
    with pytest.raises(HeadMoved):
        follow(*another)

    assert blocks.catch_up(evm_chain()).hash != another[0].hash


def test_block_overtaken_during_execution_is_refused(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, another: list[CandidateBlock]
) -> None:
    execute = BlockExecutor.execute

    def overtaken(*arguments: Any, **more: Any) -> Any:
        monkeypatch.setattr(BlockExecutor, "execute", execute)
        executed = execute(*arguments, **more)
        produce(another_process(evm_chain()), now=chain.now + 9, allow_empty=True)
        return executed

    monkeypatch.setattr(BlockExecutor, "execute", overtaken)
    with pytest.raises(HeadMoved):
        follow(*another)


def test_damaged_rows_are_not_the_blocks_fault(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.do()
    candidates = rewind(monkeypatch)
    node = models.TrieNode.objects.get(key=b"a")
    models.TrieNode.objects.all().delete()

    with pytest.raises(TrieError, match="is not stored"):
        follow(*candidates)

    node.save(force_insert=True)
    assert blocks.head(evm_chain()).number == 0


def test_a_block_may_say_something_of_its_own(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.do()
    candidates = rewind(monkeypatch)
    words = b"made by somebody else"

    (block,) = follow(forged(candidates[0], extra_data=words))

    assert block.header.extra_data == words
    assert blocks.head(evm_chain()) == block == load_block(evm_chain().db, 1, evm_chain().format)
