"""The parameters of an X-Chain, and the environment of its rules. Values only, no rules."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from primitives.ids import ID

CORTINA_TIME: Final = 1_607_144_400
"""The genesis block's time in Unix seconds: when the chain became linear, on networks other than mainnet and fuji."""
SYNCHRONY_BOUND: Final = 10
"""Seconds by which a block may be ahead of the node's clock."""


@dataclass(frozen=True, slots=True)
class AvmConfig:
    """The parameters of one network."""

    network_id: int
    hrp: str
    """The prefix of addresses."""
    tx_fee: int
    """The fee of all transactions but CreateAssetTx, in the smallest unit of the fee asset."""
    create_asset_tx_fee: int


@dataclass(frozen=True, slots=True)
class AvmEnv:
    """The environment in which transactions and blocks are verified."""

    config: AvmConfig
    chain_id: ID
    """The chain's own blockchain ID."""
    fee_asset_id: ID
    """The first asset of the genesis, in which fees are paid."""
    subnet_of: Callable[[ID], ID | None]
    """Returns the subnet of a blockchain; None for an unknown blockchain."""
    subnet_id: ID
    """The subnet of this chain."""
    bootstrapped: bool = True
    """Whether all rules are checked. A node that catches up with accepted blocks does not check operations, shared memory
    and signers."""
