"""Conversion of expected P-Chain errors to error objects with code -32000, in this module only.

The reference's errors have no codes. Its messages are those of the exceptions, prefixed with the operation
of the method (`saying`). An exception that is not in the table is unexpected: it is logged, and the answer has
no details of it. A test checks that each error class is either expected or listed there as one that
reaches no API.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from jsonrpc.errors import SERVER_ERROR, JsonRpcError
from platform_app.chain import NoPlatformGenesis
from platform_app.services.errors import RefusedIssue
from platform_app.wallet.errors import KeystoreError, WalletError
from primitives.addresses import AddressError
from primitives.cb58 import Cb58Error
from primitives.checksummed import EncodingError
from primitives.codec_errors import CodecError
from primitives.ids import IdError
from primitives.keys import PrivateKeyError
from primitives.secp256k1 import InvalidPrivateKey
from utxo.errors import InvalidTx

EXPECTED: Final[tuple[type[Exception], ...]] = (
    InvalidTx,
    RefusedIssue,
    KeystoreError,
    WalletError,
    PrivateKeyError,
    InvalidPrivateKey,
    CodecError,
    EncodingError,
    AddressError,
    Cb58Error,
    IdError,
    NoPlatformGenesis,
)
"""Base classes: all their subclasses are reported with their own message."""

NOT_FOUND: Final = "not found"

MAX_QUOTED: Final = 100
"""Maximum characters of a caller's string in a message: each may take six bytes when encoded."""


def to_error_object(error: Exception) -> JsonRpcError | None:
    """Return the error object of an expected error, None for an unexpected one."""
    return refused(str(error)) if isinstance(error, EXPECTED) else None


def refused(message: str) -> JsonRpcError:
    """Return an error object with the reference's message for a call that cannot be answered."""
    return JsonRpcError(SERVER_ERROR, message)


def too_many(what: str, given: int, most: int) -> JsonRpcError:
    """Return an error object with the reference's message for a list that is too long."""
    return refused(f"number of {what} given, {given}, exceeds maximum, {most}")


def shortened(text: str) -> str:
    """Return a caller's string for use in messages, truncated if it is long.

    Unspecified: the reference repeats the whole string.
    """
    return text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "..."


def behind(words: str, error: Exception) -> Exception:
    """Return an expected error as an error object with prefixed message; any other error unchanged."""
    expected = error if isinstance(error, JsonRpcError) else to_error_object(error)
    return error if expected is None else refused(f"{words}: {expected.message}")


@contextmanager
def saying(words: str) -> Iterator[None]:
    """Prefix the message of every expected error raised within; other errors pass unchanged.

    Raises:
        JsonRpcError: An expected error occurred.
    """
    try:
        yield
    except Exception as error:
        explained = behind(words, error)
        if explained is error:
            raise
        raise explained from error
