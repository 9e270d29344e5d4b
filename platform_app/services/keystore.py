"""Users of this node's keystore, their keys, and limits on password attempts (pchain.md 8.3; gaps.md 5).

A user's wrong passwords are counted in Django's cache, which all processes share in production. After a few
free attempts, each wrong password locks the user for twice as long as the one before, whatever is tried
meanwhile; the correct password resets the count. An attacker can therefore lock a user out for five minutes at
a time; that is accepted. There is no count over all users, because an attacker could lock out all of them.
Unknown names are not counted either, because no password is right for them. Time is wall time, not the node's
clock, because callers may move that.

Each method changes rows in one transaction. Passwords are checked and keys derived before it begins, because
that is slow, and on SQLite a transaction blocks every other writer. A user who is deleted meanwhile
counts as a wrong password. Anyone can create users; NODE_KEYSTORE_USERS limits their number.

Unspecified: names are UTF-8 of at most 1024 bytes. An imported user already has a password, so its strength
is not checked, and it may get another name. Importing a key twice is not an error.
"""

import secrets
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from django.core.cache import cache

from chaindb import clock
from chaindb.attempts import AttemptLimit, Failures
from chaindb.locks import Lock
from platform_app.chain import PlatformChain
from platform_app.store import keystore as store
from platform_app.store.keystore import SealedKey
from platform_app.wallet import sealing
from platform_app.wallet.errors import (
    MAX_KEYS,
    MAX_NAME_SIZE,
    IncorrectPassword,
    KeystoreError,
    KeystoreReason,
    WrongPassword,
    not_retrieved,
    quoted,
)
from platform_app.wallet.requirements import verify_password
from platform_app.wallet.sealing import Cipher, PasswordLock, read_backup, write_backup
from primitives.ids import ShortID
from primitives.keys import SIZE, address_of
from primitives.secp256k1 import InvalidPrivateKey, verify_private_key

OF_USER: Final = AttemptLimit(free=5, longest=300, remembered=3600)


@contextmanager
def attempt(chain: PlatformChain, user_id: int) -> Iterator[None]:
    """Allow one password attempt for a user; a WrongPassword raised in the context is counted.

    Raises:
        KeystoreError: Too many attempts are in progress; too many attempts failed recently.
    """
    key = _key_of(chain, user_id)
    _verify_unlocked(key)  # a locked user takes no slot
    with chain.key_derivation.users.slot():
        _verify_unlocked(key)  # attempts that were ahead in the queue may have failed
        try:
            yield
        except WrongPassword:
            _failures().count(key)
            raise
    _failures().forget(key)


def _failures() -> Failures:
    return Failures(cache, OF_USER)


def _key_of(chain: PlatformChain, user_id: int) -> str:
    return chain.cache_key(f"keystore-user-{user_id}")


def _verify_unlocked(key: str) -> None:
    seconds = _failures().seconds_locked(key)
    if seconds:
        raise KeystoreError(KeystoreReason.TOO_MANY_ATTEMPTS, seconds=seconds)


def create_user(chain: PlatformChain, name: str, password: str) -> None:
    """Create a user without keys.

    Raises:
        KeystoreError: The name is not allowed; the name is taken; the node has the maximum
            number of users; too many passwords are being checked.
        WalletError: The password is not allowed.
    """
    _verify_free(chain, name)
    with chain.key_derivation.strangers.slot():
        verify_password(password)
        locked, _ = sealing.lock(password, sealing.COST)
    with chain.db.atomic(durable=True):
        _add_user(chain, name, locked)


def delete_user(chain: PlatformChain, name: str, password: str) -> None:
    """Delete a user with all its keys.

    Raises:
        KeystoreError: The name is not allowed; no user has this name; too many passwords were
            wrong recently; too many passwords are being checked.
        IncorrectPassword: The password is not the user's.
    """
    _verify_name(name)
    try:
        user = _open(chain, name, password)
    except IncorrectPassword:
        if store.user(chain.db, name) is None:
            raise KeystoreError(KeystoreReason.USER_MISSING, name=name) from None
        raise
    with chain.db.atomic(durable=True):
        # Locked first: a concurrent request to add a key has either finished, or finds no user.
        if not store.hold_user(chain.db, user.user_id):
            raise KeystoreError(KeystoreReason.USER_MISSING, name=name)
        store.delete_user(chain.db, user.user_id)


def list_users(chain: PlatformChain) -> list[str]:
    """Return the names of all users."""
    return store.user_names(chain.db)


def export_user(chain: PlatformChain, name: str, password: str) -> bytes:
    """Return a user, sealed with its password, in the form that another node can import.

    Raises as `delete_user`, except that an unknown name is an IncorrectPassword too.
    """
    user = _open(chain, name, password)
    keys = user.unsealed(store.keys(chain.db, user.user_id))
    with chain.key_derivation.users.slot():
        return write_backup(keys, password)


def import_user(chain: PlatformChain, name: str, password: str, exported: bytes) -> None:
    """Create a user from the result of `export_user` on this or another node.

    Raises:
        KeystoreError: The name is not allowed; the name is taken; the node has the maximum
            number of users; too many passwords are being checked.
        UnreadableBackup: The bytes are not an exported user, or are damaged.
        IncorrectPassword: They were sealed with another password.
    """
    _verify_free(chain, name)
    try:
        with chain.key_derivation.strangers.slot():
            keys = read_backup(exported, password)
    except WrongPassword:
        raise IncorrectPassword(KeystoreReason.INCORRECT_PASSWORD, name=quoted(name)) from None
    with chain.key_derivation.strangers.slot():
        locked, cipher = sealing.lock(password, sealing.COST)
    with chain.db.atomic(durable=True):
        user_id = _add_user(chain, name, locked)
        store.add_keys(chain.db, user_id, _OpenUser(user_id, name, cipher).sealed(keys))


def import_key(chain: PlatformChain, name: str, password: str, private_key: bytes) -> ShortID:
    """Add a private key of 32 bytes to a user, and return its address.

    Raises:
        KeystoreError: Name or password are wrong, or cannot be checked now; the user has the
            maximum number of keys.
        InvalidPrivateKey: The bytes are not a key.
    """
    address = address_of(private_key)
    user = _retrieve(chain, name, password)
    with chain.db.atomic(durable=True):
        if not store.hold_user(chain.db, user.user_id):
            raise not_retrieved(
                name, IncorrectPassword(KeystoreReason.INCORRECT_PASSWORD, name=quoted(name))
            )
        held = store.addresses(chain.db, user.user_id)
        if address in held:
            return address
        if len(held) >= MAX_KEYS:
            raise KeystoreError(KeystoreReason.TOO_MANY_KEYS)
        store.add_keys(chain.db, user.user_id, user.sealed([private_key]))
    return address


def export_key(chain: PlatformChain, name: str, password: str, address: ShortID) -> bytes:
    """Return the private key of one of a user's addresses, 32 bytes.

    Raises:
        KeystoreError: Name or password are wrong, or cannot be checked now; the user has no
            such address.
    """
    keys = keys_of(chain, name, password, among={address})
    if not keys:
        raise KeystoreError(KeystoreReason.KEY_MISSING)
    return keys[0]


def create_address(chain: PlatformChain, name: str, password: str) -> ShortID:
    """Create a new key for a user, and return its address. Raises as `import_key`."""
    return import_key(chain, name, password, _new_private_key())


def list_addresses(chain: PlatformChain, name: str, password: str) -> list[ShortID]:
    """Return a user's addresses, the oldest first.

    Raises:
        KeystoreError: Name or password are wrong, or cannot be checked now.
    """
    return store.addresses(chain.db, _retrieve(chain, name, password).user_id)


def keys_of(
    chain: PlatformChain, name: str, password: str, *, among: Collection[ShortID] = ()
) -> list[bytes]:
    """Return a user's private keys, the oldest first, for signing.

    Args:
        chain: The chain with the keystore.
        name: The user's name.
        password: The user's password.
        among: Return only the keys of these addresses; default: all. Other users' addresses are ignored.

    Raises:
        KeystoreError: Name or password are wrong, or cannot be checked now.
    """
    user = _retrieve(chain, name, password)
    return user.unsealed(store.keys(chain.db, user.user_id, among))


@dataclass(frozen=True, slots=True)
class _OpenUser:
    """A user whose password was verified. The cipher's repr does not show its key."""

    user_id: int
    name: str
    cipher: Cipher

    def sealed(self, keys: Iterable[bytes]) -> list[SealedKey]:
        """Return private keys in their stored form."""
        named = [(address_of(key), key) for key in keys]
        return [
            SealedKey(address, self.cipher.seal(key, self._context(address)))
            for address, key in named
        ]

    def unsealed(self, keys: Iterable[SealedKey]) -> list[bytes]:
        """Return private keys from their stored form."""
        return [self.cipher.open(key.sealed, self._context(key.address)) for key in keys]

    def _context(self, address: ShortID) -> bytes:
        """Return the context that a seal is bound to: it does not open for another name or address."""
        return b"keystore key\0" + self.name.encode() + b"\0" + address


def _retrieve(chain: PlatformChain, name: str, password: str) -> _OpenUser:
    """Open a user, with the error messages of the P-Chain's methods."""
    try:
        return _open(chain, name, password)
    except KeystoreError as reason:
        raise not_retrieved(name, reason) from None


def _open(chain: PlatformChain, name: str, password: str) -> _OpenUser:
    """Open a user. An unknown name takes as long to reject as a wrong password."""
    _verify_name(name)
    stored = store.user(chain.db, name)
    locked = stored.lock if stored else sealing.decoy(sealing.COST)
    try:
        with attempt(chain, stored.user_id) if stored else chain.key_derivation.strangers.slot():
            cipher = sealing.unlock(locked, password)
    except WrongPassword:
        raise IncorrectPassword(KeystoreReason.INCORRECT_PASSWORD, name=quoted(name)) from None
    assert stored is not None, "a decoy opens for nobody"
    return _OpenUser(stored.user_id, stored.name, cipher)


def _verify_free(chain: PlatformChain, name: str) -> None:
    _verify_name(name)
    if store.user(chain.db, name) is not None:
        raise KeystoreError(KeystoreReason.USER_EXISTS, name=name)
    _verify_room(chain)


def _verify_room(chain: PlatformChain) -> None:
    most = chain.settings.keystore_users
    if store.user_count(chain.db) >= most:
        raise KeystoreError(KeystoreReason.TOO_MANY_USERS, most=most)


def _add_user(chain: PlatformChain, name: str, locked: PasswordLock) -> int:
    """Write a user and return its key; checks again, because other users may have been created meanwhile."""
    chain.db.acquire(Lock.KEYSTORE)
    _verify_room(chain)
    user_id = store.add_user(chain.db, name, locked, clock.now())
    if user_id is None:
        raise KeystoreError(KeystoreReason.USER_EXISTS, name=name)
    return user_id


def _verify_name(name: str) -> None:
    if not name:
        raise KeystoreError(KeystoreReason.EMPTY_USERNAME)
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        raise KeystoreError(KeystoreReason.UNSTORABLE_USERNAME) from None
    if len(encoded) > MAX_NAME_SIZE:
        raise KeystoreError(KeystoreReason.USERNAME_TOO_LONG)
    if b"\0" in encoded:
        raise KeystoreError(KeystoreReason.UNSTORABLE_USERNAME)


def _new_private_key() -> bytes:
    while True:
        key = secrets.token_bytes(SIZE)
        try:
            verify_private_key(key)
        except InvalidPrivateKey:  # probability 2^-128
            continue
        return key
