"""Networks that come with the node, as files beside this package.

Unspecified: every network that is given no genesis file begins with the local one's allocations
(gaps.md 6), whatever its number. What is on the X-Chain there brings the supply to half of the cap, so
that staking earns what it does in the reference's local network; there is no X-Chain to spend it on.
"""

import json
from dataclasses import replace
from importlib.resources import files

from platform_app.genesis.config import GenesisConfig, InitialStaker, parse_genesis_config
from platform_app.genesis.errors import MalformedGenesisField
from platform_app.txs.components import ProofOfPossession
from primitives.ids import NodeID

REFERENCE_STEP = 270 * 24 * 60 * 60
"""The reference moves the start of its local network forward in steps of so many seconds."""
DELEGATION_FEE = 20_000
"""In millionths: what the one validator of a new network takes of its delegators' rewards."""


def read_genesis_config(text: bytes) -> GenesisConfig:
    """Read a genesis file.

    Raises:
        GenesisError: It is no JSON, or a field of it is missing or malformed.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise MalformedGenesisField("", "not JSON") from None
    return parse_genesis_config(document)


def own_network(
    network_id: int,
    node_id: NodeID,
    signer: ProofOfPossession,
    *,
    start_time: int,
    c_chain_genesis: str,
) -> GenesisConfig:
    """Return a network that begins at a time with one validator: the first allocation stakes for it."""
    config = read_genesis_config(_file("local.json"))
    staking, rewarded, *_ = (allocation.address for allocation in config.allocations)
    return replace(
        config,
        network_id=network_id,
        start_time=start_time,
        staked_funds=(staking,),
        stakers=(InitialStaker(node_id, rewarded, DELEGATION_FEE, signer),),
        c_chain_genesis=c_chain_genesis,
    )


def reference_local_network(now: int) -> GenesisConfig:
    """Return the reference implementation's local network, with its own five validators."""
    config = read_genesis_config(_file("avalanchego-local.json"))
    steps = max(0, now - config.start_time) // REFERENCE_STEP
    return config.starting_at(config.start_time + steps * REFERENCE_STEP)


def _file(name: str) -> bytes:
    return files("platform_app").joinpath("genesis_files", name).read_bytes()
