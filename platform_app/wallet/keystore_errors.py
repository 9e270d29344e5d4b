"""Why the keystore refuses, in the reference's words (pchain.md 8.3). No message holds a secret.

KeystoreError
├── InvalidUsername         EmptyUsername · UsernameTooLong · UnstorableUsername
├── UserExists
├── TooManyUsers            of the node
├── UserMissing             who is to be deleted
├── IncorrectPassword       of anybody, whether the user exists or not
├── TooManyAttempts         wrong passwords recently
├── KeystoreBusy            too many passwords at once
├── UserNotRetrieved        holds one of the above: the methods of the P-Chain say it so
├── KeyMissing
├── TooManyKeys
├── NoKeys                  nobody who could pay
└── TxNotCreated            holds the reason of a wallet or of a transaction's syntax

Passwords that nobody may have, terms that nobody gets and backups that nobody can read are
`wallet.errors`.
"""

import json

MAX_NAME_SIZE = 1024
"""Bytes of a user's name."""
MAX_KEYS = 5000
"""Of one user."""


class KeystoreError(Exception):
    """Something that the keystore does not do."""


class InvalidUsername(KeystoreError):
    """A name that no user can have."""


class EmptyUsername(InvalidUsername):
    """None at all."""

    def __init__(self) -> None:
        super().__init__("empty username")


class UsernameTooLong(InvalidUsername):
    """More bytes than a name may have."""

    def __init__(self) -> None:
        super().__init__(f"username exceeds maximum length of {MAX_NAME_SIZE} chars")


class UnstorableUsername(InvalidUsername):
    """Characters that no database takes: zero, or half of a pair."""

    def __init__(self) -> None:
        super().__init__("username holds a character that cannot be stored")


class UserExists(KeystoreError):
    """The name is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"user already exists: {name}")
        self.name = name


class TooManyUsers(KeystoreError):
    """One user more than the node may have."""

    def __init__(self, most: int) -> None:
        super().__init__(f"keystore has reached its limit of {most} users")
        self.most = most


class UserMissing(KeystoreError):
    """There is nobody of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"user doesn't exist: {name}")
        self.name = name


class IncorrectPassword(KeystoreError):
    """Another password than the user's, or a user who does not exist."""

    def __init__(self, name: str) -> None:
        super().__init__(f"incorrect password: user {quoted(name)}")
        self.name = name


class TooManyAttempts(KeystoreError):
    """So many wrong passwords that the next one has to wait."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many failed attempts, try again in {seconds}s")
        self.seconds = seconds


class KeystoreBusy(KeystoreError):
    """More passwords at once than there is memory for."""

    def __init__(self) -> None:
        super().__init__("keystore is busy, try again")


class UserNotRetrieved(KeystoreError):
    """A user whose keys could not be opened."""

    def __init__(self, name: str, reason: KeystoreError) -> None:
        shown = "" if isinstance(reason, UsernameTooLong) else name
        super().__init__(f"problem retrieving user {quoted(shown)}: {reason}")
        self.reason = reason


class KeyMissing(KeystoreError):
    """An address of which the user has no key."""

    def __init__(self) -> None:
        super().__init__("problem retrieving private key: not found")


class TooManyKeys(KeystoreError):
    """One key more than a user may have."""

    def __init__(self) -> None:
        super().__init__(f"keystore user has reached its limit of {MAX_KEYS} addresses")


class NoKeys(KeystoreError):
    """A user without keys, or with none of the addresses that were named."""

    def __init__(self) -> None:
        super().__init__("user has no keys or funds")


class TxNotCreated(KeystoreError):
    """A transaction that could not be built."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(f"couldn't create tx: {reason}")
        self.reason = reason


def quoted(name: str) -> str:
    """Return a name in quotes, what cannot be printed or encoded escaped."""
    return json.dumps(name, ensure_ascii=False).encode(errors="backslashreplace").decode()
