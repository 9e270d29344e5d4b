"""The contracts of the workloads: the bytecode in `contracts/*.hex`, and calls of their functions.

Source: contracts/Bench.sol, compiled by solc 0.8.30 with `--evm-version shanghai --optimize
--optimize-runs 1000 --metadata-hash none --no-cbor-metadata`; one file for each contract. Slots.hex
and Loops.hex were assembled manually from the files with the same names.
"""

from collections.abc import Sequence
from pathlib import Path

from eth_utils import keccak

DIRECTORY = Path(__file__).with_name("contracts")
TRANSFER_TOPIC = "0x" + keccak(b"Transfer(address,address,uint256)").hex()


def creation_code(name: str) -> bytes:
    """Return the data of a transaction without recipient that creates the contract."""
    return bytes.fromhex((DIRECTORY / f"{name}.hex").read_text().strip())


def call_data(signature: str, *arguments: int | bytes) -> bytes:
    """Return the data of a call whose arguments take one word each."""
    words = (
        argument.to_bytes(32, "big") if isinstance(argument, int) else argument.rjust(32, b"\0")
        for argument in arguments
    )
    return keccak(signature.encode())[:4] + b"".join(words)


def transfer(to: bytes, amount: int) -> bytes:
    """Return the data of a call of Token.transfer."""
    return call_data("transfer(address,uint256)", to, amount)


def pay(to: Sequence[bytes]) -> bytes:
    """Return the data of a call of Disperser.pay."""
    return call_data("pay(address[])", 32, len(to), *to)
