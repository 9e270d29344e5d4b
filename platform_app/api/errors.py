"""Conversion of expected P-Chain errors to error objects with code -32000, in this module only.

The reference's errors have no codes. Its messages are those of the exceptions, prefixed with the operation
of the method (`saying`). An exception that is not in the table is unexpected: it is logged, and the answer has
no details of it. A test checks that each error class is either expected or listed there as one that
reaches no API.
"""

from typing import Final

from jsonrpc.dispatch.expected import ExpectedErrors
from jsonrpc.dispatch.values import MAX_QUOTED, refused, shortened, too_many
from platform_app.chain import NoPlatformGenesis
from platform_app.services.errors import NotAggregated, RefusedIssue
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
    NotAggregated,
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

_ERRORS: Final = ExpectedErrors(EXPECTED)

to_error_object = _ERRORS.to_error_object
behind = _ERRORS.behind
saying = _ERRORS.saying
