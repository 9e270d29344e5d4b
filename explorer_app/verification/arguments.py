"""Arguments of a constructor behind the creation code. Pure."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from cchain_app.transaction_log.errors import Undecodable

if TYPE_CHECKING:
    from eth_typing import ABIConstructor

MOST_BYTES: Final = 128 * 1024
"""Of arguments that are looked at: more than any creation code may have (EIP-3860)."""


def are_arguments(abi: Sequence[Mapping[str, Any]], data: bytes) -> bool:
    """Say whether bytes are just the encoding of what a contract's constructor takes.

    Args:
        abi: The contract's.
        data: What stands behind its creation code.
    """
    types = constructor_types(abi)
    if not types or not data:
        return not types and not data
    # Only here: it takes a fifth of a second to import.
    from cchain_app.transaction_log import bounded_abi

    try:
        return bounded_abi.is_canonical(types, data, most=MOST_BYTES)
    except Undecodable:
        return False


def constructor_types(abi: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the types that a contract's constructor takes; none where it has no constructor."""
    for one in abi:
        if one.get("type") == "constructor":
            # Only here, as above.
            from eth_utils.abi import get_abi_input_types

            return list(get_abi_input_types(cast("ABIConstructor", one)))
    return []
