"""Formatting of values in results: numbers as decimal strings, times, owners, encoded bytes.

The formats are the specification's rule (1, wire conventions 4) and the reference's (pchain.md 8.1, 8.4).
Methods that return plain numbers instead say so in their docstring. Validators are rendered in `records`.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from platform_app.chain import PlatformChain
from platform_app.txs.errors import PERCENT_DENOMINATOR
from platform_app.wallet.requirements import float32
from primitives.addresses import format_address
from primitives.checksummed import TextEncoding, encode
from primitives.ids import ShortID
from utxo.components import OutputOwners

Json = dict[str, Any]

ALIAS: Final = "P"
"""The alias of this chain in addresses."""


def address(chain: PlatformChain, short_id: ShortID) -> str:
    """Return an address of this chain on this network."""
    return format_address(ALIAS, chain.config.hrp, short_id)


def four_digits(value: float) -> str:
    """Return a number with four decimals, rounded half to even on its binary value."""
    return f"{value:.4f}"


def fee_percent(shares: int) -> str:
    """Return a delegation fee in percent, with the reference's 32-bit arithmetic."""
    return four_digits(float32(float32(100 * float32(shares)) / PERCENT_DENOMINATOR))


def moment(seconds: int) -> str:
    """Return a time in Unix seconds in RFC 3339 format."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def owner(chain: PlatformChain, owners: OutputOwners) -> Json:
    """Return the owner of a reward."""
    return {
        "locktime": str(owners.locktime),
        "threshold": str(owners.threshold),
        "addresses": [address(chain, short_id) for short_id in owners.addresses],
    }


def encoded(values: Iterable[bytes], encoding: TextEncoding) -> list[str]:
    """Return byte strings in an encoding.

    Raises:
        EncodingError: The encoding is JSON.
    """
    return [encode(value, encoding) for value in values]
