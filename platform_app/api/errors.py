"""Conversion of expected P-Chain errors to error objects with code -32000, in this module only.

The reference's errors have no codes. Its messages are those of the exceptions, prefixed with the operation
of the method (`saying`). An exception that is not in the table is unexpected: it is logged, and the answer has
no details of it. A test checks that each error class is either expected or listed there as one that
reaches no API.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from jsonrpc.dispatch.values import MAX_QUOTED, refused, shortened, too_many
from jsonrpc.errors import JsonRpcError
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

__all__ = [
    "EXPECTED",
    "MAX_QUOTED",
    "NOT_FOUND",
    "behind",
    "refused",
    "saying",
    "shortened",
    "to_error_object",
    "too_many",
]

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


def to_error_object(error: Exception) -> JsonRpcError | None:
    """Return the error object of an expected error, None for an unexpected one."""
    return refused(str(error)) if isinstance(error, EXPECTED) else None


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
