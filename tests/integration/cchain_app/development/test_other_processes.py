"""Changes of a development chain reach other processes: when announced, or when they make a block."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from cchain_app import models, tasks
from cchain_app.apps import evm_chain
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.memory.state import MISSING
from cchain_app.notifications import REWOUND
from cchain_app.selectors import blocks, development
from cchain_app.selectors.state import state_at
from cchain_app.services.cheats import change_conditions
from cchain_app.services.manual_mining import mine
from cchain_app.services.snapshots import revert, take_snapshot
from chaindb.connections import in_thread
from chainvm.port import BlockContext
from nodeproject.apps import this_node
from nodeproject.heads.listener import HeadListener
from primitives.evm import Address
from tests.builders.evm_chains import another_process, produce
from tests.builders.node_settings import updated
from tests.builders.transactions import signed
from tests.integration.conftest import Chain, Rpc
from tests.integration.patience import SECONDS

POOR_KEY = b"\x17" * 32
SOMEBODY = Address(b"\x5a" * 20)
FEE = 7 * 10**9


@pytest.fixture
def several(settings: Any) -> None:
    """Give the node several processes that make blocks, as in production."""
    settings.NODE = updated(settings.NODE, profile="production")


def test_a_block_used_up_what_was_set_for_it(rpc: Rpc, chain: Chain) -> None:
    other = another_process(chain.evm)
    other.vm.last_accepted()
    rpc("anvil_setNextBlockBaseFeePerGas", hex(FEE))
    other.memory.changed_elsewhere(0)
    assert blocks.base_fee_after(other, blocks.head(other)) == FEE

    chain.mine()
    head = blocks.catch_up(other)

    assert head.header.base_fee == FEE
    assert development.conditions(other).next_base_fee is None
    assert blocks.base_fee_after(other, head) == blocks.base_fee_after(chain.evm, head) != FEE


async def test_a_web_process_hears_that_only_changes_by_hand_were_undone(
    shared_chain: Chain, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodeproject.heads.listener.TICK", 3600)
    evm = shared_chain.evm
    elsewhere = another_process(evm)
    number = await in_thread(take_snapshot, elsewhere)
    await in_thread(rpc, "anvil_setBalance", f"0x{SOMEBODY.hex()}", "0x7")
    heard = asyncio.Event()
    loop = asyncio.get_running_loop()
    catch_up = blocks.catch_up

    def caught_up(chain: EvmChain) -> AcceptedBlock:
        head = catch_up(chain)
        if chain is evm:
            loop.call_soon_threadsafe(heard.set)
        return head

    listener = HeadListener(this_node().evm_rpc)
    listener.start()
    try:
        before = await in_thread(state_at(evm, 0).account, SOMEBODY)
        await in_thread(revert, elsewhere, number)
        monkeypatch.setattr(blocks, "catch_up", caught_up)
        listener._inbox.put_nowait({"type": REWOUND, "number": 0})
        await asyncio.wait_for(heard.wait(), SECONDS)
    finally:
        await listener.stop()
    assert before is not None
    assert await in_thread(state_at(evm, 0).account, SOMEBODY) is None


@pytest.fixture
def producer(several: None, chain: Chain) -> EvmChain:
    """Another process, which has funded an account and has it cached."""
    made = another_process(chain.evm)
    chain.send(chain.make(to=SOMEBODY, value=1))
    mine_by(made, chain)
    return made


def test_a_maker_of_blocks_executes_on_what_others_have_changed_by_hand(
    producer: EvmChain, rpc: Rpc, chain: Chain
) -> None:
    for balance in (70, 80):
        rpc("anvil_setBalance", f"0x{SOMEBODY.hex()}", hex(balance))
        chain.send(chain.make(to=SOMEBODY, value=1))
        mine_by(producer, chain)
        assert balance_in_rows() == balance + 1


def test_who_catches_up_with_a_block_knows_what_was_changed_by_hand_before_it(
    producer: EvmChain, rpc: Rpc, chain: Chain
) -> None:
    rpc("anvil_setBalance", f"0x{SOMEBODY.hex()}", hex(70))
    chain.mine()
    chain.send(chain.make(to=SOMEBODY, value=1))
    mine_by(producer, chain)

    assert balance_in_rows() == 71


def test_a_change_by_hand_that_was_undone_is_forgotten_by_a_maker_of_blocks(
    several: None, rpc: Rpc, chain: Chain
) -> None:
    producer, made = another_process(chain.evm), chain.make(to=SOMEBODY, value=1)
    snapshot = rpc("evm_snapshot")
    rpc("anvil_setBalance", f"0x{SOMEBODY.hex()}", hex(70))
    chain.send(made)
    producer.vm.set_preference(producer.vm.last_accepted())
    built = producer.vm.build(BlockContext(chain.now + 1))
    assert built is not None
    producer.vm.reject(built.block_id)
    rpc("evm_revert", snapshot)

    chain.send(made)
    mine_by(producer, chain)

    assert balance_in_rows() == 1


def mine_by(producer: EvmChain, chain: Chain) -> None:
    """Have another process make a block of the pending transactions and announce it to this one."""
    chain.now += 1
    assert produce(producer, now=chain.now) is not None
    blocks.catch_up(chain.evm)


def balance_in_rows() -> int:
    return models.Account.objects.get(address=SOMEBODY).balance


@pytest.mark.parametrize("conditions", [{"mining": "manual"}, {"paused": True}])
def test_a_maker_of_blocks_goes_by_what_others_have_set(
    several: None, chain: Chain, conditions: dict[str, Any]
) -> None:
    chain.send(chain.make())
    change_conditions(chain.evm, lambda found, _: replace(found, mining="auto"))
    assert development.mining(chain.evm) == "auto"

    def set_conditions(found: NextBlockOverrides, _: AcceptedBlock) -> NextBlockOverrides:
        return replace(found, **conditions)

    change_conditions(another_process(chain.evm), set_conditions)

    assert development.mining(chain.evm) == "auto", "nobody tells it"
    assert tasks.beat(evm_chain()) == {"blocks": 0}


@pytest.mark.parametrize("conditions", [{"mining": "manual"}, {"paused": True}])
def test_a_request_that_is_older_than_what_was_set_makes_no_block(
    several: None, chain: Chain, conditions: dict[str, Any]
) -> None:
    chain.send(chain.make())
    change_conditions(chain.evm, lambda found, _: replace(found, mining="auto"))
    change_conditions(another_process(chain.evm), lambda found, _: replace(found, **conditions))

    assert tasks.produce_blocks() == {"blocks": 0}


def test_a_block_by_hand_has_what_others_have_set_for_it(several: None, chain: Chain) -> None:
    assert development.conditions(chain.evm).coinbase is None
    change_conditions(
        another_process(chain.evm), lambda found, _: replace(found, coinbase=SOMEBODY)
    )

    assert mine(chain.evm, 1) == [1]

    assert blocks.head(chain.evm).header.coinbase == SOMEBODY


def test_what_waits_runs_on_what_others_have_changed_by_hand(
    producer: EvmChain, rpc: Rpc, chain: Chain
) -> None:
    """The producer has the account cached with a balance that cannot pay."""
    poor = signed(key=POOR_KEY, nonce=0)
    assert state_at(producer, 1).account(poor.sender) is None
    rpc("anvil_setBalance", f"0x{poor.sender.hex()}", hex(10**18))
    chain.send(poor)

    mine_by(producer, chain)

    assert blocks.head(chain.evm).transactions == (poor,)


def test_the_word_of_a_change_may_come_after_the_block_that_follows_it(chain: Chain) -> None:
    chain.mine()
    memory = chain.evm.memory
    assert state_at(chain.evm, 1).account(SOMEBODY) is None
    assert memory.state.account(SOMEBODY, 1) is None

    memory.changed_elsewhere(0)

    assert memory.state.account(SOMEBODY, 1) is MISSING
