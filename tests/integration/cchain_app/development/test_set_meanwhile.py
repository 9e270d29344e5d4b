"""A setting or cheat of another process during a block build is either in the block, or the block is not made."""

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from cchain_app import models, tasks
from cchain_app.apps import evm_chain
from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.services import acceptance, cheats, transactions, vm
from cchain_app.services.manual_mining import mine
from cchain_app.services.snapshots import revert, take_snapshot
from primitives.evm import Address
from tests.builders.evm_chains import another_process
from tests.builders.node_settings import updated
from tests.integration.conftest import Chain

SOMEBODY = Address(b"\x5a" * 20)
FEE = 7 * 10**9

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has one process that writes"
)

Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture(autouse=True)
def several(settings: Any) -> None:
    """Give the node several processes that make blocks, as in production."""
    settings.NODE = updated(settings.NODE, profile="production")


@pytest.fixture
def other(several: None, chain: Chain) -> EvmChain:
    """Another process, whose announcements do not arrive."""
    set_in(chain.evm, mining="auto")
    return another_process(chain.evm)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Return a function that registers a callback, run once between building and committing a block."""

    def once(work: Callable[[], object]) -> None:
        accept = acceptance.accept

        def do_first(*given: Any, **named: Any) -> None:
            monkeypatch.setattr(vm, "accept", accept)
            work()
            accept(*given, **named)

        monkeypatch.setattr(vm, "accept", do_first)

    return once


def set_in(process: EvmChain, **changes: Any) -> None:
    """Override settings of the next block in a process."""
    cheats.change_conditions(process, lambda found, _: replace(found, **changes))


def pay(process: EvmChain, wei: int) -> None:
    """Set a balance in a process."""
    cheats.change_state(process, [cheats.balance(SOMEBODY, wei)])


@pytest.mark.parametrize("conditions", [{"mining": "manual"}, {"paused": True}])
def test_no_block_is_made_on_arrival_where_that_was_ended(
    chain: Chain, other: EvmChain, meanwhile: Meanwhile, conditions: dict[str, Any]
) -> None:
    chain.send(chain.make())
    meanwhile(lambda: set_in(other, **conditions))

    assert tasks.produce_blocks() == {"blocks": 0}

    assert models.PoolTransaction.objects.count() == 1
    assert mine(chain.evm, 1) == [1], "by hand it is made still"


def test_no_block_is_made_by_the_clock_where_that_was_paused(
    chain: Chain, other: EvmChain, meanwhile: Meanwhile
) -> None:
    set_in(chain.evm, mining="interval")
    meanwhile(lambda: set_in(other, paused=True))

    assert tasks.beat(evm_chain()) == {"blocks": 0}


def test_no_block_is_made_by_the_clock_before_the_interval_that_was_set(
    chain: Chain, other: EvmChain, meanwhile: Meanwhile
) -> None:
    set_in(chain.evm, mining="interval", block_interval=0.1)
    chain.evm.last_accepted_at = monotonic() - 1.0
    meanwhile(lambda: set_in(other, block_interval=3600.0))

    assert tasks.beat(evm_chain()) == {"blocks": 0}


@pytest.mark.parametrize("by", ["arrival", "hand", "command"])
def test_a_block_has_all_that_was_set_for_it(
    chain: Chain, other: EvmChain, meanwhile: Meanwhile, by: str
) -> None:
    later = chain.now + 5_000
    chain.send(chain.make())
    set_in(chain.evm, next_base_fee=FEE)
    meanwhile(lambda: set_in(other, next_timestamp=later))

    ways: dict[str, Callable[[], object]] = {
        "arrival": tasks.produce_blocks,
        "hand": lambda: mine(chain.evm, 1),
        "command": lambda: call_command("produce_block"),
    }
    ways[by]()

    assert blocks.head(chain.evm).number == 1
    header = blocks.head(chain.evm).header
    assert (header.base_fee, header.timestamp) == (FEE, later)
    found = models.DevelopmentSettings.objects.get()
    assert (found.next_base_fee, found.next_timestamp) == (None, None)


def test_what_was_sent_after_blocks_are_made_by_hand_waits(
    chain: Chain, other: EvmChain, meanwhile: Meanwhile
) -> None:
    """The changed state causes the block to be rebuilt from all transactions pending by then."""
    first, second = chain.make(), chain.make()
    chain.send(first)

    def change() -> None:
        pay(other, 5)
        set_in(other, mining="manual")
        assert list(transactions.submit(other, [second.raw])) == [second.hash]

    meanwhile(change)

    assert tasks.produce_blocks() == {"blocks": 0}
    assert models.PoolTransaction.objects.count() == 2


def test_as_many_changes_by_hand_need_not_be_the_same(
    chain: Chain, other: EvmChain, meanwhile: Meanwhile
) -> None:
    chain.send(chain.make(to=SOMEBODY, value=1))
    snapshot = take_snapshot(chain.evm)
    pay(chain.evm, 5)

    def change() -> None:
        revert(other, snapshot)
        pay(other, 6)

    meanwhile(change)

    assert mine(chain.evm, 1) == [1]

    held = len(blocks.head(chain.evm).transactions)
    assert models.Account.objects.get(address=SOMEBODY).balance == 6 + held
