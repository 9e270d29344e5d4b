"""Encryption of stored secrets and of exported users: a key derived by argon2id, used with AES-256-GCM.

Only a `PasswordLock` of the password is stored. One derivation gives two independent keys: one encrypts, and
from the other a verifier is stored that detects a wrong password. Neither reveals anything about the other.

An exported user has two bytes of version, salt, verifier, then the sealed keys of 32 bytes each in order.
The seal binds the first three to the keys. A duplicate key counts once. Version 1 always has the costs of
`VERSION_1`, because bytes from another node must not determine how much memory reading them takes.

Unspecified: the reference's own format of an exported user is private to its nodes, and so is this one.
"""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from platform_app.wallet.errors import (
    MAX_KEYS,
    DamagedSeal,
    WalletError,
    WalletReason,
    WrongPassword,
)
from platform_app.wallet.requirements import encoded
from primitives.secp256k1 import InvalidPrivateKey, verify_private_key

SALT_SIZE = 16
NONCE_SIZE = 12
TAG_SIZE = 16
VERIFIER_SIZE = 32
_KEY_SIZE = 32
"""Bytes of an AES key, and of a private key."""


class Cost(NamedTuple):
    """The cost of deriving a key, for every attempt at a password."""

    passes: int
    memory: int
    """In KiB."""
    lanes: int


COST = Cost(passes=3, memory=64 * 1024, lanes=4)
"""The memory and lanes of the reference, but three passes instead of one (RFC 9106, second choice)."""


@dataclass(frozen=True, slots=True)
class PasswordLock:
    """The stored data for verifying a password. It decrypts nothing."""

    salt: bytes
    cost: Cost
    verifier: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Cipher:
    """Encrypts and decrypts with a key that its repr does not show."""

    key: bytes = field(repr=False)

    def seal(self, secret: bytes, context: bytes) -> bytes:
        """Return a fresh nonce and the encrypted secret; decryption needs the same context."""
        nonce = secrets.token_bytes(NONCE_SIZE)
        return nonce + AESGCM(self.key).encrypt(nonce, secret, context)

    def open(self, sealed: bytes, context: bytes) -> bytes:
        """Return the decrypted secret.

        Raises:
            DamagedSeal: The data was not encrypted with this key in this context.
        """
        nonce, encrypted = sealed[:NONCE_SIZE], sealed[NONCE_SIZE:]
        if len(encrypted) < TAG_SIZE:
            raise DamagedSeal(WalletReason.DAMAGED_SEAL)
        try:
            return AESGCM(self.key).decrypt(nonce, encrypted, context)
        except InvalidTag:
            raise DamagedSeal(WalletReason.DAMAGED_SEAL) from None


def lock(password: str, cost: Cost) -> tuple[PasswordLock, Cipher]:
    """Return the data to store for a new password, with a fresh salt, and its cipher."""
    salt = secrets.token_bytes(SALT_SIZE)
    cipher, verifier = _derive(password, salt, cost)
    return PasswordLock(salt, cost, verifier), cipher


def unlock(locked: PasswordLock, password: str) -> Cipher:
    """Return the cipher of a lock. A wrong password takes as long as the correct one.

    Raises:
        WrongPassword: It is not the lock's password.
    """
    cipher, verifier = _derive(password, locked.salt, locked.cost)
    if not hmac.compare_digest(verifier, locked.verifier):
        raise WrongPassword(WalletReason.WRONG_PASSWORD)
    return cipher


def decoy(cost: Cost) -> PasswordLock:
    """Return a lock that no password opens, for users who do not exist."""
    return PasswordLock(secrets.token_bytes(SALT_SIZE), cost, secrets.token_bytes(VERIFIER_SIZE))


def _derive(password: str, salt: bytes, cost: Cost) -> tuple[Cipher, bytes]:
    root = hash_secret_raw(
        encoded(password),
        salt,
        time_cost=cost.passes,
        memory_cost=cost.memory,
        parallelism=cost.lanes,
        hash_len=_KEY_SIZE,
        type=Type.ID,
    )
    return Cipher(hmac.digest(root, b"seal", "sha256")), hmac.digest(root, b"verify", "sha256")


VERSION = b"\0\1"
VERSION_1 = Cost(passes=3, memory=64 * 1024, lanes=4)

_HEADER_SIZE = len(VERSION) + SALT_SIZE + VERIFIER_SIZE


def write_backup(keys: Sequence[bytes], password: str) -> bytes:
    """Return private keys sealed with a password; deriving the key is slow."""
    locked, cipher = lock(password, VERSION_1)
    header = VERSION + locked.salt + locked.verifier
    return header + cipher.seal(b"".join(keys), header)


def read_backup(data: bytes, password: str) -> list[bytes]:
    """Return the private keys of a backup; deriving the key is slow.

    Raises:
        WalletError: It is not a backup, has another version, or is damaged.
        WrongPassword: It was created with another password.
    """
    header, sealed = data[:_HEADER_SIZE], data[_HEADER_SIZE:]
    if len(header) < _HEADER_SIZE or not header.startswith(VERSION):
        raise WalletError(WalletReason.UNREADABLE_EXPORT)
    salt, verifier = header[len(VERSION) : -VERIFIER_SIZE], header[-VERIFIER_SIZE:]
    cipher = unlock(PasswordLock(salt, VERSION_1, verifier), password)
    try:
        return _keys(cipher.open(sealed, header))
    except (DamagedSeal, InvalidPrivateKey):
        raise WalletError(WalletReason.UNREADABLE_EXPORT) from None


def _keys(joined: bytes) -> list[bytes]:
    keys = [joined[start : start + _KEY_SIZE] for start in range(0, len(joined), _KEY_SIZE)]
    if len(keys) > MAX_KEYS:
        raise WalletError(WalletReason.UNREADABLE_EXPORT)
    for key in keys:
        verify_private_key(key)
    return list(dict.fromkeys(keys))
