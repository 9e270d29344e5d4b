"""What one process did to a development chain is so in others when they have heard of it."""

import asyncio

import pytest

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.notifications import REWOUND
from cchain_app.selectors import blocks, development
from cchain_app.selectors.state import state_at
from cchain_app.services.snapshots import revert, take_snapshot
from chaindb.connections import in_thread
from nodeproject.apps import this_node
from nodeproject.head_listener import HeadListener
from primitives.evm import Address
from tests.builders.evm_chains import another_process
from tests.integration.conftest import Chain, Rpc
from tests.integration.patience import SECONDS

SOMEBODY = Address(b"\x5a" * 20)
FEE = 7 * 10**9


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
    monkeypatch.setattr("nodeproject.head_listener.TICK", 3600)
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
