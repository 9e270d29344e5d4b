"""Built-in networks, from files in this package.

Unspecified: every network without a genesis file starts with the local network's allocations (gaps.md 6),
whatever its ID, with two exceptions. Each of its first validators stakes 2,000,000 coins, the total of five
validators of that network, because one node may stake at most 3,000,000. The X-Chain balance of ewoq brings
the supply to half of the cap, so that staking rewards equal those in the reference's local network; there is no
X-Chain to spend it on. A genesis file's C-Chain is not compared with the C-Chain that runs.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from typing import NamedTuple

from platform_app.config import UNIT, PlatformConfig
from platform_app.genesis.config import (
    Allocation,
    GenesisConfig,
    InitialStaker,
    parse_genesis_config,
)
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.txs.components import ProofOfPossession
from primitives import json_limits
from primitives.ids import NodeID
from primitives.json_limits import FILE_VALUES, TooDeep, TooManyValues

REFERENCE_STEP = 270 * 24 * 60 * 60
"""The reference moves the start of its local network forward in steps of this many seconds."""
DELEGATION_FEE = 20_000
"""The delegation fee of the validators of a new network, in millionths."""


class Founder(NamedTuple):
    """A genesis validator of a new network."""

    node_id: NodeID
    signer: ProofOfPossession


def read_genesis_config(text: bytes) -> GenesisConfig:
    """Read a genesis file.

    Raises:
        GenesisError: It is not JSON, or a field is missing or malformed.
    """
    try:
        json_limits.verify(text, values=FILE_VALUES)
        document = json.loads(text)
    except TooManyValues:
        raise GenesisError(
            PlatformGenesisReason.MALFORMED_FIELD, name="", cause=f"more than {FILE_VALUES} values"
        ) from None
    except (ValueError, RecursionError, TooDeep):
        raise GenesisError(
            PlatformGenesisReason.MALFORMED_FIELD, name="", cause="not JSON"
        ) from None
    return parse_genesis_config(document)


def own_network(
    config: PlatformConfig,
    founders: Sequence[Founder],
    *,
    start_time: int,
    c_chain_genesis: str,
) -> GenesisConfig:
    """Return a network that starts at a time with these validators, staked from the first allocation.

    The file's amounts have 6 decimals; they are converted to the decimals of the network's coins.

    Unspecified: all validators end at the same second. In the reference's local network each ends an hour
    and a half before the one named before it, so that genesis bytes have them in heap order;
    here they are in the order named.

    Raises:
        GenesisError: Their stake would bring the supply above half of the cap.
    """
    file = read_genesis_config(_file("local.json"))
    scaled = [_multiplied(allocation, config.unit // UNIT) for allocation in file.allocations]
    staking, rewarded, *others = scaled
    staked = _multiplied(staking, len(founders))
    half = config.rewards.supply_cap // 2
    rest = half - sum(map(_total, (staked, rewarded, *others)))
    if rest < 0:
        room = half - sum(map(_total, (rewarded, *others)))
        raise GenesisError(
            PlatformGenesisReason.TOO_MANY_VALIDATORS,
            count=len(founders),
            most=room // _total(staking),
        )
    return replace(
        file,
        network_id=config.network_id,
        start_time=start_time,
        allocations=(staked, replace(rewarded, x_chain_amount=rest), *others),
        staked_funds=(staking.address,),
        stakers=tuple(
            InitialStaker(founder.node_id, rewarded.address, DELEGATION_FEE, founder.signer)
            for founder in founders
        ),
        stake_duration_offset=0,
        c_chain_genesis=c_chain_genesis,
        denomination=config.decimals,
    )


def _multiplied(allocation: Allocation, factor: int) -> Allocation:
    return replace(
        allocation,
        x_chain_amount=allocation.x_chain_amount * factor,
        unlocks=tuple(
            replace(unlock, amount=unlock.amount * factor) for unlock in allocation.unlocks
        ),
    )


def _total(allocation: Allocation) -> int:
    return allocation.x_chain_amount + sum(unlock.amount for unlock in allocation.unlocks)


def reference_local_network(now: int) -> GenesisConfig:
    """Return the reference implementation's local network, with its own five validators."""
    config = read_genesis_config(_file("avalanchego-local.json"))
    steps = max(0, now - config.start_time) // REFERENCE_STEP
    return config.starting_at(config.start_time + steps * REFERENCE_STEP)


def _file(name: str) -> bytes:
    return files("platform_app").joinpath("genesis_files", name).read_bytes()
