"""Accounts and signed transactions, made before any clock starts.

Every server runs the same chain ID, and every account starts with nonce 0, so the same signed bytes
serve them all.
"""

from dataclasses import dataclass
from functools import cache

from coincurve import PrivateKey

from primitives import rlp
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.secp256k1 import address_of_private_key

CHAIN_ID = 43112
GWEI = 10**9
MAX_FEE = 100 * GWEI
"""Wei for each gas: far above the base fee that any workload drives up."""

TRANSFER_GAS = 21_000
CALL_GAS = 150_000
"""Enough for a token transfer to a new holder."""


@dataclass(frozen=True, slots=True)
class Account:
    """A key that signs."""

    key: PrivateKey
    address: Address

    @property
    def text(self) -> str:
        """The address as 0x hex."""
        return "0x" + self.address.hex()


@cache
def account(purpose: str, index: int = 0) -> Account:
    """Return the account that a workload uses for a purpose, always the same one."""
    return account_of(keccak256(f"{purpose} {index}".encode()))


def account_of(secret: bytes) -> Account:
    """Return the account of a private key."""
    return Account(PrivateKey(secret), address_of_private_key(secret))


def sign(
    sender: Account,
    nonce: int,
    to: Address | None,
    *,
    value: int = 0,
    data: bytes = b"",
    gas: int = TRANSFER_GAS,
) -> str:
    """Return a signed EIP-1559 transaction as 0x hex; amounts in wei."""
    fields = [
        rlp.encode_uint(CHAIN_ID),
        rlp.encode_uint(nonce),
        rlp.encode_uint(GWEI),
        rlp.encode_uint(MAX_FEE),
        rlp.encode_uint(gas),
        rlp.encode_bytes(to or b""),
        rlp.encode_uint(value),
        rlp.encode_bytes(data),
        rlp.encode_list([]),
    ]
    digest = keccak256(b"\x02" + rlp.encode_list(fields))
    signature = sender.key.sign_recoverable(digest, hasher=None)
    fields += [
        rlp.encode_uint(signature[64]),
        rlp.encode_uint(int.from_bytes(signature[:32], "big")),
        rlp.encode_uint(int.from_bytes(signature[32:64], "big")),
    ]
    return "0x02" + rlp.encode_list(fields).hex()


def hash_of(raw: str) -> str:
    """Return the hash of a signed transaction as 0x hex."""
    return "0x" + keccak256(bytes.fromhex(raw[2:])).hex()


def contract_address(creator: Address, nonce: int) -> Address:
    """Return the address of the contract that a transaction creates."""
    encoded = rlp.encode_list([rlp.encode_bytes(creator), rlp.encode_uint(nonce)])
    return Address(keccak256(encoded)[12:])
