"""Users of this node's keystore and their keys (pchain.md 8.3; gaps.md 5).

What a method changes is one transaction. Passwords are judged and keys derived before it begins: that
takes long, and on SQLite a transaction keeps every other writer waiting. A user who is deleted meanwhile
is a user with another password. Anybody can make users: NODE_KEYSTORE_USERS says how many there may be.

Unspecified: names are bytes of UTF-8, at most 1024 of them. An imported user needs no strong password,
it has one already, and may be given another name. Importing a key twice is no error.
"""

import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction as database

from chaindb import clock
from chaindb.locks import Lock, acquire
from platform_app.apps import platform_chain
from platform_app.services.keystore_errors import (
    MAX_KEYS,
    MAX_NAME_SIZE,
    EmptyUsername,
    IncorrectPassword,
    KeyMissing,
    KeystoreError,
    TooManyKeys,
    TooManyUsers,
    UnstorableUsername,
    UserExists,
    UserMissing,
    UsernameTooLong,
    UserNotRetrieved,
)
from platform_app.services.keystore_guard import STRANGERS, USERS, attempt
from platform_app.store import keystore as store
from platform_app.store.keystore import SealedKey
from platform_app.wallet import sealing
from platform_app.wallet.backup import read_backup, write_backup
from platform_app.wallet.errors import WrongPassword
from platform_app.wallet.passwords import verify_password
from platform_app.wallet.sealing import Cipher, PasswordLock
from primitives.ids import ShortID
from primitives.keys import SIZE, address_of
from primitives.secp256k1 import InvalidPrivateKey, verify_private_key


def create_user(name: str, password: str) -> None:
    """Make a user without keys.

    Raises:
        InvalidUsername: Nobody can have this name.
        UserExists: Somebody has it.
        TooManyUsers: The node has as many as may be.
        RefusedPassword: Nobody may have this password.
        KeystoreBusy: Too many passwords are looked at just now.
    """
    _verify_free(name)
    with STRANGERS.place():
        verify_password(password)
        locked, _ = sealing.lock(password, sealing.COST)
    with database.atomic(durable=True):
        _add_user(name, locked)


def delete_user(name: str, password: str) -> None:
    """Delete a user with all its keys.

    Raises:
        InvalidUsername: Nobody can have this name.
        UserMissing: Nobody has it.
        IncorrectPassword: The password is not the user's.
        TooManyAttempts: Too many passwords were wrong lately.
        KeystoreBusy: Too many are looked at just now.
    """
    _verify_name(name)
    try:
        user = _open(name, password)
    except IncorrectPassword:
        if store.user(platform_chain().db, name) is None:
            raise UserMissing(name) from None
        raise
    with database.atomic(durable=True):
        # Held first: who is giving the user a key has done so, or finds no user any more.
        if not store.hold_user(platform_chain().db, user.user_id):
            raise UserMissing(name)
        store.delete_user(platform_chain().db, user.user_id)


def list_users() -> list[str]:
    """Return the names of all users."""
    return store.user_names(platform_chain().db)


def export_user(name: str, password: str) -> bytes:
    """Return a user as another node can import it, sealed with its password.

    Raises as `delete_user`, but that nobody has the name is an IncorrectPassword too.
    """
    user = _open(name, password)
    keys = user.unsealed(store.keys(platform_chain().db, user.user_id))
    with USERS.place():
        return write_backup(keys, password)


def import_user(name: str, password: str, exported: bytes) -> None:
    """Make a user of what `export_user` has returned, on this node or on another.

    Raises:
        InvalidUsername: Nobody can have this name.
        UserExists: Somebody has it.
        TooManyUsers: The node has as many as may be.
        UnreadableBackup: The bytes are no exported user, or damaged.
        IncorrectPassword: They were sealed with another password.
        KeystoreBusy: Too many are looked at just now.
    """
    _verify_free(name)
    try:
        with STRANGERS.place():
            keys = read_backup(exported, password)
    except WrongPassword:
        raise IncorrectPassword(name) from None
    with STRANGERS.place():
        locked, cipher = sealing.lock(password, sealing.COST)
    with database.atomic(durable=True):
        user_id = _add_user(name, locked)
        store.add_keys(platform_chain().db, user_id, _OpenUser(user_id, name, cipher).sealed(keys))


def import_key(name: str, password: str, private_key: bytes) -> ShortID:
    """Give a user a private key of 32 bytes, and return its address.

    Raises:
        UserNotRetrieved: Name or password are wrong, or cannot be tried now.
        InvalidPrivateKey: The bytes are no key.
        TooManyKeys: The user has as many as may be.
    """
    address = address_of(private_key)
    user = _retrieve(name, password)
    with database.atomic(durable=True):
        if not store.hold_user(platform_chain().db, user.user_id):
            raise UserNotRetrieved(name, IncorrectPassword(name))
        held = store.addresses(platform_chain().db, user.user_id)
        if address in held:
            return address
        if len(held) >= MAX_KEYS:
            raise TooManyKeys
        store.add_keys(platform_chain().db, user.user_id, user.sealed([private_key]))
    return address


def export_key(name: str, password: str, address: ShortID) -> bytes:
    """Return the private key of one of a user's addresses, 32 bytes.

    Raises:
        UserNotRetrieved: Name or password are wrong, or cannot be tried now.
        KeyMissing: The user has no such address.
    """
    keys = keys_of(name, password, among={address})
    if not keys:
        raise KeyMissing
    return keys[0]


def create_address(name: str, password: str) -> ShortID:
    """Give a user a new key, and return its address. Raises as `import_key`."""
    return import_key(name, password, _new_private_key())


def list_addresses(name: str, password: str) -> list[ShortID]:
    """Return a user's addresses, the oldest first.

    Raises:
        UserNotRetrieved: Name or password are wrong, or cannot be tried now.
    """
    return store.addresses(platform_chain().db, _retrieve(name, password).user_id)


def keys_of(name: str, password: str, *, among: Collection[ShortID] = ()) -> list[bytes]:
    """Return a user's private keys, the oldest first, for signing.

    Args:
        name: Whose.
        password: Theirs.
        among: Only those of these addresses; all without. Addresses of others are ignored.

    Raises:
        UserNotRetrieved: Name or password are wrong, or cannot be tried now.
    """
    user = _retrieve(name, password)
    return user.unsealed(store.keys(platform_chain().db, user.user_id, among))


@dataclass(frozen=True, slots=True)
class _OpenUser:
    """A user who has shown the password. The cipher does not show its key."""

    user_id: int
    name: str
    cipher: Cipher

    def sealed(self, keys: Iterable[bytes]) -> list[SealedKey]:
        """Return private keys as they are stored."""
        named = [(address_of(key), key) for key in keys]
        return [
            SealedKey(address, self.cipher.seal(key, self._context(address)))
            for address, key in named
        ]

    def unsealed(self, keys: Iterable[SealedKey]) -> list[bytes]:
        """Return the private keys that were stored."""
        return [self.cipher.open(key.sealed, self._context(key.address)) for key in keys]

    def _context(self, address: ShortID) -> bytes:
        """Return what a seal is bound to: it does not open for another name or address."""
        return b"keystore key\0" + self.name.encode() + b"\0" + address


def _retrieve(name: str, password: str) -> _OpenUser:
    """Open a user, in the words of the P-Chain's methods."""
    try:
        return _open(name, password)
    except KeystoreError as reason:
        raise UserNotRetrieved(name, reason) from None


def _open(name: str, password: str) -> _OpenUser:
    """Open a user. That there is none costs as much to find out as that the password is wrong."""
    _verify_name(name)
    stored = store.user(platform_chain().db, name)
    locked = stored.lock if stored else sealing.decoy(sealing.COST)
    try:
        with attempt(stored.user_id) if stored else STRANGERS.place():
            cipher = sealing.unlock(locked, password)
    except WrongPassword:
        raise IncorrectPassword(name) from None
    assert stored is not None, "a decoy opens for nobody"
    return _OpenUser(stored.user_id, stored.name, cipher)


def _verify_free(name: str) -> None:
    _verify_name(name)
    if store.user(platform_chain().db, name) is not None:
        raise UserExists(name)
    _verify_room()


def _verify_room() -> None:
    most = settings.NODE.keystore_users
    if store.user_count(platform_chain().db) >= most:
        raise TooManyUsers(most)


def _add_user(name: str, locked: PasswordLock) -> int:
    """Write a user and return its key; others may have been made since the name was free."""
    acquire(Lock.KEYSTORE)
    _verify_room()
    user_id = store.add_user(platform_chain().db, name, locked, clock.now())
    if user_id is None:
        raise UserExists(name)
    return user_id


def _verify_name(name: str) -> None:
    if not name:
        raise EmptyUsername
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        raise UnstorableUsername from None
    if len(encoded) > MAX_NAME_SIZE:
        raise UsernameTooLong
    if b"\0" in encoded:
        raise UnstorableUsername


def _new_private_key() -> bytes:
    while True:
        key = secrets.token_bytes(SIZE)
        try:
            verify_private_key(key)
        except InvalidPrivateKey:  # once in 2^128
            continue
        return key
