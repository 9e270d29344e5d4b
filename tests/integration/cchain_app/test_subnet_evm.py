"""Methods whose answers depend on what is special about the blocks of chains of subnets."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.conf import settings

from cchain_app.api import EvmRpc, registry
from cchain_app.blocks.accepted import AcceptedBlock, make_block
from cchain_app.chain import EvmChain
from cchain_app.precompiles import addresses
from cchain_app.rules.subnet_evm.rules import SubnetEvmRuleSet
from cchain_app.selectors.state import state_after
from cchain_app.services import transactions
from cchain_app.services.genesis import load_genesis
from cchain_app.services.runtime import EvmRuntime
from chaindb.database import Database
from jsonrpc.dispatch.dispatcher import Dispatcher
from primitives.evm import Address, Hash
from primitives.hexadecimal import encode_data
from primitives.ids import ID
from primitives.upgrades import OWN_NETWORK
from tests.builders.bytecode import assemble, words
from tests.builders.evm_chains import produce
from tests.builders.node_settings import updated
from tests.builders.subnet_evm import subnet_genesis
from tests.builders.transactions import CHAIN_ID, SENDER, signed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite_only]

TIME = 0x6553F100
"""The genesis's."""
BEGIN = TIME + 50
GWEI = 10**9
MINTED = Address(b"\x72" * 20)
MINT = bytes.fromhex("4f5aaaba") + words(MINTED, 7)


@dataclass
class SubnetNode:
    """A node with a chain of a subnet, in whose block 1 a native minter begins."""

    engine: str

    def __post_init__(self) -> None:
        node = updated(settings.NODE, mining="manual", engine=self.engine)
        roles = {"blockTimestamp": BEGIN, "adminAddresses": [encode_data(SENDER)]}
        text = subnet_genesis(CHAIN_ID, contractNativeMinterConfig=roles)
        self.chain = EvmChain(
            node.common,
            node.cchain,
            Database(),
            aliases=("C",),
            blockchain_id=lambda: ID(b"\x0c" * 32),
            genesis_file=lambda: text,
            rule_set=SubnetEvmRuleSet(OWN_NETWORK, lambda block: state_after(self.chain, block)),
        )
        load_genesis(self.chain)
        self.runtime = EvmRuntime(self.chain)
        self.dispatcher = Dispatcher(registry(EvmRpc(self.runtime)))

    def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a method, or its error."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.dispatcher.answer(json.dumps(body).encode(), None)
        assert answer is not None
        found = json.loads(answer)
        return found["error"] if "error" in found else found["result"]

    def mined(self, **fields: Any) -> AcceptedBlock:
        """Send a transaction; return its block."""
        sent = signed(**{"gas": 500_000, "value": 0, "max_fee_per_gas": 100 * GWEI, **fields})
        assert transactions.submit(self.runtime, [sent.raw]) == [sent.hash]
        block = produce(self.runtime, now=BEGIN)
        assert block is not None
        (receipt,) = block.receipts
        assert receipt.succeeded
        return block


@pytest.fixture(params=["native", "reference"])
def subnet(request: pytest.FixtureRequest) -> SubnetNode:
    return SubnetNode(request.param)


def test_blocks_that_a_client_submits_are_traced_with_the_precompiles_that_begin(
    subnet: SubnetNode,
) -> None:
    block = subnet.mined(nonce=0, to=addresses.NATIVE_MINTER, data=MINT)
    header = replace(block.header, state_root=Hash(b"\x05" * 32))
    other = make_block(header, block.transactions, block.receipts)
    tracer = {"tracer": "callTracer"}

    traced = subnet.ask("debug_traceBlockByNumber", "0x1", tracer)
    assert "error" not in traced[0]["result"]
    for raw in (block.raw, other.raw):
        assert subnet.ask("debug_traceBlock", encode_data(raw), tracer) == traced


def test_simulated_blocks_are_those_that_the_chain_makes_and_pay_the_base_fee(
    subnet: SubnetNode,
) -> None:
    reader = "0x" + "aa" * 20
    code = encode_data(assemble("COINBASE BALANCE 0 MSTORE 32 0 RETURN"))
    call = {
        "from": encode_data(SENDER),
        "to": reader,
        "gas": hex(30_000),
        "maxFeePerGas": hex(100 * GWEI),
    }
    empty, paying, asking = subnet.ask(
        "eth_simulateV1",
        {
            "blockStateCalls": [
                {"blockOverrides": {"time": hex(BEGIN)}},
                {"calls": [call]},
                {"calls": [call], "stateOverrides": {reader: {"code": code}}},
            ],
            "validation": True,
        },
        "latest",
    )
    made = produce(subnet.runtime, now=BEGIN, allow_empty=True)
    assert made is not None
    assert empty["hash"] == encode_data(made.hash)
    paid = int(paying["baseFeePerGas"], 16) * 21_000
    assert paid > 0
    assert int(asking["calls"][0]["returnData"], 16) == paid
