"""Accounts and signed transactions, made before any clock starts.

Every server has the same chain ID (chains of subnets have others), and every account starts with nonce 0, so the same signed bytes are
valid on all of them.
"""

from dataclasses import dataclass
from functools import cache

import rlp
from coincurve import PrivateKey
from eth_utils import keccak

CHAIN_ID = 43112
GWEI = 10**9
MAX_FEE = 100 * GWEI
"""Wei per gas: far above the base fee that any workload causes."""

TYPE = b"\x02"
"""EIP-1559."""
TRANSFER_GAS = 21_000
CALL_GAS = 150_000
"""Enough for a token transfer to a new holder."""


@dataclass(frozen=True, slots=True)
class Account:
    """A signing key and its address."""

    key: PrivateKey
    address: bytes

    @property
    def text(self) -> str:
        """The address as 0x-prefixed hex."""
        return "0x" + self.address.hex()


@cache
def account(purpose: str, index: int = 0) -> Account:
    """Return the account that a workload uses for a purpose; the result is always the same."""
    return account_of(keccak(f"{purpose} {index}".encode()))


def account_of(secret: bytes) -> Account:
    """Return the account of a private key."""
    key = PrivateKey(secret)
    return Account(key, keccak(key.public_key.format(compressed=False)[1:])[12:])


def sign(
    sender: Account,
    nonce: int,
    to: bytes | None,
    *,
    value: int = 0,
    data: bytes = b"",
    gas: int = TRANSFER_GAS,
    chain_id: int = CHAIN_ID,
) -> str:
    """Return a signed EIP-1559 transaction as 0x-prefixed hex; amounts in wei."""
    fields = [chain_id, nonce, GWEI, MAX_FEE, gas, to or b"", value, data, []]
    digest = keccak(TYPE + rlp.encode(fields))
    signature = sender.key.sign_recoverable(digest, hasher=None)
    r, s = (int.from_bytes(signature[at : at + 32], "big") for at in (0, 32))
    return "0x" + (TYPE + rlp.encode([*fields, signature[64], r, s])).hex()


def hash_of(raw: str) -> str:
    """Return the hash of a signed transaction as 0x-prefixed hex."""
    return "0x" + keccak(bytes.fromhex(raw[2:])).hex()


def contract_address(creator: bytes, nonce: int) -> bytes:
    """Return the address of the contract that a transaction creates."""
    return keccak(rlp.encode([creator, nonce]))[12:]
