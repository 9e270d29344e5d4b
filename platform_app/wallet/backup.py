"""An exported user for import on another node: all its keys, sealed with its password.

Two bytes of version, salt, verifier, then the sealed keys of 32 bytes each in order. The seal binds the
first three to the keys. A duplicate key counts once. Version 1 always has the costs of `VERSION_1`, because
bytes from another node must not determine how much memory reading them takes.

Unspecified: the reference's own format is private to its nodes, and so is this one.
"""

from collections.abc import Sequence

from platform_app.wallet.errors import DamagedSeal, WalletError, WalletReason
from platform_app.wallet.sealing import SALT_SIZE, VERIFIER_SIZE, Cost, PasswordLock, lock, unlock
from primitives.secp256k1 import InvalidPrivateKey, verify_private_key

VERSION = b"\0\1"
VERSION_1 = Cost(passes=3, memory=64 * 1024, lanes=4)
MAX_KEYS = 5000

_KEY_SIZE = 32
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
