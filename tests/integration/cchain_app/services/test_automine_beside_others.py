"""Direct mining of single transactions while other processes make blocks and fill the pool too."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from django.db import connection

from cchain_app import models
from cchain_app.pool.errors import PoolReason
from cchain_app.selectors import blocks, development
from cchain_app.services import acceptance, manual_mining, transactions, vm
from cchain_app.services.runtime import Arrivals
from cchain_app.txs.transaction import Transaction
from chaindb.locks import Lock
from tests.builders.evm_chains import another_process, produce
from tests.builders.node_settings import updated
from tests.builders.reasons import reason_of
from tests.builders.transactions import signed
from tests.integration.cchain_app.services.test_submit import OTHER_KEY
from tests.integration.conftest import Chain
from tests.integration.patience import SECONDS

T = TypeVar("T")

pytestmark = [
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="SQLite has one process that writes"
    ),
    pytest.mark.node_settings(profile="production"),
]


class Processes:
    """Two processes of a node, one of which makes blocks on arrival, and a clock that the test controls.

    The other process, the producer, runs in a thread of its own with its own database sessions, and waits for locks.
    """

    def __init__(
        self, chain: Chain, thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.chain = chain
        self.web = chain.runtime
        self.producer = another_process(chain.evm)
        self.seconds = 0.0
        self._thread = thread
        self._patch = monkeypatch
        monkeypatch.setattr(transactions, "monotonic", lambda: self.seconds)
        self.web.arrivals = Arrivals(mines=True)

    def elsewhere(self, work: Callable[[], T]) -> T:
        """Run a function in the other process."""

        def run() -> T:
            try:
                return work()
            finally:
                connection.close()

        return self._thread.submit(run).result(SECONDS)

    def submit(self, *sent: Transaction) -> None:
        """Submit transactions to the first process in one call; it must accept all of them."""
        raws = [item.raw for item in sent]
        assert list(transactions.submit(self.web, raws)) == [other.hash for other in sent]

    def submit_elsewhere(self, sent: Transaction) -> None:
        """Submit a transaction to the other process, which must accept it."""
        outcomes = self.elsewhere(lambda: list(transactions.submit(self.producer, [sent.raw])))
        assert outcomes == [sent.hash]

    def meanwhile(self, work: Callable[[], object]) -> None:
        """Run a function once, after the first process checked for others and before it commits its block."""
        accept = acceptance.accept

        def do_first(*given: object, **named: object) -> None:
            self._patch.setattr(vm, "accept", accept)
            work()
            accept(*given, **named)  # type: ignore[arg-type]

        self._patch.setattr(vm, "accept", do_first)

    def produce(self) -> Sequence[Transaction]:
        """Have the producer make a block without announcing it; return the block's transactions."""
        self.chain.now += 1
        now = self.chain.now
        made = self.elsewhere(lambda: produce(self.producer, now=now, allow_empty=True))
        assert made is not None
        return made.transactions

    def counts(self) -> tuple[int, int]:
        """Return the height and the number of rows in the pool."""
        return blocks.catch_up(self.web.chain).number, models.PoolTransaction.objects.count()


@pytest.fixture
def two(shared_chain: Chain, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    settings.NODE = updated(settings.NODE, mining="auto")
    pooling = shared_chain.runtime.arrivals
    with ThreadPoolExecutor(1) as thread:
        yield Processes(shared_chain, thread, monkeypatch)
    shared_chain.runtime.arrivals = pooling


def test_single_transaction_is_mined_without_a_pool_row(
    two: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.delattr(transactions.pool_rows, "add")
        two.submit(two.chain.make())
        two.submit(two.chain.make())

    assert two.counts() == (2, 0)


def test_simultaneous_and_following_transactions_are_left_to_the_producer(
    two: Processes,
) -> None:
    two.submit(two.chain.make(), two.chain.make())
    assert two.counts() == (0, 2)
    two.produce()

    two.seconds += transactions.COMPANY_SECONDS / 2
    two.submit(two.chain.make())
    assert two.counts() == (1, 1)
    two.produce()
    assert two.counts() == (2, 0), "and this process has heard of it"

    two.seconds += transactions.COMPANY_SECONDS / 2
    two.submit(two.chain.make())
    assert two.counts() == (3, 0)


def test_transaction_enters_a_pool_that_is_not_empty(two: Processes) -> None:
    other = signed(key=OTHER_KEY, nonce=0)
    two.submit_elsewhere(other)

    two.submit(two.chain.make())

    assert two.counts() == (0, 2)
    two.produce()
    two.submit(two.chain.make())
    assert two.counts() == (1, 1), "somebody else sends, too"


def test_concurrent_block_sends_the_transaction_to_the_pool(two: Processes) -> None:
    two.meanwhile(two.produce)

    two.submit(two.chain.make())

    assert two.counts() == (1, 1)
    two.submit(two.chain.make())
    assert two.counts() == (1, 2), "somebody else makes blocks, too"
    assert len(two.produce()) == 2


def test_unknown_head_sends_the_transaction_to_the_pool(two: Processes) -> None:
    two.submit(two.chain.make())
    two.produce()

    two.submit(two.chain.make())

    assert two.counts() == (2, 1)


def test_transaction_pooled_concurrently_is_mined_first(two: Processes) -> None:
    """The pool acknowledged one of two transactions with the same nonce; the other must not replace it silently."""
    first, second = two.chain.make(), signed(nonce=0, value=7)
    two.meanwhile(lambda: two.submit_elsewhere(first))

    (outcome,) = transactions.submit(two.web, [second.raw])

    assert reason_of(outcome) is PoolReason.REPLACEMENT_UNDERPRICED
    assert two.counts() == (0, 1)
    assert list(two.produce()) == [first]


def test_no_block_is_made_after_another_process_has_paused_production(two: Processes) -> None:
    two.submit(two.chain.make())
    two.elsewhere(lambda: manual_mining.pause(two.producer.chain))
    assert not development.is_paused(two.web.chain), "no event is sent"

    two.submit(two.chain.make())

    assert two.counts() == (1, 1)
    assert development.is_paused(two.web.chain)
    two.elsewhere(lambda: manual_mining.resume(two.producer.chain))
    two.produce()
    two.submit(two.chain.make())
    assert two.counts() == (2, 1), "the producer makes the first block after it"
    assert not development.is_paused(two.web.chain)


def test_locked_chain_sends_the_transaction_to_the_pool(two: Processes) -> None:
    """An import of blocks, or pruning, may hold the chain's lock for a long time."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        db = two.producer.chain.db
        try:
            with db.atomic():
                db.acquire(Lock.CCHAIN)
                held.set()
                assert done.wait(SECONDS)
        finally:
            connection.close()

    holder = threading.Thread(target=hold)
    two.meanwhile(lambda: (holder.start(), held.wait(SECONDS)))
    try:
        two.submit(two.chain.make())
        assert two.counts() == (0, 1)
    finally:
        done.set()
        holder.join()
    assert len(two.produce()) == 1


def test_non_producer_puts_transactions_into_the_pool(
    two: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two.web.consensus, "may_produce", lambda _height, _now: False)

    two.submit(two.chain.make())

    assert two.counts() == (0, 1)
