"""Contracts and entries for tests of the transaction log."""

import eth_abi
import pytest

from primitives.hashing import keccak256
from primitives.printable import COLOUR
from tests.builders import bytecode
from tests.builders.bytecode import words
from tests.builders.transactions import SENDER

TELLER, REVERTER, PROXY, FOURTH = (bytecode.created(SENDER, nonce) for nonce in range(4))
PASSING_ON = bytecode.assemble(
    "32 CALLDATASIZE SUB 32 0 CALLDATACOPY 0 0 32 CALLDATASIZE SUB 0 0 0 CALLDATALOAD GAS CALL POP "
    "RETURNDATASIZE 0 0 RETURNDATACOPY RETURNDATASIZE 0 REVERT"
)
"""(address, data): CALL, then a revert with its output."""


def encoded(signature: str, *values: object) -> bytes:
    inside = signature.partition("(")[2][:-1].split(",")
    return keccak256(signature.encode())[:4] + eth_abi.encode(inside, values)


def reverting(told: bytes, data: bytes) -> bytes:
    return words(len(told)) + told + data


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def entries(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        COLOUR.sub("", record.getMessage())
        for record in caplog.records
        if record.name.startswith("node.")
    ]
