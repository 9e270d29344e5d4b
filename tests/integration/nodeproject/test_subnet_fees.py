"""The base fee of a chain of a subnet: it falls with time, and a manager in an undecided block may change it."""

import json
from functools import partial
from typing import Any

import pytest
from django.test import Client

from cchain_app.api.eth.fees import fee_history
from cchain_app.api.params.values import Tag
from cchain_app.chain import EvmChain
from cchain_app.evm import installed
from cchain_app.precompiles import addresses
from cchain_app.precompiles.fee_config import DEFAULT_FEE_CONFIG, FeeConfig
from cchain_app.rules.subnet_evm.rules import SubnetEvmRules
from cchain_app.selectors import blocks, figures
from cchain_app.services import choosing, transactions
from cchain_app.services.manual_mining import set_next_timestamp
from cchain_app.services.vm import EvmVM
from cchain_app.store import subnet_chains as rows
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from chaindb.connections import in_thread
from chainvm.port import BlockContext
from primitives.evm import Hash
from primitives.hexadecimal import encode_data
from tests.builders.subnet_evm import FEES, subnet_genesis
from tests.builders.transactions import KEY, RECIPIENT, SENDER, unsigned
from tests.integration.nodeproject.test_subnet_chains import World, node, world
from tests.integration.nodeproject.test_third_chain import application, call, client, end, over_http

__all__ = ["application", "client", "node", "world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",), rpc_tx_fee_cap=0.0),
    pytest.mark.sqlite_only,
]

CHAIN_ID = 9_003
GWEI = 10**9
STEEP = {**FEES, "targetGas": 10_000, "baseFeeChangeDenominator": 1}
"""Figures with which a single transfer more than doubles the base fee, until it is ten seconds old."""
PEAK = GWEI + GWEI * (21_000 - STEEP["targetGas"]) // STEEP["targetGas"]


class SteepChain:
    """The chain, after a block with one transfer."""

    def __init__(self, world: World, **of_config: Any) -> None:
        self._world = world
        document = json.loads(subnet_genesis(CHAIN_ID, feeConfig=STEEP, **of_config))
        document["alloc"] = {encode_data(SENDER)[2:]: {"balance": hex(2**100)}}
        blockchain_id = world.create(json.dumps(document).encode())
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

    def send(self, nonce: int, most: int, **fields: Any) -> Hash:
        """Put a transfer, or another transaction, into the pool that pays at most this price."""
        values = {"value": 1, "to": RECIPIENT, **fields}
        given = unsigned(
            chain_id=CHAIN_ID,
            nonce=nonce,
            max_fee_per_gas=most,
            max_priority_fee_per_gas=1,
            **values,
        )
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


def test_a_transaction_is_mined_in_a_later_block_whose_time_a_cheat_has_set(world: World) -> None:
    chain = SteepChain(world)
    chain.at(5)
    chain.send(1, 2 * GWEI)
    assert chain.produced() is None

    set_next_timestamp(chain.evm, chain.began + 20)

    assert blocks.base_fee_after(chain.evm, blocks.head(chain.evm)) == GWEI
    assert chain.produced() == 1
    header = blocks.head(chain.evm).header
    assert (header.timestamp, header.base_fee) == (chain.began + 20, GWEI)


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


MANAGED = {
    "feeManagerConfig": {"blockTimestamp": 0x6553F100, "adminAddresses": [encode_data(SENDER)]}
}
DEAR = DEFAULT_FEE_CONFIG._replace(min_base_fee=9 * GWEI, target_gas=10**9)


def set_fees(chain: SteepChain, nonce: int, fees: FeeConfig = DEAR) -> Hash:
    """Put a transaction into the pool that sets the fee config, by default a least base fee of 9 gwei."""
    data = bytes.fromhex("8f10b586") + b"".join(value.to_bytes(32, "big") for value in fees)
    return chain.send(nonce, 100 * GWEI, to=addresses.FEE_MANAGER, value=0, data=data, gas=300_000)


def test_a_block_on_an_undecided_one_is_chosen_by_the_fees_that_its_manager_set(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = SteepChain(world, **MANAGED)
    chain.at(20)
    vm = EvmVM(chain.evm)
    setting = set_fees(chain, 1)
    parent = vm.build(BlockContext(chain.now))
    assert parent is not None
    vm.set_preference(parent.block_id)
    dear = chain.send(2, 10 * GWEI)
    cheap = chain.send(3, 8 * GWEI)
    offered: list[Hash] = []
    chosen = choosing.select

    def noting(*given: Any, **named: Any) -> Any:
        found = chosen(*given, **named)
        offered.extend(entry.hash for entry in found)
        return found

    monkeypatch.setattr(choosing, "select", noting)
    child = vm.build(BlockContext(chain.now + 1))

    assert child is not None
    assert child.header.base_fee == 9 * GWEI
    assert [one.hash for one in vm.executed(parent.block_id)[0].block.transactions] == [setting]
    assert [one.hash for one in vm.executed(child.block_id)[0].block.transactions] == [dear]
    assert offered == [dear], f"the parent's fees would offer {cheap.hex()} too"
    vm.reject(parent.block_id)


def test_a_fee_history_that_ends_with_the_pending_block_reads_its_manager(world: World) -> None:
    chain = SteepChain(world, **MANAGED)
    chain.at(20)
    set_fees(chain, 1)

    history = fee_history(world.node.evm_rpcs[chain.evm.name], 1, Tag.PENDING, None)

    assert [int(price, 16) for price in history["baseFeePerGas"]] == [GWEI, 9 * GWEI]


WIDE = 2**64
"""A base fee with one bit more than the native engine reads."""
NO_ENGINE = f"no block can follow block 2: its base fee {WIDE} has more than 64 bits, which needs the reference engine: pip"


def test_a_chain_whose_base_fee_needs_a_missing_engine_says_so_and_goes_on_with_it(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = SteepChain(world, **MANAGED)
    chain.at(20)
    set_fees(chain, 1, DEAR._replace(min_base_fee=WIDE))
    assert chain.produced() == 1
    chain.at(21)
    look = world.node.subnet_chains.look
    checks = world.node.observation._checks

    with monkeypatch.context() as patched:
        patched.setattr(installed, "has_reference", lambda: False)
        look()
        row = world.row(chain.evm.blockchain_id)
        assert row.state == rows.RUNNING
        assert row.reason.startswith(NO_ENGINE)
        assert NO_ENGINE in checks.measure_evm(chain.runtime).error
        page = client.get("/admin/cchain_app/subnetchain/").content.decode()
        assert "makes no blocks" in page
        assert NO_ENGINE[:80] in page
        assert "makes no blocks" in client.get("/chains").content.decode()
        chain.send(2, 2 * WIDE)

    look()
    assert world.row(chain.evm.blockchain_id).reason == ""
    assert checks.measure_evm(chain.runtime).error == ""
    assert chain.produced() == 1
    assert blocks.head(chain.evm).header.base_fee == WIDE


def test_a_chain_whose_rules_fail_is_unhealthy_and_says_with_what(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    chain = SteepChain(world)
    look = world.node.subnet_chains.look
    checks = world.node.observation._checks

    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    expected = "no block can follow block 1: its rules failed with ZeroDivisionError; the log has the traceback"
    with monkeypatch.context() as patched:
        patched.setattr(SubnetEvmRules, "env_after", fail)
        look()
        look()
        assert world.row(chain.evm.blockchain_id).reason == expected
        assert expected in checks.measure_evm(chain.runtime).error
    (logged,) = (entry for entry in caplog.records if "makes no blocks" in entry.message)
    assert logged.exc_info is not None
    assert logged.exc_info[0] is ZeroDivisionError

    look()
    assert world.row(chain.evm.blockchain_id).reason == ""
    assert checks.measure_evm(chain.runtime).error == ""


async def test_wallets_can_estimate_at_such_a_base_fee(application: Any, world: World) -> None:
    chain = await in_thread(partial(SteepChain, world, **MANAGED))
    chain.at(20)
    await in_thread(set_fees, chain, 1, DEAR._replace(min_base_fee=WIDE))
    assert await in_thread(chain.produced) == 1
    path = f"/ext/bc/{chain.evm.name}/rpc"
    message = {"from": encode_data(SENDER), "to": encode_data(RECIPIENT), "value": "0x1"}
    priced = {**message, "maxFeePerGas": hex(2 * WIDE), "maxPriorityFeePerGas": "0x1"}
    for asked in (message, priced):
        assert await over_http(application, path, "eth_estimateGas", asked) == hex(21_000)
        assert await over_http(application, path, "eth_call", asked, "latest") == "0x"
    assert int(await over_http(application, path, "eth_gasPrice"), 16) > WIDE
    await in_thread(chain.send, 2, 2 * WIDE)
    assert await in_thread(chain.produced) == 1
    block = await over_http(application, path, "debug_traceBlockByNumber", "0x3")
    assert block[0]["result"]["failed"] is False
    await end(application)


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas", "debug_traceCall"])
def test_no_override_lets_a_caller_choose_the_reference_engine(world: World, method: str) -> None:
    assert installed.has_reference()
    chain = SteepChain(world)
    message = {
        "from": encode_data(SENDER),
        "to": encode_data(RECIPIENT),
        "maxFeePerGas": hex(2 * WIDE),
        "maxPriorityFeePerGas": "0x1",
    }
    accounts = {encode_data(SENDER): {"balance": hex(2**200)}}
    block = {"baseFeePerGas": hex(WIDE)}
    overrides: list[Any] = (
        [{"stateOverrides": accounts, "blockOverrides": block}]
        if method == "debug_traceCall"
        else [accounts, block]
    )
    dispatcher = world.node.endpoints.evm[chain.evm.name].dispatcher
    answer = dispatcher.answer(call(method, message, "latest", *overrides).encode())
    assert answer is not None
    error = json.loads(answer)["error"]
    assert error["code"] == -32000
    assert "block base fee higher than 2^64-1" in error["message"]
