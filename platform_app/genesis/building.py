"""Building of genesis bytes from a configuration (pchain.md 10.3), and the configurations of built-in networks.

Unspecified: every network without a genesis file starts with the local network's allocations (gaps.md 6),
whatever its ID, with two exceptions. Each of its first validators stakes 2,000,000 coins, the total of five
validators of that network, because one node may stake at most 3,000,000. The X-Chain balance of ewoq brings
the supply to half of the cap, so that staking rewards equal those in the reference's local network. A genesis
file's C-Chain is not compared with the C-Chain that runs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import NamedTuple

from platform_app.config import UNIT, PlatformConfig
from platform_app.genesis.config import (
    Allocation,
    GenesisConfig,
    InitialStaker,
    Unlock,
    parse_genesis_config,
)
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.genesis.genesis import GenesisBody, GenesisUTXO, asset_of, build_x_chain_genesis
from platform_app.txs.base import AuthInput, LockOut, ProofOfPossession, SignedBody, StakingPeriod
from platform_app.txs.codec import GENESIS_CODEC
from platform_app.txs.staking import AddPermissionlessValidatorTx, AddValidatorTx
from platform_app.txs.subnets import CreateChainTx
from primitives import json_limits
from primitives.ids import (
    AVM_ID,
    EMPTY_ID,
    EVM_ID,
    ID,
    NFT_FX_ID,
    PRIMARY_NETWORK_ID,
    PROPERTY_FX_ID,
    SECP256K1_FX_ID,
    NodeID,
    ShortID,
)
from primitives.json_limits import FILE_VALUES, TooDeep, TooManyValues
from utxo.components import UTXO, OutputOwners, TransferableOutput, TransferOutput, UtxoOutput

X_CHAIN_FX_IDS = (SECP256K1_FX_ID, NFT_FX_ID, PROPERTY_FX_ID)
"""In this order, which is not the sorted order that users' chains must have."""


def build_genesis(config: GenesisConfig) -> bytes:
    """Return the genesis bytes of a network.

    Raises:
        GenesisError: The configuration is inconsistent.
        CodecError: A text or number does not fit into its field.
    """
    config.verify()
    x_chain = build_x_chain_genesis(config)
    asset_id = asset_of(x_chain).asset_id
    body = GenesisBody(
        utxos=tuple(_utxos(config, asset_id)),
        validators=tuple(_in_heap_order(_validators(config, asset_id))),
        chains=tuple(_chains(config, x_chain)),
        timestamp=config.start_time,
        initial_supply=config.initial_supply,
        message=config.message,
    )
    return GENESIS_CODEC.marshal(body)


def _output(unlock: Unlock, address: ShortID, start_time: int) -> UtxoOutput:
    transfer = TransferOutput(unlock.amount, OutputOwners(0, 1, (address,)))
    return LockOut(unlock.locktime, transfer) if unlock.locktime > start_time else transfer


def _utxos(config: GenesisConfig, asset_id: ID) -> Iterator[GenesisUTXO]:
    given = (
        (allocation, unlock)
        for allocation in config.allocations
        if allocation.address not in config.staked_funds
        for unlock in allocation.unlocks
        if unlock.amount > 0
    )
    for index, (allocation, unlock) in enumerate(given):
        output = _output(unlock, allocation.address, config.start_time)
        yield GenesisUTXO(UTXO(EMPTY_ID, index, asset_id, output), allocation.message)


class _Stake(NamedTuple):
    """A part of the staked funds; the order of fields is their order in a validator's stake."""

    locktime: int
    amount: int
    address: ShortID


def _validators(config: GenesisConfig, asset_id: ID) -> Iterator[SignedBody]:
    staked = [part for part in config.allocations if part.address in config.staked_funds]
    shares = _split(staked, len(config.stakers)) if config.stakers else []
    end = config.start_time + config.stake_duration
    for staker, share in zip(config.stakers, shares, strict=True):
        yield SignedBody(_validator_tx(config, staker, share, end, asset_id), ())
        end -= config.stake_duration_offset


def _split(allocations: Iterable[Allocation], parts: int) -> list[list[_Stake]]:
    """Split staked funds evenly among validators; the last one gets the remainder."""
    funds = [
        _Stake(unlock.locktime, unlock.amount, allocation.address)
        for allocation in allocations
        for unlock in allocation.unlocks
    ]
    weight = sum(stake.amount for stake in funds) // parts
    shares: list[list[_Stake]] = [[]]
    room = weight
    for stake in funds:
        rest = stake.amount
        # as the reference does: if a share is already full, the part that is cut off is zero
        while rest > room and len(shares) < parts:
            shares[-1].append(stake._replace(amount=room))
            shares.append([])
            rest, room = rest - room, weight
        if rest > 0:
            shares[-1].append(stake._replace(amount=rest))
            room -= rest
    return shares


def _validator_tx(
    config: GenesisConfig, staker: InitialStaker, stake: Iterable[_Stake], end: int, asset_id: ID
) -> AddValidatorTx | AddPermissionlessValidatorTx:
    parts = sorted(stake)
    outputs = tuple(
        TransferableOutput(
            asset_id, _output(Unlock(part.amount, part.locktime), part.address, config.start_time)
        )
        for part in parts
    )
    weight = sum(part.amount for part in parts)
    validator = StakingPeriod(staker.node_id, config.start_time, end, weight)
    owner = OutputOwners(0, 1, (staker.reward_address,))
    base = _base(config)
    if staker.signer is None:
        return AddValidatorTx(*base, validator, outputs, owner, staker.delegation_fee)
    return AddPermissionlessValidatorTx(
        *base,
        validator,
        PRIMARY_NETWORK_ID,
        staker.signer,
        outputs,
        owner,
        owner,
        staker.delegation_fee,
    )


def _in_heap_order(bodies: Iterable[SignedBody]) -> list[SignedBody]:
    """Return validators in the array order of a binary min-heap that they were pushed to, by their ends."""
    heap: list[tuple[int, SignedBody]] = []
    for body in bodies:
        assert isinstance(body.unsigned, AddValidatorTx | AddPermissionlessValidatorTx)
        place = len(heap)
        heap.append((body.unsigned.validator.end, body))
        while place and heap[place][0] < heap[(place - 1) // 2][0]:
            above = (place - 1) // 2
            heap[place], heap[above] = heap[above], heap[place]
            place = above
    return [body for _, body in heap]


def _chains(config: GenesisConfig, x_chain_genesis: bytes) -> Iterator[SignedBody]:
    chains = (
        ("X-Chain", AVM_ID, X_CHAIN_FX_IDS, x_chain_genesis),
        ("C-Chain", EVM_ID, (), config.c_chain_genesis.encode()),
    )
    for name, vm_id, fx_ids, genesis in chains:
        yield SignedBody(
            CreateChainTx(
                *_base(config), PRIMARY_NETWORK_ID, name, vm_id, fx_ids, genesis, AuthInput(())
            ),
            (),
        )


def _base(config: GenesisConfig) -> tuple[int, ID, tuple[()], tuple[()], bytes]:
    return config.network_id, EMPTY_ID, (), (), b""


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
    x_holders: Mapping[ShortID, int] | None = None,
) -> GenesisConfig:
    """Return a network that starts at a time with these validators, staked from the first allocation.

    The file's amounts have 6 decimals; they are converted to the decimals of the network's coins. Owners of the file's
    funds, such as ewoq, get no more on the X-Chain as `x_holders` than they have anyway.

    Args:
        config: The network's parameters.
        founders: The validators.
        start_time: Unix seconds.
        c_chain_genesis: The C-Chain's genesis file.
        x_holders: Whole coins on the X-Chain for further addresses, which ewoq has less there.

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
    known = {allocation.address for allocation in scaled}
    others += [
        Allocation(address, coins * config.unit)
        for address, coins in sorted((x_holders or {}).items())
        if address not in known
    ]
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
