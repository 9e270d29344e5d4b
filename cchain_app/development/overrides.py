"""Overrides for future blocks that were set over RPC: time, fees, gas limit, coinbase, mining mode. Pure.

They include the signatures whose signer was set manually, as seen by the blocks that follow (devnet.md 4).
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Final, NamedTuple

from cchain_app.evm.overrides import BlockOverride
from primitives.evm import ZERO_HASH, Address, Hash

SIGNATURE_BYTES: Final = 65
"""r, s and v."""
MAX_SIGNATURES: Final = 1000
"""Limit of the rows of a chain, because all of them are passed to the engine with each block and call."""


class SignatureOverride(NamedTuple):
    """A signature with the address that ecrecover returns for it, regardless of the real signer."""

    number: int
    """The first block to which it applies."""
    signature: bytes
    """r, s and v: 65 bytes."""
    signer: Address


def signers_at(
    signatures: Iterable[SignatureOverride], number: int | None = None
) -> tuple[tuple[bytes, Address], ...]:
    """Return pairs of a signature and the signer that ecrecover returns for it, in the form that engines take.

    Args:
        signatures: The impersonated signatures, in order; the last entry of a signature applies.
        number: The block that is executed; None: use all entries.
    """
    held = (signature for signature in signatures if number is None or signature.number <= number)
    return tuple({signature.signature: signature.signer for signature in held}.items())


@dataclass(frozen=True, slots=True)
class NextBlockOverrides:
    """Overrides of the node's settings and of the header rules; None: no override (devnet.md 2 and 7)."""

    instance_id: Hash = ZERO_HASH
    """A random value, replaced when the chain is reset; zero: no override was ever set."""
    mining: str | None = None
    """"auto", "interval" or "manual"."""
    paused: bool = False
    """Whether automatic block production is paused, whatever the value of `mining`, until it is resumed."""
    block_interval: float | None = None
    """Seconds."""
    next_timestamp: int | None = None
    """Unix seconds, for the next block only."""
    timestamp_interval: int | None = None
    """Seconds between the times of consecutive blocks."""
    next_base_fee: int | None = None
    """Wei, for the next block only."""
    next_prev_randao: Hash | None = None
    """For the next block only."""
    coinbase: Address | None = None
    gas_limit: int | None = None
    next_snapshot: int = 1
    rewinds: int = 0
    """Number of times the chain was rewound."""
    nonces_lowered: bool = False
    """Whether an account's nonce was ever lowered manually, which makes a mined transaction valid again."""
    signatures: tuple[SignatureOverride, ...] = ()
    """All signatures with an impersonated signer, in order; they are stored as rows of their own."""

    def of_next_block(self, parent_timestamp: int) -> BlockOverride | None:
        """Return the overrides of the next block's environment, or None if there are no overrides.

        Args:
            parent_timestamp: Unix seconds of the parent block.
        """
        time = self.next_timestamp
        if time is None and self.timestamp_interval is not None:
            time = parent_timestamp + self.timestamp_interval
        override = BlockOverride(
            time=time,
            gas_limit=self.gas_limit,
            fee_recipient=self.coinbase,
            prev_randao=self.next_prev_randao,
            base_fee=self.next_base_fee,
            signers=signers_at(self.signatures),
        )
        return None if override == BlockOverride() else override

    def of_blocks(self) -> "NextBlockOverrides":
        """Return a copy without the values that blocks do not depend on: the next snapshot and the number of rewinds."""
        return replace(self, next_snapshot=1, rewinds=0)

    def mines(self, otherwise: str) -> str:
        """Return the mining mode: `auto`, `interval` or `manual`; `manual` while production is paused.

        Args:
            otherwise: The mode if it has no override.
        """
        return "manual" if self.paused else self.mining or otherwise

    @property
    def values_set(self) -> int:
        """Number of values that override the node's settings and the header rules."""
        optional = [field.name for field in fields(self) if field.default is None]
        return sum(getattr(self, name) is not None for name in optional)

    @property
    def has_next(self) -> bool:
        """Whether there is an override for the next block only."""
        return (self.next_timestamp, self.next_base_fee, self.next_prev_randao) != (None,) * 3

    def used(self) -> "NextBlockOverrides":
        """Return a copy without the overrides that applied to the next block only."""
        return replace(self, next_timestamp=None, next_base_fee=None, next_prev_randao=None)
