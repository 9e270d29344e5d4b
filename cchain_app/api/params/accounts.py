"""Parsers of the arguments of methods that sign or send for accounts, or that read ranges of accounts.

A transaction is a call object (`params_call`) whose sender is optional and which may have a type.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cchain_app.api.params import call as params_call
from cchain_app.api.params import values as params
from cchain_app.api.params.values import address as parse_address
from cchain_app.api.params.values import cannot_unmarshal, hash32, kind_of, list_of
from cchain_app.development.overrides import SIGNATURE_BYTES
from cchain_app.txs.blobs import (
    BYTES_PER_BLOB,
    BYTES_PER_COMMITMENT,
    BYTES_PER_PROOF,
    CELLS_PER_EXT_BLOB,
    MOST_BLOBS,
)
from cchain_app.txs.request import BlobsOfRequest, CallRequest
from cchain_app.txs.transaction import ACCESS_LIST, BLOB, DYNAMIC_FEE, SET_CODE
from jsonrpc.errors import InvalidParam
from primitives import json_limits
from primitives.counting import counted
from primitives.evm import Address, Hash
from primitives.json_limits import MAX_DEPTH, MAX_VALUES, TooDeep, TooManyValues

_TYPES: Final = range(SET_CODE + 1)


class TransactionRequest(NamedTuple):
    """A transaction that a caller asks the node to send or sign."""

    fields: CallRequest
    names_sender: bool
    """Whether the request names the sender; otherwise the node chooses it."""


def transaction(value: Any) -> TransactionRequest:
    """Read a transaction.

    Raises:
        InvalidParam: It is not an object, a known member cannot be read, or a member does not fit its type.
    """
    fields = call_with_blobs(value)
    kind = value.get("type")
    if kind is not None:
        fields = fields._replace(wanted_type=params.uint64(kind))
        _check_type(fields)
    return TransactionRequest(fields, value.get("from") is not None)


def call_with_blobs(value: Any) -> CallRequest:
    """Read a call object that may contain blobs.

    Raises:
        InvalidParam: It is not an object, or a known member cannot be read.
    """
    return params_call.call(value)._replace(blobs=_blobs(value))


def _blobs(value: Mapping[str, Any]) -> BlobsOfRequest | None:
    given = params_call.members(value, "TransactionArgs", _BLOBS)
    return BlobsOfRequest(**given) if given else None


def _fixed(size: int, most: int, type_name: str) -> Callable[[Any], tuple[bytes, ...]]:
    """Return a parser of an array of at most `most` strings of `size` bytes."""

    def read(value: Any) -> tuple[bytes, ...]:
        if not isinstance(value, list):
            raise cannot_unmarshal(kind_of(value), f"[]{type_name}")
        if len(value) > most:
            raise InvalidParam(f"too many values for []{type_name}: {len(value)}, limit {most}")
        found = tuple(map(params.data, value))
        for element in found:
            if len(element) != size:
                raise InvalidParam(f"a {type_name} has {size} bytes, not {len(element)}")
        return found

    return read


_BLOBS: Final = {
    "blobs": ("blobs", _fixed(BYTES_PER_BLOB, MOST_BLOBS, "kzg4844.Blob")),
    "commitments": (
        "commitments",
        _fixed(BYTES_PER_COMMITMENT, MOST_BLOBS, "kzg4844.Commitment"),
    ),
    "proofs": (
        "proofs",
        _fixed(BYTES_PER_PROOF, MOST_BLOBS * CELLS_PER_EXT_BLOB, "kzg4844.Proof"),
    ),
}


def transaction_with_sender(value: Any) -> TransactionRequest:
    """Read a transaction that must name its sender. Raises as `transaction`."""
    request = transaction(value)
    if not request.names_sender:
        raise InvalidParam("missing required field 'from' for TransactionArgs")
    return request


def _check_type(fields: CallRequest) -> None:
    """Reject members that a transaction of the requested type does not have."""
    wanted = fields.type
    if wanted not in _TYPES:
        raise InvalidParam("transaction type not supported")
    unwanted = {
        "gasPrice": wanted >= DYNAMIC_FEE and fields.gas_price is not None,
        "maxFeePerGas": wanted < DYNAMIC_FEE and fields.max_fee_per_gas is not None,
        "maxPriorityFeePerGas": wanted < DYNAMIC_FEE
        and fields.max_priority_fee_per_gas is not None,
        "accessList": wanted < ACCESS_LIST and bool(fields.access_list),
        "blobVersionedHashes": wanted != BLOB and fields.blob_hashes is not None,
        "blobs": wanted != BLOB and fields.blobs is not None,
        "authorizationList": wanted != SET_CODE and fields.authorizations is not None,
    }
    for member, is_there in unwanted.items():
        if is_there:
            raise InvalidParam(f"a transaction of type {wanted} has no {member}")


def typed_data(value: Any) -> dict[str, Any]:
    """Read typed data (EIP-712): an object, or a string with its JSON."""
    if isinstance(value, str):
        try:
            json_limits.verify(value.encode("utf-8", "surrogatepass"))
            value = json.loads(value)
        except TooManyValues:
            raise InvalidParam(f"typed data has more than {MAX_VALUES} values") from None
        except TooDeep:
            raise InvalidParam(f"typed data is nested deeper than {MAX_DEPTH}") from None
        except (ValueError, RecursionError):
            raise InvalidParam("typed data is not JSON") from None
    if not isinstance(value, dict):
        raise params.cannot_unmarshal(params.kind_of(value), "apitypes.TypedData")
    return value


class SignedBy(NamedTuple):
    """A signature, and the signer it is assigned to; None if the next argument names the signer."""

    signature: bytes
    """r, s and v: 65 bytes."""
    signer: Address | None = None


def signed_by(value: Any) -> SignedBy:
    """Read a signature, or an array of a signature and an address.

    Raises:
        InvalidParam: It is neither, or the signature has another length.
    """
    if not isinstance(value, list):
        return SignedBy(_signature(value))
    if len(value) != 2:
        raise InvalidParam(
            f"a signature and an address were expected, not {counted(len(value), 'value')}"
        )
    return SignedBy(_signature(value[0]), params.address(value[1]))


def _signature(value: Any) -> bytes:
    signature = params.data(value)
    if len(signature) != SIGNATURE_BYTES:
        raise InvalidParam(f"a signature has {SIGNATURE_BYTES} bytes, not {len(signature)}")
    return signature


_BIGGEST_INT: Final = 2**63 - 1
_BIGGEST_UINT64: Final = 2**64 - 1


def plain_uint64(value: Any) -> int:
    """Read a JSON number of at most 64 bits; a quantity is rejected."""
    return _plain(value, "uint64", 0, _BIGGEST_UINT64)


def plain_int(value: Any) -> int:
    """Read a JSON number that fits Go's int, which may be negative."""
    return _plain(value, "int", -_BIGGEST_INT - 1, _BIGGEST_INT)


def storage_requests(value: Any) -> dict[Address, list[Hash]]:
    """Read an object of storage slots by account.

    Raises:
        InvalidParam: The value is not such an object.
    """
    if not isinstance(value, dict):
        raise cannot_unmarshal(kind_of(value), "map[common.Address][]common.Hash")
    keys = list_of(hash32)
    return {parse_address(name): keys(slots) for name, slots in value.items()}


def _plain(value: Any, type_name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise cannot_unmarshal(kind_of(value), type_name)
    if not least <= value <= most:
        raise InvalidParam(
            f"json: cannot unmarshal number {value} into Go value of type {type_name}"
        )
    return value
