"""The log names functions and errors by the ABIs of verified contracts."""

import json
import logging

import pytest

from explorer_app.selectors.signatures import SECONDS, DeclaredSignatures
from explorer_app.services.supplied_abis import supply_abi
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.printable import COLOUR
from tests.builders import bytecode
from tests.builders.bytecode import words
from tests.builders.transactions import SENDER
from tests.integration.conftest import Chain, Rpc

ABI = json.dumps(
    [
        {"type": "error", "name": "Broke", "inputs": [{"name": "debt", "type": "uint256"}]},
        {"type": "function", "name": "pay", "inputs": [], "outputs": [], "stateMutability": "view"},
    ]
)
BROKE = keccak256(b"Broke(uint256)")[:4] + words(12)


@pytest.fixture
def reverter(chain: Chain) -> Address:
    """A contract that reverts with its input."""
    address = bytecode.created(SENDER, chain.nonce)
    chain.do(to=None, data=bytecode.deploy_code(bytecode.ECHO_REVERT), gas=500_000, value=0)
    return address


def test_missing_signatures_are_read_again_later(chain: Chain, reverter: Address) -> None:
    now = 0.0
    declared = DeclaredSignatures(chain.evm, clock=lambda: now)
    assert declared(reverter) is None

    supply_abi(this_node().explorer, reverter, ABI)
    assert declared(reverter) is None
    now = SECONDS
    known = declared(reverter)
    assert known is not None
    assert known.error(BROKE) == "Broke(12)"
    assert known.method(keccak256(b"pay()")[:4]) == "pay()"
    assert declared(Address(SENDER)) is None


def test_transaction_log_uses_declared_signatures(
    chain: Chain, reverter: Address, rpc: Rpc, caplog: pytest.LogCaptureFixture
) -> None:
    supply_abi(this_node().explorer, reverter, ABI)
    log = this_node().transaction_logs["C"]
    log.begin(in_thread=False)
    with caplog.at_level(logging.INFO, "node.calls"), pytest.raises(JsonRpcError):
        rpc("eth_call", {"to": f"0x{reverter.hex()}", "input": f"0x{BROKE.hex()}"})
    log.work_off()
    log.end()

    (record,) = [item for item in caplog.records if item.name == "node.calls"]
    assert COLOUR.sub("", record.getMessage()) == (
        "eth_call\n  Error:               reverted with custom error Broke(12)"
    )
