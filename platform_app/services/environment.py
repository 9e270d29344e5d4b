"""What rules are told besides the state, put together from the settings, the rows and the clock."""

from platform_app.apps import platform_chain
from platform_app.executor.env import Env
from platform_app.store.blocks import Network


def env(network: Network, now: int) -> Env:
    """Return the surroundings of what is executed now, in Unix seconds."""
    return Env(
        config=platform_chain().config,
        asset_id=network.asset_id,
        now=now,
        x_chain_id=network.x_chain_id,
        c_chain_id=network.c_chain_id,
    )
