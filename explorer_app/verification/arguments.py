"""Arguments of a constructor behind the creation code. Encoding is eth-abi's. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from eth_typing import ABIConstructor
from eth_utils.abi import get_abi_input_types


def are_arguments(abi: Sequence[Mapping[str, Any]], data: bytes) -> bool:
    """Say whether bytes are just the encoding of what a contract's constructor takes.

    Args:
        abi: The contract's.
        data: What stands behind its creation code.
    """
    # Only here: it takes a fifth of a second to import.
    from eth_abi.abi import decode, encode
    from eth_abi.exceptions import DecodingError, EncodingError, ParseError

    types = constructor_types(abi)
    if not types or not data:
        return not types and not data
    try:
        # A string may be any bytes: they have the same encoding.
        plain = [one.replace("string", "bytes") for one in types]
        return bool(encode(plain, decode(plain, data)) == data)
    except (
        DecodingError, EncodingError, ParseError, OverflowError, ValueError, RecursionError
    ):  # fmt: skip
        return False


def constructor_types(abi: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the types that a contract's constructor takes; none where it has no constructor."""
    for one in abi:
        if one.get("type") == "constructor":
            return list(get_abi_input_types(cast("ABIConstructor", one)))
    return []
