"""Reasons for which a wallet or the keystore fails, with the reference's messages (pchain.md 8.3).

No message has a secret.
"""

import json
from enum import StrEnum

from primitives.reasons import ErrorWithReason

MAX_PASSWORD_SIZE = 1024
"""Bytes."""
MAX_NAME_SIZE = 1024
"""Maximum bytes of a user's name."""
MAX_KEYS = 5000
"""Maximum number of keys of one user."""


class WalletReason(StrEnum):
    """Why a wallet rejects an operation."""

    # A transaction cannot be built from these keys and coins. Amounts are in the smallest unit.
    NOT_ENOUGH_COINS = (
        "couldn't generate tx inputs/outputs: provided keys have balance (unlocked, locked) "
        "({burned}, {staked}) but need ({fee}, {stake})"
    )
    AMOUNT_OVERFLOW = "overflow"  # the sum with the fee does not fit into 64 bits
    NO_IMPORTABLE_FUNDS = "no spendable funds were found"
    SUBNET_MISSING = (
        "couldn't authorize tx's subnet restrictions: failed to fetch subnet {subnet_id}: not found"
    )
    NOT_A_SUBNET = (
        "couldn't authorize tx's subnet restrictions: "
        "expected tx type *txs.CreateSubnetTx but got *txs.{kind}"
    )
    CANNOT_SIGN = "couldn't authorize tx's subnet restrictions: can't sign"
    L1_VALIDATOR_MISSING = "failed to fetch L1 validator {validation_id}: not found"
    CANNOT_DISABLE = "couldn't authorize tx's disable restrictions: can't sign"

    # Terms that are invalid whoever pays.
    START_TOO_SOON = "start time must be at least {seconds}s in the future"
    START_TOO_FAR = "start time is too far in the future"
    RATE_OUT_OF_RANGE = "argument 'delegationFeeRate' must be between 0 and 100, inclusive"
    ZERO_AMOUNT = "argument 'amount' must be > 0"
    SUBNET_VALIDATOR_OF_PRIMARY_NETWORK = "subnet validator attempts to validate primary network"
    CHAIN_OF_PRIMARY_NETWORK = "new blockchain can't be validated by primary network"
    ZERO_BALANCE = "argument 'balance' must be > 0"
    PROOF_MISSING = "argument 'signer' not given for {node_id}, which is not this node"
    # This node signs messages of an L1's manager only where coins are worthless and no other signature is needed.
    MESSAGE_MISSING = (
        "argument 'message' not given: only on the local network this node signs it for the manager"
    )
    NOT_AN_L1 = "subnet {subnet_id} has not been converted to an L1"
    NO_QUORUM = "this node alone cannot sign for the manager: {cause}"

    # A password that is not allowed for a new user.
    EMPTY_PASSWORD = "empty password"
    PASSWORD_TOO_LONG = f"password exceeds maximum length of {MAX_PASSWORD_SIZE} chars"
    PASSWORD_TOO_WEAK = "password is too weak"

    # Sealed data that cannot be opened.
    WRONG_PASSWORD = "incorrect password"
    DAMAGED_SEAL = "sealed bytes are damaged"
    UNREADABLE_EXPORT = "exported user is damaged or of an unknown version"


class WalletError(ErrorWithReason):
    """An operation that a wallet rejects."""


class NotBuilt(WalletError):
    """A transaction that cannot be built from these keys and coins."""


class WrongPassword(WalletError):
    """A password other than the one used for locking."""


class DamagedSeal(WalletError):
    """Sealed bytes that were modified, or that belong to another context."""


class KeystoreReason(StrEnum):
    """Why the keystore rejects an operation."""

    EMPTY_USERNAME = "empty username"
    USERNAME_TOO_LONG = f"username exceeds maximum length of {MAX_NAME_SIZE} chars"
    UNSTORABLE_USERNAME = "username holds a character that cannot be stored"
    USER_EXISTS = "user already exists: {name}"
    TOO_MANY_USERS = "keystore has reached its limit of {most} users"
    USER_MISSING = "user doesn't exist: {name}"  # on deletion
    INCORRECT_PASSWORD = "incorrect password: user {name}"  # whether or not the user exists
    TOO_MANY_ATTEMPTS = "too many failed attempts, try again in {seconds}s"
    KEYSTORE_BUSY = "keystore is busy, try again"
    USER_NOT_RETRIEVED = "problem retrieving user {name}: {cause}"
    KEY_MISSING = "problem retrieving private key: not found"
    TOO_MANY_KEYS = f"keystore user has reached its limit of {MAX_KEYS} addresses"
    NO_KEYS = "user has no keys or funds"
    TX_NOT_CREATED = "couldn't create tx: {cause}"


class KeystoreError(ErrorWithReason):
    """An operation that the keystore rejects."""


class KeystoreBusy(KeystoreError):
    """More concurrent password checks than there is memory for."""

    def __init__(self, reason: KeystoreReason = KeystoreReason.KEYSTORE_BUSY) -> None:
        super().__init__(reason)


class IncorrectPassword(KeystoreError):
    """A password other than the user's, or a user who does not exist."""


class TxNotCreated(KeystoreError):
    """A transaction that could not be built; the value `cause` is the error of the wallet or of the syntax."""


def not_retrieved(name: str, cause: KeystoreError) -> KeystoreError:
    """Return the error with which P-Chain methods report that a user's keys could not be decrypted."""
    shown = "" if cause.reason is KeystoreReason.USERNAME_TOO_LONG else name
    return KeystoreError(KeystoreReason.USER_NOT_RETRIEVED, name=quoted(shown), cause=cause)


def quoted(name: str) -> str:
    """Return a name in quotes, with unprintable and unencodable characters escaped."""
    return json.dumps(name, ensure_ascii=False).encode(errors="backslashreplace").decode()
