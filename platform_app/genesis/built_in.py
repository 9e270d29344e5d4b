"""Networks that come with the node, as files beside this package.

Unspecified: every network that is given no genesis file begins with the local one's allocations
(gaps.md 6), whatever its number, but for two. Each of its first validators stakes 2,000,000 coins, as many
as five of them do there: one node may stake no more than 3,000,000. What ewoq has on the X-Chain brings the supply to half of
the cap, so that staking earns what it does in the reference's local network; there is no X-Chain to
spend it on. A genesis file's C-Chain is taken as it is: whether it is the one that runs is not compared.
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
from platform_app.genesis.errors import MalformedGenesisField, TooManyValidators
from platform_app.txs.components import ProofOfPossession
from primitives import json_limits
from primitives.ids import NodeID
from primitives.json_limits import FILE_VALUES, TooDeep, TooManyValues

REFERENCE_STEP = 270 * 24 * 60 * 60
"""The reference moves the start of its local network forward in steps of so many seconds."""
DELEGATION_FEE = 20_000
"""In millionths: what the validators of a new network take of their delegators' rewards."""


class Founder(NamedTuple):
    """A validator from the beginning of a network of one's own."""

    node_id: NodeID
    signer: ProofOfPossession


def read_genesis_config(text: bytes) -> GenesisConfig:
    """Read a genesis file.

    Raises:
        GenesisError: It is no JSON, or a field of it is missing or malformed.
    """
    try:
        json_limits.verify(text, values=FILE_VALUES)
        document = json.loads(text)
    except TooManyValues:
        raise MalformedGenesisField("", f"more than {FILE_VALUES} values") from None
    except (ValueError, RecursionError, TooDeep):
        raise MalformedGenesisField("", "not JSON") from None
    return parse_genesis_config(document)


def own_network(
    config: PlatformConfig,
    founders: Sequence[Founder],
    *,
    start_time: int,
    c_chain_genesis: str,
) -> GenesisConfig:
    """Return a network that begins at a time with these validators: the first allocation stakes for them.

    The file's amounts have 6 decimals; they are written with as many as the network's coins have.

    Unspecified: all of them end at the same second. In the reference's local network each ends an hour
    and a half before the one named before it, and then genesis bytes have them in the order of a heap;
    here the first one named is the first in them.

    Raises:
        TooManyValidators: Their stake would bring the supply above half of the cap.
    """
    file = read_genesis_config(_file("local.json"))
    scaled = [_multiplied(allocation, config.unit // UNIT) for allocation in file.allocations]
    staking, rewarded, *others = scaled
    staked = _multiplied(staking, len(founders))
    half = config.rewards.supply_cap // 2
    rest = half - sum(map(_total, (staked, rewarded, *others)))
    if rest < 0:
        room = half - sum(map(_total, (rewarded, *others)))
        raise TooManyValidators(len(founders), room // _total(staking))
    return replace(
        file,
        network_id=config.network_id,
        start_time=start_time,
        allocations=(staked, replace(rewarded, x_chain_amount=rest), *others),
        staked_funds=(staking.address,),
        stakers=tuple(
            InitialStaker(one.node_id, rewarded.address, DELEGATION_FEE, one.signer)
            for one in founders
        ),
        stake_duration_offset=0,
        c_chain_genesis=c_chain_genesis,
        denomination=config.decimals,
    )


def _multiplied(allocation: Allocation, factor: int) -> Allocation:
    return replace(
        allocation,
        x_chain_amount=allocation.x_chain_amount * factor,
        unlocks=tuple(replace(one, amount=one.amount * factor) for one in allocation.unlocks),
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
