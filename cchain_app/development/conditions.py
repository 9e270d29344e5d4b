"""What was set over RPC for the blocks to come: their time, fees, gas limit, coinbase, and when they are made. Pure."""

from dataclasses import dataclass, fields, replace

from cchain_app.development.signatures import ImpersonatedSignature, signers_at
from cchain_app.evm.overrides import BlockOverride
from primitives.evm import ZERO_HASH, Address, Hash


@dataclass(frozen=True, slots=True)
class Conditions:
    """What differs from the node's settings and the rules of headers; None: nothing (devnet.md 2 and 7)."""

    instance_id: Hash = ZERO_HASH
    """Drawn anew when the chain is reset; zero: nothing was ever set."""
    mining: str | None = None
    """"auto", "interval" or "manual"."""
    paused: bool = False
    """Whether no blocks are made by themselves, whatever `mining` says, until production is resumed."""
    block_interval: float | None = None
    """Seconds."""
    next_timestamp: int | None = None
    """Of the next block alone, Unix seconds."""
    timestamp_interval: int | None = None
    """Seconds from each block to the next one's time."""
    next_base_fee: int | None = None
    """Of the next block alone, in wei."""
    next_prev_randao: Hash | None = None
    """Of the next block alone."""
    coinbase: Address | None = None
    gas_limit: int | None = None
    next_snapshot: int = 1
    rewinds: int = 0
    """How often the chain went back."""
    nonces_lowered: bool = False
    """Whether an account's nonce was ever lowered by hand: a transaction that was mined would be valid again."""
    signatures: tuple[ImpersonatedSignature, ...] = ()
    """All whose signer was set, in order; rows of their own."""

    def of_next_block(self, parent_timestamp: int) -> BlockOverride | None:
        """Return what the next block's environment is to have, or None where nothing was set.

        Args:
            parent_timestamp: Of the block before, in Unix seconds.
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

    def of_blocks(self) -> "Conditions":
        """Return what of it blocks depend on: not how many snapshots there were, nor how often the chain went back."""
        return replace(self, next_snapshot=1, rewinds=0)

    def mines(self, otherwise: str) -> str:
        """Return when blocks are made: `auto`, `interval` or `manual`; while production is paused `manual`.

        Args:
            otherwise: Where nothing was set.
        """
        return "manual" if self.paused else self.mining or otherwise

    @property
    def values_set(self) -> int:
        """How many values differ from the node's settings and the rules of headers."""
        optional = [one.name for one in fields(self) if one.default is None]
        return sum(getattr(self, name) is not None for name in optional)

    @property
    def has_next(self) -> bool:
        """Whether anything was set for the next block alone."""
        return (self.next_timestamp, self.next_base_fee, self.next_prev_randao) != (None,) * 3

    def used(self) -> "Conditions":
        """Return what is left of it when the next block was made."""
        return replace(self, next_timestamp=None, next_base_fee=None, next_prev_randao=None)
