"""A chain that forks a remote chain, which a server thread of the test provides."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.services import transactions
from cchain_app.services.genesis import load_genesis
from cchain_app.services.runtime import EvmRuntime
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from cchain_app.txs.transaction import Transaction
from chaindb import clock
from tests.builders.evm_chains import produce
from tests.builders.node_settings import updated
from tests.builders.process import restart_node
from tests.builders.transactions import KEY, unsigned
from tests.servers.upstream import RemoteChain, UpstreamServer

PIN = 15
"""Height of the fork block; the remote chain has five more blocks."""
COUNTER = "0x" + "c0" * 20
"""A contract that returns its slot 0, and increments it if called with data."""
COUNTER_CODE = "0x3615600d5760015f54015f55005b5f545f5260205ff3"
RICH = "0x" + "aa" * 20


@pytest.fixture
def remote() -> Iterator[UpstreamServer]:
    """The remote node."""
    chain = RemoteChain()
    chain.accounts[COUNTER] = (3, 1, COUNTER_CODE)
    chain.slots[COUNTER, 0] = 7
    chain.accounts[RICH] = (10**20, 5, "0x")
    with UpstreamServer(chain) as server:
        yield server


@dataclass
class ForkedChain:
    """A fork that makes blocks on demand."""

    remote: UpstreamServer
    nonce: int = 0

    @property
    def evm(self) -> EvmChain:
        """The chain of this process."""
        return evm_chain()

    @property
    def runtime(self) -> EvmRuntime:
        """The same as a running chain."""
        return evm_runtime()

    def mine(self, *sent: Transaction) -> AcceptedBlock:
        """Send transactions, and make a block."""
        for outcome in (
            transactions.submit(self.runtime, [item.raw for item in sent]) if sent else ()
        ):
            assert not isinstance(outcome, Exception), outcome
        block = produce(self.runtime, now=clock.now() + 1, allow_empty=True)
        assert block is not None
        return block

    def make(self, **fields: Any) -> Transaction:
        """Return the next transaction of the well-known key's account."""
        chain_id = self.evm.config.chain_id
        wanted = unsigned(nonce=self.nonce, chain_id=chain_id, **fields)
        made = decode_transaction(sign_transaction(wanted, KEY), chain_id)
        self.nonce += 1
        return made

    def restart(self) -> AcceptedBlock:
        """Simulate a newly started process."""
        restart_node()
        return load_genesis(self.evm)

    def asks_nothing(self) -> None:
        """Reset the record of requests to the remote node."""
        self.remote.asked.clear()


@pytest.fixture
def with_fork(
    transactional_db: None, node_settings: Any, settings: Any, remote: UpstreamServer
) -> None:
    """Configure the fork in the settings."""
    settings.NODE = updated(
        node_settings,
        mining="manual",
        fork_url=(f"{remote.url}@{PIN}",),
        fork_retries=0,
        fork_timeout=20.0,
    )


@pytest.fixture
def forked(with_fork: None, remote: UpstreamServer) -> ForkedChain:
    """A newly started fork."""
    load_genesis(evm_chain())
    return ForkedChain(remote)
