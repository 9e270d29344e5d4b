"""What rules are told besides the state, put together from the settings, the rows and the clock."""

from platform_app.chain import PlatformChain
from platform_app.executor.env import Env
from platform_app.store.blocks import Network


def env(chain: PlatformChain, network: Network, now: int) -> Env:
    """Return the environment of what is executed now, in Unix seconds."""
    return Env(
        config=chain.config,
        asset_id=network.asset_id,
        now=now,
        x_chain_id=network.x_chain_id,
        c_chain_id=network.c_chain_id,
    )
