"""Each error that a method can raise is expected, and reported with its own message."""

import importlib
import pkgutil

import pytest
from django.core.exceptions import MultipleObjectsReturned, ObjectDoesNotExist

import platform_app
import primitives
from chainvm.errors import InvalidBlock
from jsonrpc.errors import JsonRpcError
from platform_app.api import errors
from platform_app.executor.errors import TxStateReason
from platform_app.executor.signing import UnsignableMessage
from platform_app.genesis.errors import GenesisError
from platform_app.selectors.accepted import NoFirstValidator
from platform_app.services.errors import ClockNotMovable, GenesisMismatch
from platform_app.txs.errors import TxSyntaxReason
from primitives.addresses import Bech32Error
from primitives.bearer import TokenFileError
from primitives.bls import BlsError
from primitives.fair_lock import WaitedTooLong
from primitives.hexadecimal import HexError
from primitives.identity import CertificateError, DerError
from primitives.json_limits import TooDeep, TooManyValues
from primitives.node_identity import IdentityError
from primitives.reasons import ErrorWithReason
from primitives.rlp import RlpError
from primitives.secp256k1 import SignatureError
from primitives.settings import FormError
from primitives.uint64 import Overflow
from primitives.upgrades import InvalidUpgrades
from primitives.warp import WarpError
from utxo.errors import InvalidTx

NEVER_AT_AN_ENDPOINT = (
    InvalidBlock,  # blocks come from the builder, and from other nodes
    NoFirstValidator,  # while looking for the network's producer
    GenesisError, GenesisMismatch,  # at the first start
    ClockNotMovable,  # of a management command
    CertificateError, DerError, UnsignableMessage,  # about and for peers
    IdentityError,  # about the node's own files
    SignatureError, BlsError, Overflow, WarpError,  # converted to errors of the rules
    FormError, InvalidUpgrades, TokenFileError,  # of the settings
    HexError, RlpError,  # of the C-Chain
    Bech32Error,  # converted to an error of addresses
    TooManyValues, TooDeep,  # converted to errors of the decoder
    WaitedTooLong,  # a busy database, for every interface
    ObjectDoesNotExist, MultipleObjectsReturned,  # Django defines subclasses for each model
)  # fmt: skip
"""Base classes of errors that are handled elsewhere."""


def all_errors() -> list[type[Exception]]:
    """Return every error class of the P-Chain and of the primitives."""
    for package in (platform_app, primitives):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "migrations" not in module.name:
                importlib.import_module(module.name)
    own = ("platform_app.", "primitives.")
    return sorted(
        (
            descendant
            for descendant in descendants(Exception)
            if descendant.__module__.startswith(own) and descendant is not ErrorWithReason
        ),
        key=lambda one: (one.__module__, one.__name__),
    )


def descendants(root: type[Exception]) -> set[type[Exception]]:
    return {
        descendant for child in root.__subclasses__() for descendant in {child, *descendants(child)}
    }


def test_every_error_is_expected_or_internal() -> None:
    found = all_errors()
    assert len(found) > 20
    assert [
        item for item in found if not issubclass(item, errors.EXPECTED + NEVER_AT_AN_ENDPOINT)
    ] == []


def test_error_tables_are_disjoint() -> None:
    assert not set(errors.EXPECTED) & set(NEVER_AT_AN_ENDPOINT)
    for root in errors.EXPECTED:
        assert [
            item for item in errors.EXPECTED if item is not root and issubclass(item, root)
        ] == []


def test_expected_error_has_its_message() -> None:
    error = errors.to_error_object(InvalidTx(TxSyntaxReason.WRONG_NETWORK_ID))
    assert error is not None
    assert (error.code, error.message) == (-32000, "tx has wrong network ID")


def test_unexpected_error_has_no_error_object() -> None:
    assert errors.to_error_object(KeyError("secret")) is None


def test_prefix_is_added_to_expected_errors_only() -> None:
    told = errors.behind("couldn't issue tx", InvalidTx(TxSyntaxReason.WRONG_NETWORK_ID))
    assert isinstance(told, JsonRpcError)
    assert told.message == "couldn't issue tx: tx has wrong network ID"
    unexpected = KeyError("secret")
    assert errors.behind("couldn't issue tx", unexpected) is unexpected


def test_prefixes_are_nested() -> None:
    with (
        pytest.raises(JsonRpcError) as told,
        errors.saying("outer"),
        errors.saying("inner"),
    ):
        raise InvalidTx(TxSyntaxReason.WRONG_NETWORK_ID)
    assert told.value.message == "outer: inner: tx has wrong network ID"


def test_unexpected_error_propagates() -> None:
    with pytest.raises(ZeroDivisionError), errors.saying("words"):
        raise ZeroDivisionError


def test_nested_reason_is_shown_once() -> None:
    error = errors.to_error_object(
        InvalidTx(TxStateReason.FLOW_CHECK_FAILED, cause=InvalidTx(TxSyntaxReason.WRONG_NETWORK_ID))
    )
    assert error is not None
    assert error.message.count("tx has wrong network ID") == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ""),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 100 + "..."),
        ("&" * 10**6, "&" * 100 + "..."),
    ],
)
def test_only_the_beginning_of_a_callers_text_is_quoted(text: str, told: str) -> None:
    assert errors.shortened(text) == told
