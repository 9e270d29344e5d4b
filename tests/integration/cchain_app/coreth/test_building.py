"""Blocks that a node builds on a C-Chain of a network of avalanchego: none without a transaction."""

import pytest

from cchain_app.services.vm import EvmVM
from chainvm.port import BlockContext
from network_app.chains.cchain import EvmBackend
from tests.builders.coreth import local_genesis
from tests.builders.evm_chains import produce
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
