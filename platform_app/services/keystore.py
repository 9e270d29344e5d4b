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

from chaindb import clock
from chaindb.locks import Lock
from platform_app.chain import PlatformChain
from platform_app.services.keystore_guard import attempt
from platform_app.store import keystore as store
from platform_app.store.keystore import SealedKey
from platform_app.wallet import sealing
from platform_app.wallet.backup import read_backup, write_backup
from platform_app.wallet.errors import WrongPassword
from platform_app.wallet.keystore_errors import (
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
from platform_app.wallet.passwords import verify_password
from platform_app.wallet.sealing import Cipher, PasswordLock
from primitives.ids import ShortID
from primitives.keys import SIZE, address_of
from primitives.secp256k1 import InvalidPrivateKey, verify_private_key


def create_user(chain: PlatformChain, name: str, password: str) -> None:
    """Make a user without keys.

    Raises:
        InvalidUsername: Nobody can have this name.
        UserExists: Somebody has it.
        TooManyUsers: The node has as many as may be.
        RefusedPassword: Nobody may have this password.
        KeystoreBusy: Too many passwords are looked at just now.
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
        InvalidUsername: Nobody can have this name.
        UserMissing: Nobody has it.
        IncorrectPassword: The password is not the user's.
        TooManyAttempts: Too many passwords were wrong recently.
        KeystoreBusy: Too many are looked at just now.
    """
    _verify_name(name)
    try:
        user = _open(chain, name, password)
    except IncorrectPassword:
        if store.user(chain.db, name) is None:
            raise UserMissing(name) from None
        raise
    with chain.db.atomic(durable=True):
        # Held first: who is giving the user a key has done so, or finds no user any more.
        if not store.hold_user(chain.db, user.user_id):
            raise UserMissing(name)
        store.delete_user(chain.db, user.user_id)


def list_users(chain: PlatformChain) -> list[str]:
    """Return the names of all users."""
    return store.user_names(chain.db)


def export_user(chain: PlatformChain, name: str, password: str) -> bytes:
    """Return a user as another node can import it, sealed with its password.

    Raises as `delete_user`, but that nobody has the name is an IncorrectPassword too.
    """
    user = _open(chain, name, password)
    keys = user.unsealed(store.keys(chain.db, user.user_id))
    with chain.key_derivation.users.slot():
        return write_backup(keys, password)


def import_user(chain: PlatformChain, name: str, password: str, exported: bytes) -> None:
    """Make a user of what `export_user` has returned, on this node or on another.

    Raises:
        InvalidUsername: Nobody can have this name.
        UserExists: Somebody has it.
        TooManyUsers: The node has as many as may be.
        UnreadableBackup: The bytes are no exported user, or damaged.
        IncorrectPassword: They were sealed with another password.
        KeystoreBusy: Too many are looked at just now.
    """
    _verify_free(chain, name)
    try:
        with chain.key_derivation.strangers.slot():
            keys = read_backup(exported, password)
    except WrongPassword:
        raise IncorrectPassword(name) from None
    with chain.key_derivation.strangers.slot():
        locked, cipher = sealing.lock(password, sealing.COST)
    with chain.db.atomic(durable=True):
        user_id = _add_user(chain, name, locked)
        store.add_keys(chain.db, user_id, _OpenUser(user_id, name, cipher).sealed(keys))


def import_key(chain: PlatformChain, name: str, password: str, private_key: bytes) -> ShortID:
    """Give a user a private key of 32 bytes, and return its address.

    Raises:
        UserNotRetrieved: Name or password are wrong, or cannot be tried now.
        InvalidPrivateKey: The bytes are no key.
        TooManyKeys: The user has as many as may be.
    """
    address = address_of(private_key)
    user = _retrieve(chain, name, password)
    with chain.db.atomic(durable=True):
        if not store.hold_user(chain.db, user.user_id):
            raise UserNotRetrieved(name, IncorrectPassword(name))
        held = store.addresses(chain.db, user.user_id)
        if address in held:
            return address
        if len(held) >= MAX_KEYS:
            raise TooManyKeys
        store.add_keys(chain.db, user.user_id, user.sealed([private_key]))
    return address


def export_key(chain: PlatformChain, name: str, password: str, address: ShortID) -> bytes:
    """Return the private key of one of a user's addresses, 32 bytes.

    Raises:
        UserNotRetrieved: Name or password are wrong, or cannot be tried now.
        KeyMissing: The user has no such address.
    """
    keys = keys_of(chain, name, password, among={address})
    if not keys:
        raise KeyMissing
    return keys[0]


def create_address(chain: PlatformChain, name: str, password: str) -> ShortID:
    """Give a user a new key, and return its address. Raises as `import_key`."""
    return import_key(chain, name, password, _new_private_key())


def list_addresses(chain: PlatformChain, name: str, password: str) -> list[ShortID]:
    """Return a user's addresses, the oldest first.

    Raises:
        UserNotRetrieved: Name or password are wrong, or cannot be tried now.
    """
    return store.addresses(chain.db, _retrieve(chain, name, password).user_id)


def keys_of(
    chain: PlatformChain, name: str, password: str, *, among: Collection[ShortID] = ()
) -> list[bytes]:
    """Return a user's private keys, the oldest first, for signing.

    Args:
        chain: In whose database they are.
        name: Whose.
        password: Theirs.
        among: Only those of these addresses; all without. Addresses of others are ignored.

    Raises:
        UserNotRetrieved: Name or password are wrong, or cannot be tried now.
    """
    user = _retrieve(chain, name, password)
    return user.unsealed(store.keys(chain.db, user.user_id, among))


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


def _retrieve(chain: PlatformChain, name: str, password: str) -> _OpenUser:
    """Open a user, in the words of the P-Chain's methods."""
    try:
        return _open(chain, name, password)
    except KeystoreError as reason:
        raise UserNotRetrieved(name, reason) from None


def _open(chain: PlatformChain, name: str, password: str) -> _OpenUser:
    """Open a user. That there is none costs as much to find out as that the password is wrong."""
    _verify_name(name)
    stored = store.user(chain.db, name)
    locked = stored.lock if stored else sealing.decoy(sealing.COST)
    try:
        with attempt(chain, stored.user_id) if stored else chain.key_derivation.strangers.slot():
            cipher = sealing.unlock(locked, password)
    except WrongPassword:
        raise IncorrectPassword(name) from None
    assert stored is not None, "a decoy opens for nobody"
    return _OpenUser(stored.user_id, stored.name, cipher)


def _verify_free(chain: PlatformChain, name: str) -> None:
    _verify_name(name)
    if store.user(chain.db, name) is not None:
        raise UserExists(name)
    _verify_room(chain)


def _verify_room(chain: PlatformChain) -> None:
    most = chain.node.keystore_users
    if store.user_count(chain.db) >= most:
        raise TooManyUsers(most)


def _add_user(chain: PlatformChain, name: str, locked: PasswordLock) -> int:
    """Write a user and return its key; others may have been made since the name was free."""
    chain.db.acquire(Lock.KEYSTORE)
    _verify_room(chain)
    user_id = store.add_user(chain.db, name, locked, clock.now())
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
