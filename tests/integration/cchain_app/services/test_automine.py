"""Transactions that are mined directly on arrival, and transactions that go to the pool."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import DatabaseError

from cchain_app import models, notifications
from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.blocks import receipt
from cchain_app.chain import EvmChain
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.evm.engine import Log
from cchain_app.pool.errors import PoolReason
from cchain_app.processing import EvmProcessingBlocks
from cchain_app.selectors import blocks, pool
from cchain_app.services import acceptance, transactions
from cchain_app.services.runtime import Arrivals
from cchain_app.store import development
from cchain_app.txs.transaction import Transaction
from chaindb.events import ChainEvents, Message
from tests.builders import bytecode
from tests.builders.node_settings import updated
from tests.builders.reasons import reason_of
from tests.builders.transactions import SENDER, signed
from tests.integration.cchain_app.services.test_submit import OTHER_KEY
from tests.integration.conftest import Chain, Rpc

EMBEDDED = pytest.mark.node_settings(profile="embedded")


@pytest.fixture
def mining(chain: Chain, settings: Any) -> Iterator[Chain]:
    """The chain of a single serving process that makes blocks on arrival."""
    settings.NODE = updated(settings.NODE, profile="embedded")
    runtime = evm_runtime()
    pooling = runtime.arrivals
    set_by_hand(mining="auto")
    runtime.arrivals = Arrivals(mines=True)
    yield chain
    runtime.arrivals = pooling


def set_by_hand(**conditions: Any) -> None:
    """Set the mining settings from now on."""
    development.set_conditions(evm_chain().db, NextBlockOverrides(**conditions))
    evm_chain().memory.conditions.reset()


def submit(*sent: Transaction) -> Sequence[object]:
    """Submit transactions in one call."""
    return transactions.submit(evm_runtime(), [item.raw for item in sent])


def height() -> int:
    """Return the height in the rows, which must equal the height in memory."""
    head = blocks.head(evm_chain()).number
    assert models.Block.objects.order_by("-number").first().number == head  # type: ignore[union-attr]
    return head


def waiting() -> int:
    """Return the number of rows in the pool."""
    return models.PoolTransaction.objects.count()


def test_acknowledged_transaction_is_in_a_block(mining: Chain) -> None:
    made = mining.make()

    assert submit(made) == [made.hash]

    place = blocks.find_transaction(evm_chain(), made.hash)
    assert place is not None
    assert (place[0].number, place[1]) == (1, 0)
    assert models.Transaction.objects.get().hash == made.hash
    assert pool.next_nonce(evm_chain(), SENDER) == 1


def test_no_row_of_the_pool_is_written(mining: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(transactions.pool_rows, "add")

    submit(mining.make(), mining.make())

    assert (height(), waiting()) == (1, 0)


def test_events_are_sent_after_the_state_moved_to_the_block(
    mining: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    rebase, send = EvmProcessingBlocks.rebase, evm_chain().events.send

    def rebased(*given: Any) -> None:
        steps.append("rebased")
        rebase(*given)

    def told(chain: str, message: Message) -> None:
        steps.append(message["type"])
        send(chain, message)

    monkeypatch.setattr(EvmProcessingBlocks, "rebase", rebased)
    monkeypatch.setattr(evm_chain().events, "send", told)

    submit(mining.make())

    assert steps == ["rebased", notifications.PENDING, notifications.HEAD]


def test_logs_are_encoded_by_the_chains_own_encoding(
    mining: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    evm = evm_chain()
    encoded: list[int] = []

    def encode(logs: tuple[Log, ...]) -> tuple[int, bytes]:
        encoded.append(len(logs))
        return receipt.encode_logs(logs)

    with monkeypatch.context() as patched:
        patched.setattr(evm, "encode_logs", encode)
        mining.runtime.vm.reset()  # it reads the chain's rules only once
        deployment = bytecode.deploy_code(bytecode.LOGGER)
        submit(mining.make(to=None, data=deployment, gas=500_000, value=0))
        submit(mining.make(to=bytecode.created(SENDER, 0), data=b"\x2a", gas=100_000, value=0))
    mining.runtime.vm.reset()

    assert encoded == [0, 2]


def test_several_run_in_the_order_of_a_block(mining: Chain) -> None:
    low = [mining.make(), mining.make()]
    high = signed(key=OTHER_KEY, nonce=0, max_priority_fee_per_gas=2 * 10**9)

    submit(*low, high)

    assert list(blocks.head(evm_chain()).transactions) == [high, *low]


def test_higher_priced_of_two_with_one_nonce_is_mined(mining: Chain) -> None:
    low = signed(nonce=0)
    high = signed(nonce=0, max_fee_per_gas=55 * 10**9, max_priority_fee_per_gas=11 * 10**8)

    assert submit(low, high) == [low.hash, high.hash]

    assert list(blocks.head(evm_chain()).transactions) == [high]


def test_refusals_are_those_of_the_pool(mining: Chain) -> None:
    submit(mining.make())

    (used, poor) = submit(signed(nonce=0), signed(nonce=1, value=10**30))

    assert reason_of(used) is PoolReason.NONCE_TOO_LOW
    assert reason_of(poor) is PoolReason.FUNDS_BELOW_COST
    assert (height(), waiting()) == (1, 0)


def mined(*sent: Transaction) -> bool:
    """Return whether all of the transactions are in blocks."""
    return all(blocks.find_transaction(evm_chain(), item.hash) for item in sent)


def test_transaction_beside_a_refused_one_is_mined_from_the_pool(mining: Chain) -> None:
    good, poor = signed(nonce=0), signed(nonce=1, value=10**30)

    outcomes = submit(good, poor)

    assert outcomes[0] == good.hash
    assert reason_of(outcomes[1]) is PoolReason.FUNDS_BELOW_COST
    assert mined(good)
    assert waiting() == 0


def test_transaction_beside_a_queued_one_is_mined_from_the_pool(mining: Chain) -> None:
    submit(good := signed(nonce=0), signed(nonce=2))

    assert mined(good)
    assert (height(), waiting()) == (1, 1)


def low_fee() -> Transaction:
    """Return a transaction that can only be mined once the base fee is lower."""
    return signed(key=OTHER_KEY, nonce=0, max_fee_per_gas=26 * 10**9)


@pytest.mark.parametrize("blocking", [lambda: signed(key=OTHER_KEY, nonce=7), low_fee])
def test_transaction_is_mined_before_its_hash_is_returned_despite_a_queued_one(
    mining: Chain, monkeypatch: pytest.MonkeyPatch, blocking: Any
) -> None:
    monkeypatch.setattr(evm_chain().producer, "request", lambda: None)
    set_by_hand(mining="auto", next_base_fee=30 * 10**9)
    other = blocking()
    submit(other)
    assert waiting() == 1
    sent = [mining.make() for _ in range(3)]

    for item in sent:
        assert submit(item) == [item.hash]
        assert mined(item)
        set_by_hand(mining="auto", next_base_fee=30 * 10**9)

    assert waiting() == 1
    assert not mined(other)


def test_much_gas_is_mined_by_way_of_the_pool(mining: Chain) -> None:
    submit(mining.make(gas=transactions.MAX_GAS))
    assert (height(), waiting()) == (1, 0)

    submit(mining.make(gas=transactions.MAX_GAS + 1))

    assert (height(), waiting()) == (2, 0)


@EMBEDDED
def test_impersonated_transaction_is_mined_before_its_hash_is_returned(
    mining: Chain, rpc: Rpc
) -> None:
    submit(signed(key=OTHER_KEY, nonce=7))
    impersonated = "0x" + "77" * 20
    rpc("anvil_setBalance", impersonated, hex(10**18))
    rpc("anvil_impersonateAccount", impersonated)

    for sender in (impersonated, rpc("eth_accounts")[0]):
        sent = rpc("eth_sendTransaction", {"from": sender, "to": impersonated, "gas": "0x5208"})
        assert rpc("eth_getTransactionReceipt", sent) is not None


def test_all_that_follows_a_transaction_that_fills_a_gap_is_mined(mining: Chain) -> None:
    first, second, third = (signed(nonce=nonce) for nonce in range(3))
    submit(second, third)
    assert (height(), waiting()) == (0, 2)

    submit(first)

    assert mined(first, second, third)
    assert waiting() == 0


@pytest.mark.parametrize(
    "conditions", [{"mining": "manual"}, {"mining": "interval"}, {"mining": "auto", "paused": True}]
)
def test_other_mining_modes_put_transactions_into_the_pool(
    mining: Chain, conditions: dict[str, Any]
) -> None:
    set_by_hand(**conditions)

    submit(mining.make())

    assert (height(), waiting()) == (0, 1)


def test_transactions_above_the_gas_limit_are_mined_in_several_blocks(mining: Chain) -> None:
    set_by_hand(mining="auto", gas_limit=30_000)

    submit(first := mining.make(), second := mining.make())

    assert (height(), waiting()) == (2, 0)
    assert mined(first, second)


def test_new_transactions_are_pooled_while_a_call_builds_blocks(
    mining: Chain,
) -> None:
    with mining.evm.vm_lock, mining.runtime.only_to_pool():
        submit(first := mining.make())
        assert (height(), waiting()) == (0, 1)

    submit(second := mining.make())
    assert waiting() == 0
    assert mined(first, second)


class BusyLock(AbstractContextManager[None]):
    """A lock held by another thread, which releases it soon or not at all."""

    def __init__(self, *, is_released: bool) -> None:
        self.is_released = is_released
        self.calls: list[object] = []

    def acquire(self, *, blocking: bool = True, timeout: float = -1) -> bool:
        self.calls.append(timeout if blocking else "non-blocking")
        return blocking and self.is_released

    def release(self) -> None:
        self.calls.append("release")

    def __exit__(self, *_: object) -> None:
        """Do nothing: the builder of a block already holds the lock."""


def test_while_another_thread_makes_a_block_the_answer_waits_for_it(
    mining: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = BusyLock(is_released=True)
    monkeypatch.setattr(evm_chain(), "vm_lock", lock)

    submit(made := mining.make())

    assert mined(made)
    assert lock.calls == ["non-blocking", transactions.BLOCK_SECONDS, "release"]


def test_while_another_thread_makes_blocks_for_long_the_transaction_waits_in_the_pool(
    mining: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evm_chain(), "vm_lock", BusyLock(is_released=False))

    submit(mining.make())

    assert (height(), waiting()) == (0, 1)


@pytest.mark.parametrize("error", [DatabaseError("database is locked"), RuntimeError("a fault")])
def test_a_stored_transaction_is_acknowledged_although_its_block_cannot_be_made(
    mining: Chain,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    submit(signed(key=OTHER_KEY, nonce=7))

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(transactions, "produce", fail)
    made = mining.make()

    assert submit(made) == [made.hash]
    assert waiting() == 2
    (record,) = (item for item in caplog.records if "no block is made on arrival" in item.message)
    assert bool(record.exc_info) is isinstance(error, RuntimeError)


def test_outside_development_the_answer_does_not_wait_for_the_block(
    mining: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(signed(key=OTHER_KEY, nonce=7))
    monkeypatch.setattr(EvmChain, "is_development", False)

    submit(mining.make())

    assert (height(), waiting()) == (0, 2)


def test_transaction_enters_the_pool_if_validators_vote(
    mining: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evm_runtime().consensus, "decides_alone", False)

    submit(mining.make())

    assert (height(), waiting()) == (0, 1)


def test_a_commit_that_fails_leaves_no_trace(
    mining: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = mining.make()

    def fail(*_: object, **_options: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(acceptance.stored, "commit", fail)
        with pytest.raises(OSError, match="disk full"):
            submit(made)

    assert (height(), waiting()) == (0, 0)
    assert submit(made) == [made.hash]
    assert height() == 1


def test_pending_event_precedes_the_head_event(
    mining: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.new_event_loop()
    heard: list[Message] = []
    monkeypatch.setattr(evm_chain(), "events", ChainEvents("embedded"))  # this process sends them
    unbind = evm_chain().events.bind(loop, heard.append, evm_chain().aliases[:1])
    made = mining.make()
    try:
        submit(made)
        loop.call_soon(loop.stop)  # after everything that was sent
        loop.run_forever()
    finally:
        unbind()
        loop.close()

    assert [item["type"] for item in heard] == [notifications.PENDING, notifications.HEAD]
    assert heard[0]["hashes"] == [made.hash]


@EMBEDDED
def test_a_reorganisation_makes_as_many_blocks_as_it_drops(mining: Chain, rpc: Rpc) -> None:
    for value in (1, 2, 4):
        submit(mining.make(value=value))
    mining.nonce = 1
    first, second = mining.make(value=64), mining.make(value=128)

    rpc("anvil_reorg", 2, [["0x" + first.raw.hex(), 0], ["0x" + second.raw.hex(), 1]])

    assert height() == 3
    for number, sent in ((2, first), (3, second)):
        block = blocks.by_number(mining.evm, number)
        assert block is not None
        assert [transaction.hash for transaction in block.transactions] == [sent.hash]
    submit(mining.make(value=1))
    assert height() == 4
