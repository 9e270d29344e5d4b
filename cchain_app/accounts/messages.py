"""Digests and signatures of messages other than transactions: bytes (EIP-191) and typed data (EIP-712)."""

from collections.abc import Mapping
from typing import Any, Final

from primitives import secp256k1
from primitives.evm import Hash
from primitives.hashing import keccak256
from primitives.recursion import recursion_limit_restored

_V: Final = 27
_DOMAIN: Final = "EIP712Domain"
_EMPTY: Final = "Empty"
"""A type without fields: type of the message if only the domain is signed."""

_MAX_WORK: Final = 100_000
"""Limit of the fields of all types times the values. A struct's fields are hashed for each of its values, even if missing."""

_MAX_WORDS: Final = 200
"""Limit of the reason's length in characters, because libraries repeat their input in it."""


class BadTypedData(Exception):
    """The document to sign is not valid typed data (EIP-712)."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"invalid typed data: {problem}")


def message_digest(data: bytes) -> Hash:
    """Return the digest that is signed for bytes that are not a transaction."""
    return keccak256(b"\x19Ethereum Signed Message:\n%d%b" % (len(data), data))


def typed_data_digest(document: Mapping[str, Any]) -> Hash:
    """Return the digest that is signed for typed data.

    Unspecified: types that cannot be reached from the primary type are left out, as wallets do. If `types` contains
    the domain's type, the domain has exactly the fields of that type. If the primary type is the domain's, the digest
    covers the domain and no message, as in wallets; the document may then have no message.

    Args:
        document: An object with `types`, `primaryType`, `domain` and `message`.

    Raises:
        BadTypedData: A member is missing, a value does not match its type, or there is too much to hash in a moment.
    """
    types, primary = _types(document), document.get("primaryType")
    domain, message = document.get("domain"), document.get("message")
    signs_domain = primary == _DOMAIN
    if signs_domain:
        types, primary, message = {**_reached(types, _DOMAIN), _EMPTY: []}, _EMPTY, {}
    if not isinstance(primary, str) or primary not in types:
        raise BadTypedData("primaryType names none of the types")
    if not isinstance(domain, dict) or not isinstance(message, dict):
        raise BadTypedData("domain and message must be objects")
    if sum(map(len, types.values())) * _count(message) > _MAX_WORK:
        raise BadTypedData("too many types and values")
    given = {
        "types": _reached(types, primary),
        "primaryType": primary,
        "domain": {name: value for name, value in domain.items() if value is not None},
        "message": message,
    }
    # Imported here because the import takes half a second.
    with recursion_limit_restored():
        from eth_account.messages import encode_typed_data

    try:
        signable = encode_typed_data(full_message=given)
    except Exception as error:  # the library raises many classes, depending on the mistake
        raise BadTypedData(str(error)[:_MAX_WORDS] or type(error).__name__) from None
    body = b"" if signs_domain else signable.body
    return keccak256(b"\x19" + signable.version + signable.header + body)


def typed_data_v3_digest(document: Mapping[str, Any]) -> Hash:
    """Return the digest for typed data without arrays, as eth_signTypedData_v3 signs it; it is that of version 4.

    Args:
        document: As for `typed_data_digest`.

    Raises:
        BadTypedData: As `typed_data_digest`, or a type is an array.
    """
    for name, fields in _reached(_types(document), str(document.get("primaryType"))).items():
        for field in fields:
            if "[" in field["type"]:
                raise BadTypedData(
                    f"{name}.{field['name']} is an array; eth_signTypedData_v4 signs arrays"
                )
    return typed_data_digest(document)


def sign_digest(digest: Hash, private_key: bytes) -> bytes:
    """Return a signature of 65 bytes: r, s, and v, which is 27 or 28.

    Raises:
        InvalidPrivateKey: The key is not valid.
    """
    signed = secp256k1.sign(digest, private_key)
    return signed.r.to_bytes(32) + signed.s.to_bytes(32) + bytes((_V + signed.y_parity,))


_Types = dict[str, list[dict[str, str]]]


def _types(document: Mapping[str, Any]) -> _Types:
    types = document.get("types")
    if not isinstance(types, dict) or not all(map(_is_struct, types.values())):
        raise BadTypedData("types must be an object of arrays of objects with name and type")
    return types


def _is_struct(fields: object) -> bool:
    return isinstance(fields, list) and all(
        isinstance(field, dict)
        and isinstance(field.get("name"), str)
        and isinstance(field.get("type"), str)
        for field in fields
    )


def _reached(types: _Types, primary: str) -> _Types:
    """Return the types that can be reached from the primary type, and the domain's type."""
    reached, left = {_DOMAIN: types[_DOMAIN]} if _DOMAIN in types else {}, [primary]
    while left:
        name = left.pop()
        if name in types and name not in reached:
            reached[name] = types[name]
            left += [kind["type"].partition("[")[0] for kind in types[name]]
    return reached


def _count(value: object) -> int:
    """Return the number of values nested in a value, including the value itself."""
    left, counted = [value], 0
    while left:
        one = left.pop()
        counted += 1
        if isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one
    return counted
