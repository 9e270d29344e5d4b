"""Reasons for which the keystore fails, with the reference's messages (pchain.md 8.3). No message has a secret.

KeystoreError
├── InvalidUsername         EmptyUsername · UsernameTooLong · UnstorableUsername
├── UserExists
├── TooManyUsers            on the node
├── UserMissing             on deletion
├── IncorrectPassword       whether or not the user exists
├── TooManyAttempts         wrong passwords recently
├── KeystoreBusy            too many passwords being checked
├── UserNotRetrieved        has one of the above: the form in which P-Chain methods report it
├── KeyMissing
├── TooManyKeys
├── NoKeys                  no keys that could pay
└── TxNotCreated            has the reason of a wallet or of a transaction's syntax

Errors for invalid passwords, terms and backups are in `wallet.errors`.
"""

import json

MAX_NAME_SIZE = 1024
"""Maximum bytes of a user's name."""
MAX_KEYS = 5000
"""Maximum number of keys of one user."""


class KeystoreError(Exception):
    """An operation that the keystore rejects."""


class InvalidUsername(KeystoreError):
    """A name that is not allowed."""


class EmptyUsername(InvalidUsername):
    """An empty name."""

    def __init__(self) -> None:
        super().__init__("empty username")


class UsernameTooLong(InvalidUsername):
    """A name that is too long."""

    def __init__(self) -> None:
        super().__init__(f"username exceeds maximum length of {MAX_NAME_SIZE} chars")


class UnstorableUsername(InvalidUsername):
    """Characters that a database cannot store: NUL, or an unpaired surrogate."""

    def __init__(self) -> None:
        super().__init__("username holds a character that cannot be stored")


class UserExists(KeystoreError):
    """The name is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"user already exists: {name}")
        self.name = name


class TooManyUsers(KeystoreError):
    """One more user than the node's maximum."""

    def __init__(self, most: int) -> None:
        super().__init__(f"keystore has reached its limit of {most} users")
        self.most = most


class UserMissing(KeystoreError):
    """No user has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"user doesn't exist: {name}")
        self.name = name


class IncorrectPassword(KeystoreError):
    """A password other than the user's, or a user who does not exist."""

    def __init__(self, name: str) -> None:
        super().__init__(f"incorrect password: user {quoted(name)}")
        self.name = name


class TooManyAttempts(KeystoreError):
    """So many wrong passwords that the next attempt has to wait."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many failed attempts, try again in {seconds}s")
        self.seconds = seconds


class KeystoreBusy(KeystoreError):
    """More concurrent password checks than there is memory for."""

    def __init__(self) -> None:
        super().__init__("keystore is busy, try again")


class UserNotRetrieved(KeystoreError):
    """A user whose keys could not be decrypted."""

    def __init__(self, name: str, reason: KeystoreError) -> None:
        shown = "" if isinstance(reason, UsernameTooLong) else name
        super().__init__(f"problem retrieving user {quoted(shown)}: {reason}")
        self.reason = reason


class KeyMissing(KeystoreError):
    """An address for which the user has no key."""

    def __init__(self) -> None:
        super().__init__("problem retrieving private key: not found")


class TooManyKeys(KeystoreError):
    """One more key than a user's maximum."""

    def __init__(self) -> None:
        super().__init__(f"keystore user has reached its limit of {MAX_KEYS} addresses")


class NoKeys(KeystoreError):
    """A user without keys, or without keys of the addresses given."""

    def __init__(self) -> None:
        super().__init__("user has no keys or funds")


class TxNotCreated(KeystoreError):
    """A transaction that could not be built."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(f"couldn't create tx: {reason}")
        self.reason = reason


def quoted(name: str) -> str:
    """Return a name in quotes, with unprintable and unencodable characters escaped."""
    return json.dumps(name, ensure_ascii=False).encode(errors="backslashreplace").decode()
