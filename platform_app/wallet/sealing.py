"""Encryption of stored secrets: a key derived from the password by argon2id, used with AES-256-GCM.

Only a `PasswordLock` of the password is stored. One derivation gives two independent keys: one encrypts, and
from the other a verifier is stored that detects a wrong password. Neither reveals anything about the other.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from typing import NamedTuple

from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from platform_app.wallet.errors import DamagedSeal, WalletReason, WrongPassword
from platform_app.wallet.passwords import encoded

SALT_SIZE = 16
NONCE_SIZE = 12
TAG_SIZE = 16
VERIFIER_SIZE = 32
_KEY_SIZE = 32


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
