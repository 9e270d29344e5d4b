"""The inputs of rules besides the state: the network, its chains, and the node's clock."""

from dataclasses import dataclass

from platform_app.config import PlatformConfig
from primitives.ids import ID


@dataclass(frozen=True, slots=True)
class Env:
    """The environment in which transactions and blocks are executed."""

    config: PlatformConfig
    asset_id: ID
    """The Primary Network's staking asset, in which fees are paid."""
    now: int
    """The node's clock in Unix seconds: no block may be far ahead of it."""
    x_chain_id: ID
    c_chain_id: ID
    p_chain_height: int | None = None
    """The P-Chain height whose validators sign warp messages (p2p.md 11.4); None outside of a block that has one."""
