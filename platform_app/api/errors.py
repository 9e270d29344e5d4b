"""The one place where what can go wrong on the P-Chain becomes an error object: code -32000.

The reference's errors have no codes of their own; its words are the errors' own texts, behind what
the method was doing (`saying`). What is not in the table is not expected: it is logged, and
answered without its insides. A test walks all classes of errors and demands that each is expected
or named there as one that reaches no door.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from jsonrpc.errors import SERVER_ERROR, JsonRpcError
from platform_app.chain import NoGenesis
from platform_app.services.errors import RefusedIssue
from platform_app.txs.errors import InvalidTx
from platform_app.wallet.errors import WalletError
from platform_app.wallet.keystore_errors import KeystoreError
from primitives.addresses import AddressError
from primitives.cb58 import Cb58Error
from primitives.checksummed import EncodingError
from primitives.codec_errors import CodecError
from primitives.ids import IdError
from primitives.keys import PrivateKeyError
from primitives.secp256k1 import InvalidPrivateKey

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
    NoGenesis,
)
"""Roots of trees: each class below them is told in its own words."""

NOT_FOUND: Final = "not found"

MOST_QUOTED: Final = 100
"""Characters of a caller's text in a message: each may take six bytes on the wire."""


def to_error_object(error: Exception) -> JsonRpcError | None:
    """Return the error object of an expected failure, None for an unexpected one."""
    return refused(str(error)) if isinstance(error, EXPECTED) else None


def refused(message: str) -> JsonRpcError:
    """Return an error object with the reference's words for a call that cannot be answered."""
    return JsonRpcError(SERVER_ERROR, message)


def too_many(what: str, given: int, most: int) -> JsonRpcError:
    """Return an error object with the reference's words for a list that is too long."""
    return refused(f"number of {what} given, {given}, exceeds maximum, {most}")


def shortened(text: str) -> str:
    """Return a caller's text as messages repeat it: of a long one only the beginning.

    Unspecified: the reference repeats all of it.
    """
    return text if len(text) <= MOST_QUOTED else text[:MOST_QUOTED] + "..."


def behind(words: str, error: Exception) -> Exception:
    """Return an expected failure as an error object, its words behind others; others as they are."""
    expected = error if isinstance(error, JsonRpcError) else to_error_object(error)
    return error if expected is None else refused(f"{words}: {expected.message}")


@contextmanager
def saying(words: str) -> Iterator[None]:
    """Put words in front of every expected failure within; others pass as they are.

    Raises:
        JsonRpcError: Whatever was expected.
    """
    try:
        yield
    except Exception as error:
        told = behind(words, error)
        if told is error:
            raise
        raise told from error
