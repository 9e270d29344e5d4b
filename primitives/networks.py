"""Network names by number, and the prefix (HRP) of the addresses that a network's nodes print.

Unspecified: the specification defines neither. These are our own (design 9); those of the reference
implementation are in `platform_app.config.reference_config`. Any HRP is accepted on input.
"""

from typing import Final

MAINNET: Final = 1
TESTNET: Final = 5
LOCAL: Final = 12345

SPECIFICATION_UNIT: Final = 1_000_000
"""Smallest units of a coin on the P-Chain and the X-Chain at the specification's scale."""
REFERENCE_UNIT: Final = 1_000_000_000
"""The same in the reference implementation."""

PLATFORM_ALIASES: Final = ("P", "platform")
XCHAIN_ALIASES: Final = ("X", "avm")
CCHAIN_ALIASES: Final = ("C", "evm")
"""Names of the Primary Network's chains in paths and calls. Responses use the first one."""

_NAMES = {MAINNET: "mainnet", TESTNET: "testnet", LOCAL: "local"}
_HRPS = {MAINNET: "lux", TESTNET: "test", LOCAL: "local"}


def name_of(network_id: int) -> str:
    """Return a network's name: `mainnet`, `testnet`, `local`, else `network-` and its number."""
    return _NAMES.get(network_id, f"network-{network_id}")


def hrp_of(network_id: int) -> str:
    """Return the human-readable part of the addresses that a node of this network prints."""
    return _HRPS.get(network_id, "custom")


_ID_LENGTH: Final = 40
"""Fewest characters of a blockchain ID as text."""


def title(name: str) -> str:
    """Return a chain's name as people see it: P-Chain; a chain whose name is its ID is shown by the ID's beginning."""
    return f"{name}-Chain" if len(name) < _ID_LENGTH else f"chain {name[:8]}…"


def label(name: str, blockchain_id: str) -> str:
    """Return how a list names the chain of a subnet: its name alone need not be unique, and may be that of another item.

    Args:
        name: The chain's name, or its title; may be empty.
        blockchain_id: Its ID as text.
    """
    by_id = title(blockchain_id)
    return by_id if name in {"", by_id} else f"chain {name} ({blockchain_id[:8]}…)"
