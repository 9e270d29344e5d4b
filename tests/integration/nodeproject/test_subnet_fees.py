"""The base fee of a chain of a subnet falls with time: prices, the pool and the next block follow the clock."""

from typing import Any

import pytest

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks, figures
from cchain_app.services import transactions
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from chaindb.connections import in_thread
from primitives.evm import Hash
from tests.builders.subnet_evm import FEES, subnet_genesis
from tests.builders.transactions import KEY, RECIPIENT, unsigned
from tests.integration.nodeproject.test_subnet_chains import World, node, world
from tests.integration.nodeproject.test_third_chain import application, client, end, over_http

__all__ = ["application", "client", "node", "world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",)),
    pytest.mark.sqlite_only,
]

CHAIN_ID = 9_003
GWEI = 10**9
STEEP = {**FEES, "targetGas": 10_000, "baseFeeChangeDenominator": 1}
"""Figures with which a single transfer more than doubles the base fee, until it is ten seconds old."""
PEAK = GWEI + GWEI * (21_000 - STEEP["targetGas"]) // STEEP["targetGas"]


class SteepChain:
    """The chain, after a block with one transfer."""

    def __init__(self, world: World) -> None:
        self._world = world
        blockchain_id = world.create(subnet_genesis(CHAIN_ID, feeConfig=STEEP))
        assert world.row(blockchain_id).reason == ""
        self.evm: EvmChain = world.chain(blockchain_id)
        self.runtime = world.node.evm_runtimes[self.evm.name]
        self.began = world.node.platform_chain.tip().timestamp + 10
        self.at(0)
        self.send(0, 100 * GWEI)
        assert self.produced() == 1

    def at(self, seconds: int) -> None:
        """Set the node's clock to a time after the block's."""
        self._world.pchain.now = self.began + seconds

    @property
    def now(self) -> int:
        return self._world.pchain.now

    def send(self, nonce: int, most: int) -> Hash:
        """Put a transfer into the pool that pays at most this price."""
        given = unsigned(
            chain_id=CHAIN_ID, nonce=nonce, value=1, to=RECIPIENT, gas=21_000,
            max_fee_per_gas=most, max_priority_fee_per_gas=1,
        )  # fmt: skip
        sent = decode_transaction(sign_transaction(given, KEY), CHAIN_ID)
        assert transactions.submit(self.runtime, [sent.raw]) == [sent.hash]
        return sent.hash

    def produced(self) -> int | None:
        """Make a block of the pool's transactions; return the number of those in it, or None."""
        if self.runtime.consensus.produce(now=self.now) is None:
            return None
        return len(blocks.head(self.evm).transactions)


def test_a_transaction_that_the_peak_shuts_out_is_mined_when_the_base_fee_has_fallen(
    world: World,
) -> None:
    chain = SteepChain(world)
    chain.at(5)
    chain.send(1, 2 * GWEI)

    assert chain.produced() is None
    assert figures.due(chain.evm, chain.now) is None

    chain.at(20)
    due = figures.due(chain.evm, chain.now)
    assert due is not None
    assert due.transactions == 1
    assert chain.produced() == 1


async def test_prices_are_those_of_a_block_made_now(application: Any, world: World) -> None:
    chain = await in_thread(SteepChain, world)
    path = f"/ext/bc/{chain.evm.name}/rpc"

    async def asked(method: str, *params: Any) -> Any:
        return await over_http(application, path, method, *params)

    async def prices() -> list[int]:
        (base, price) = [int(await asked(name), 16) for name in ("eth_baseFee", "eth_gasPrice")]
        history = await asked("eth_feeHistory", "0x1", "latest", [])
        options = await asked("eth_suggestPriceOptions")
        normal = options["normal"]
        twice = int(normal["maxFeePerGas"], 16) - int(normal["maxPriorityFeePerGas"], 16)
        return [base, price - 1, int(history["baseFeePerGas"][-1], 16), twice // 2]

    chain.at(1)
    assert [await prices() for _ in range(2)] == [[PEAK] * 4] * 2
    chain.at(20)
    assert [await prices() for _ in range(2)] == [[GWEI] * 4] * 2
    await in_thread(chain.send, 1, 2 * GWEI)
    assert await in_thread(chain.produced) == 1
    of_first = await asked("eth_feeHistory", "0x1", "0x1", [])
    assert [int(price, 16) for price in of_first["baseFeePerGas"]] == [GWEI, GWEI]
    await end(application)
