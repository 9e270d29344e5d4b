"""The rules of atomic transactions before Banff, for blocks of the public networks' past (coreth.md 15)."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class AtomicEra:
    """The rules that have changed; the defaults are those since Banff."""

    other_assets: bool = False
    """Whether other assets than the staking asset move."""
    platform_chain: bool = True
    """Whether the P-Chain is a peer; before Apricot phase 5 only the X-Chain was."""
    fixed_gas: bool = True
    """Whether each transaction pays a fixed amount of gas besides that of its bytes and signatures."""
    dynamic_fee: bool = True
    """Whether the fee follows the base fee."""
    import_fee: int = 0
    export_fee: int = 0
    """Otherwise the fees, in units."""
    needs_outputs: bool = True
    """Whether an import credits an account."""
    sorted_outputs: bool = True
    """Whether the outputs of an import are sorted."""
    unique_outputs: bool = True
    """Whether an account is in the outputs of an import once for each asset."""
    sorted_inputs: bool = True
    """Whether the inputs of an export are sorted and unique."""


BANFF: Final = AtomicEra()
"""The rules since Banff."""
