"""Constructor arguments after the creation code. Pure."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from cchain_app.transaction_log.errors import Undecodable

if TYPE_CHECKING:
    from eth_typing import ABIConstructor

MAX_BYTES: Final = 128 * 1024
"""Limit of bytes of arguments: more than any creation code may have (EIP-3860)."""


def are_arguments(abi: Sequence[Mapping[str, Any]], data: bytes) -> bool:
    """Return whether bytes are exactly an encoding of a contract's constructor arguments.

    Args:
        abi: The contract's ABI.
        data: The bytes after its creation code.
    """
    types = constructor_types(abi)
    if not types or not data:
        return not types and not data
    # Imported here, because the import takes a fifth of a second.
    from cchain_app.transaction_log import bounded_abi

    try:
        return bounded_abi.is_canonical(types, data, most=MAX_BYTES)
    except Undecodable:
        return False


def constructor_types(abi: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the types of a contract's constructor arguments; empty if it has no constructor."""
    for entry in abi:
        if entry.get("type") == "constructor":
            # Imported here for the same reason.
            from eth_utils.abi import get_abi_input_types

            return list(get_abi_input_types(cast("ABIConstructor", entry)))
    return []
