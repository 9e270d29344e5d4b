"""A small chain whose transactions call, create, revert and self-destruct, for the tests of traces."""

from dataclasses import dataclass, field

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address
from tests.builders import bytecode
from tests.builders.bytecode import words
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.conftest import Chain

CODES = {
    "counter": bytecode.COUNTER,
    "proxy": bytecode.PROXY,
    "factory": bytecode.FACTORY,
    "destroyer": bytecode.DESTROYER,
    "reverter": bytecode.ECHO_REVERT,
    "logger": bytecode.LOGGER,
    "loop": bytecode.LOOP,
    "delegator": bytecode.DELEGATOR,
    "recursion": bytecode.RECURSION,
}
ADDRESSES = {name: bytecode.created(SENDER, nonce) for nonce, name in enumerate(CODES)}
CREATED = bytecode.created2(ADDRESSES["factory"], 7, bytecode.deploy_code(bytecode.DESTROYER))
"""The contract that the factory creates."""


@dataclass
class TracedChain:
    """The chain, and the positions of its transactions."""

    chain: Chain
    sent: dict[str, Transaction] = field(default_factory=dict)
    deployed: AcceptedBlock | None = None
    block: AcceptedBlock | None = None
    """The block with all transactions in `sent`."""

    def index(self, name: str) -> int:
        """Return the index of a transaction in the block."""
        return list(self.sent).index(name)

    def hash(self, name: str) -> str:
        """Return a transaction's hash as hex."""
        return hexed(self.sent[name].hash)


def hexed(data: bytes) -> str:
    """Return bytes as 0x-prefixed hex."""
    return "0x" + data.hex()


def traced_chain(chain: Chain) -> TracedChain:
    """Make block 1 with the contracts, block 2 with calls of them, and an empty block 3."""
    made = TracedChain(chain)
    code = [
        chain.make(to=None, data=bytecode.deploy_code(item), gas=300_000, value=0)
        for item in CODES.values()
    ]
    chain.send(*code)
    made.deployed = chain.mine()
    made.sent = {
        name: chain.make(**{"gas": 200_000, **fields}) for name, fields in _calls().items()
    }
    chain.send(*made.sent.values())
    made.block = chain.mine()
    assert list(made.block.transactions) == list(made.sent.values())
    chain.mine()
    return made


def _calls() -> dict[str, dict[str, object]]:
    at = ADDRESSES
    reason = bytes.fromhex("08c379a0") + words(32, 2) + b"no".ljust(32, b"\0")
    return {
        "transfer": {"to": RECIPIENT, "value": 5},
        "count": {"to": at["counter"], "value": 0},
        "count_again": {"to": at["proxy"], "value": 0, "data": words(at["counter"])},
        "create": {
            "to": at["factory"],
            "value": 9,
            "data": words(7) + bytecode.deploy_code(bytecode.DESTROYER),
        },
        "pay_and_destroy": {
            "to": at["proxy"],
            "value": 3,
            "data": words(CREATED) + words(RECIPIENT),
        },
        "revert": {"to": at["reverter"], "value": 0, "data": reason},
        "inner_revert": {"to": at["proxy"], "value": 0, "data": words(at["reverter"]) + reason},
        "logs": {"to": at["proxy"], "value": 0, "data": words(at["logger"]) + b"\x2a"},
        "out_of_gas": {"to": at["loop"], "value": 0, "gas": 30_000},
        "precompile": {
            "to": at["proxy"],
            "value": 0,
            "data": words(Address(bytes(19) + b"\x04")) + b"\x01",
        },
        "delegate": {"to": at["delegator"], "value": 0, "data": words(at["counter"])},
        "deploy": {"to": None, "value": 0, "data": bytecode.deploy_code(bytecode.STORE)},
    }
