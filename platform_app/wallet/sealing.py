"""Secrets at rest: a key from the password by argon2id, and AES-256-GCM with it.

Of the password only a `PasswordLock` is kept. One derivation gives two independent keys: one seals, of
the other a mark is kept that tells a wrong password. Losing either says nothing about the other.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from typing import NamedTuple

from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from platform_app.wallet.errors import DamagedSeal, WrongPassword
from platform_app.wallet.passwords import encoded

SALT_SIZE = 16
NONCE_SIZE = 12
TAG_SIZE = 16
VERIFIER_SIZE = 32
_KEY_SIZE = 32


class Cost(NamedTuple):
    """What deriving a key takes of whoever tries a password."""

    passes: int
    memory: int
    """KiB."""
    lanes: int


COST = Cost(passes=3, memory=64 * 1024, lanes=4)
"""The memory and lanes of the reference, three passes for its one (RFC 9106, second choice)."""


@dataclass(frozen=True, slots=True)
class PasswordLock:
    """What is kept to recognize a password. It opens nothing."""

    salt: bytes
    cost: Cost
    verifier: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Cipher:
    """Seals and opens with a key that does not show."""

    key: bytes = field(repr=False)

    def seal(self, secret: bytes, context: bytes) -> bytes:
        """Return a fresh nonce and the encrypted secret; only the same context opens it."""
        nonce = secrets.token_bytes(NONCE_SIZE)
        return nonce + AESGCM(self.key).encrypt(nonce, secret, context)

    def open(self, sealed: bytes, context: bytes) -> bytes:
        """Return what was sealed.

        Raises:
            DamagedSeal: This was not sealed with this key in this context.
        """
        nonce, encrypted = sealed[:NONCE_SIZE], sealed[NONCE_SIZE:]
        if len(encrypted) < TAG_SIZE:
            raise DamagedSeal
        try:
            return AESGCM(self.key).decrypt(nonce, encrypted, context)
        except InvalidTag:
            raise DamagedSeal from None


def lock(password: str, cost: Cost) -> tuple[PasswordLock, Cipher]:
    """Return what to keep of a new password, with a fresh salt, and the cipher that it opens."""
    salt = secrets.token_bytes(SALT_SIZE)
    cipher, verifier = _derive(password, salt, cost)
    return PasswordLock(salt, cost, verifier), cipher


def unlock(locked: PasswordLock, password: str) -> Cipher:
    """Return the cipher of a lock. A wrong password takes as long as the right one.

    Raises:
        WrongPassword: It is not the lock's.
    """
    cipher, verifier = _derive(password, locked.salt, locked.cost)
    if not hmac.compare_digest(verifier, locked.verifier):
        raise WrongPassword
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
