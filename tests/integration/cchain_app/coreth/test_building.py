"""Blocks that a node builds on a C-Chain of a network of avalanchego: none without a transaction."""

import pytest

from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.rules.coreth.min_delay import delay_of
from cchain_app.services.vm import EvmVM
from chainvm.port import BlockContext
from network_app.chains.cchain import EvmBackend
from primitives.hexadecimal import encode_data
from primitives.keys import EWOQ_KEY
from tests.builders.coreth import local_genesis
from tests.builders.evm_chains import produce
from tests.builders.transactions import signed
from tests.conformance.coreth_vectors import data, document
from tests.integration.cchain_app.coreth.follower import NOW, Follower, chain_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite_only]


@pytest.mark.parametrize("mining", ["interval", "mixed"])
def test_no_empty_block_is_built_by_the_clock(mining: str) -> None:
    node = Follower(chain_of(local_genesis().encode(), mining=mining, block_interval=2.0))

    timing = EvmBackend(node.runtime).timing
    assert (timing.minimum_delay, timing.allow_empty) == (2, False)
    assert produce(node.runtime, now=NOW, allow_empty=True) is None


def test_the_pending_block_may_be_empty() -> None:
    node = Follower(chain_of(local_genesis().encode()))

    preview = EvmVM(node.chain, previews=True).build(BlockContext(NOW), allow_empty=True)
    assert preview is not None


def test_the_next_block_waits_for_the_delay_after_an_undecided_one() -> None:
    node = Follower(chain_of(local_genesis().encode()))
    entries = document("local_chain")["blocks"][1:4]
    node.follow(entries[:2])
    vm = node.runtime.vm
    accepted, undecided = (vm.parse(data(entry["blockRLP"])) for entry in entries[1:])
    vm.verify(undecided, BlockContext(NOW, decided=True))

    for block in (accepted, undecided):
        vm.set_preference(block.block_id)
        header = block.header
        assert isinstance(header, CorethHeader)
        assert header.min_delay_excess is not None
        due = header.milliseconds + delay_of(header.min_delay_excess)
        # The recorded blocks leave enough capacity.
        assert [vm.builds_from(time) for time in (0, due, due + 345)] == [due, due, due + 345]
        assert vm.build(BlockContext.at(due - 1)) is None


def test_pending_transactions_have_no_time() -> None:
    node = Follower(chain_of(local_genesis().encode()))
    sent = signed(key=EWOQ_KEY, chain_id=43_112, gas=21_000, max_fee_per_gas=10**9)
    assert node.ask("eth_sendRawTransaction", encode_data(sent.raw)) == encode_data(sent.hash)

    ((_, of_sender),) = node.ask("txpool_content")["pending"].items()
    assert of_sender["0"] == node.ask("eth_getTransactionByHash", encode_data(sent.hash))
    assert of_sender["0"]["blockHash"] is None
    assert "blockTimestamp" not in of_sender["0"]
