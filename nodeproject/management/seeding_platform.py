"""A P-Chain with many validators, delegators, outputs and past stakers.

Genesis file, signed transactions and blocks are verified as by a node. Unlike a node, seeding bypasses the mempool
and writes the rows of many blocks together.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command
from django.db import transaction as database

from chaindb import clock
from network_app.apps import node_network
from nodeproject.apps import this_node
from nodeproject.management.initialise import initialise
from nodeproject.management.seeding_payments import (
    COIN,
    FEE,
    RICH,
    SeededOwner,
    coins_of,
    delegation,
    largest,
    node_id,
    owner,
    split,
    transfer,
)
from nodeproject.startup.identity import make_identity
from platform_app.apps import platform_chain
from platform_app.blocks.block import Block, build_options, build_proposal
from platform_app.blocks.builder import build as build_block
from platform_app.blocks.processing import WriteStep
from platform_app.config import DAY
from platform_app.executor.clock import advance_time_to
from platform_app.executor.proposal import execute_reward
from platform_app.selectors import coins
from platform_app.services.acceptance import write
from platform_app.state.chain import Diff
from platform_app.state.stakers import Staker
from platform_app.store import blocks as chain_rows
from platform_app.store.facets import Moment
from platform_app.store.staking import spread
from platform_app.store.state import DatabaseState
from platform_app.txs.base import ProofOfPossession, Tx
from platform_app.txs.codec import build
from platform_app.txs.staking import RewardValidatorTx
from primitives import bls
from primitives.addresses import format_address
from primitives.ids import ID, NodeID, ShortID
from primitives.whole_files import write_whole
from utxo.components import UTXO

AGE: Final = 4 * DAY
"""Age of the chain in seconds when a node starts on it: past stakers need some days."""
STAY: Final = 365 * DAY
"""Seconds of the longest validation period."""
VALIDATED: Final = 4_000 * COIN
DELEGATED: Final = 25 * COIN
OFFERED: Final = 500
"""Transactions that are read together; about three hundred fit into a block."""
REWARDED: Final = 100
"""Stakers that are rewarded in one commit."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The content of a P-Chain."""

    validators: int
    """Validators besides the node itself, in the genesis."""
    delegators: int
    """Delegators, spread evenly over the validators."""
    apart: int
    """Seconds between the ends of successive validators."""
    coins: int
    """Outputs of one coin each, paid to the holder by as many transactions."""
    holder: ShortID | None
    past: int
    """Delegators that were rewarded and have left, one after the other."""


class NoGenesisPath(Exception):
    """A new chain is requested, but no setting names the path of its genesis file."""

    def __init__(self) -> None:
        super().__init__(
            "NODE_PLATFORM_GENESIS must name the path to which the genesis file is written."
        )


def seed(shape: Shape) -> None:
    """Create the missing parts: the network first, then its past stakers.

    The genesis file is written to the path in NODE_PLATFORM_GENESIS.

    Raises:
        NoGenesisPath: The setting is empty, and there is no chain yet.
    """
    call_command("migrate", interactive=False, verbosity=0)
    if chain_rows.read(platform_chain().db) is None:
        _begin(shape)
        if shape.holder is not None:
            _fund(shape.holder, shape.coins)
        _delegate(shape)
    _add_past(shape)
    # Otherwise a node would do this at its start, during the measurement.
    node_network().platform.begin()


def _begin(shape: Shape) -> None:
    """Write the genesis: that of the local network, with further validators of equal stakes."""
    if not settings.NODE.common.platform_genesis:
        raise NoGenesisPath
    now = clock.now()
    make_identity(settings.NODE, now)
    staked, rewarded = _address(owner("staked")), _address(owner("rewarded"))
    nodes = {platform_chain().node_id: platform_chain().proof_of_possession}
    nodes |= {node_id(number): _proof(number) for number in range(shape.validators)}
    local = files("platform_app").joinpath("genesis_files", "local.json").read_text()
    document: dict[str, Any] = json.loads(local)
    document["allocations"].append(
        {
            "ethAddr": "0x" + "00" * 20,
            "avaxAddr": staked,
            "initialAmount": 0,
            "unlockSchedule": [{"amount": VALIDATED * len(nodes)}],
        }
    )
    document |= {
        "startTime": now - AGE,
        "initialStakeDuration": STAY,
        "initialStakeDurationOffset": shape.apart,
        "initialStakedFunds": [staked],
        "initialStakers": [_validator(node, proof, rewarded) for node, proof in nodes.items()],
    }
    write_whole(Path(settings.NODE.common.platform_genesis), json.dumps(document).encode())
    initialise(this_node())


def _fund(holder: ShortID, count: int) -> None:
    """Pay one address the given number of outputs, each by a separate transaction."""
    payer = owner("payer")
    payment = [(holder, COIN)]
    _accept([transfer(coin, payer, payment) for coin in _take(payer, COIN + FEE, count)])


def _delegate(shape: Shape) -> None:
    """Add the delegators of every validator, with ends spread over its validation period."""
    if not shape.validators:
        return
    delegator, now = owner("delegator"), platform_chain().tip().timestamp
    of_each = shape.delegators // shape.validators
    txs = []
    for place, coin in enumerate(_take(delegator, DELEGATED, of_each * shape.validators)):
        number, turn = divmod(place, of_each)
        # The first validator of the genesis is the node itself.
        left = STAY - (number + 1) * shape.apart
        end = now + left * (turn + 1) // (of_each + 1)
        txs.append(delegation(coin, delegator, node_id(number), now, end))
    _accept(txs)


def _add_past(shape: Shape) -> None:
    """Let delegators stake for a day and leave with their rewards, one per second."""
    delegator, now = owner("past delegator"), platform_chain().tip().timestamp
    first = now + DAY + 1
    coins_taken = _take(delegator, DELEGATED, shape.past)
    _accept(
        [
            delegation(
                coin,
                delegator,
                node_id(place * shape.validators // shape.past),
                now,
                first + place,
            )
            for place, coin in enumerate(coins_taken)
        ]
    )
    while _reward_some(until=first + shape.past):
        pass


def _take(taker: SeededOwner, amount: int, count: int) -> list[UTXO]:
    """Take outputs of an amount from the network's prefunded owner."""
    if not count:
        return []
    txs = split(
        largest(coins.coins_of(platform_chain(), [RICH.short_id])),
        RICH,
        [(taker.short_id, amount)] * count,
    )
    _accept(txs)
    return [coin for tx in txs for coin in coins_of(tx, taker)]


def _accept(txs: Sequence[Tx]) -> None:
    """Put transactions into blocks, in their order."""
    place = 0
    with database.atomic():
        while place < len(txs):
            state = DatabaseState(platform_chain().db)
            offered = txs[place : place + OFFERED]
            state.prefetch(offered)
            now = platform_chain().env(state.network, state.clock.timestamp())
            built = build_block(state.tip, state, offered, now)
            assert not built.dropped, built.dropped[0][1]
            assert built.block is not None
            assert isinstance(built.outcome, Diff)
            write(platform_chain(), [WriteStep((built.block,), built.outcome)])
            place += len(built.block.txs)


@database.atomic
def _reward_some(until: int) -> bool:
    """Reward the next stakers whose period is over; return whether there were any."""
    state = DatabaseState(platform_chain().db)
    over = takewhile(lambda staker: staker.end <= until, state.stakers.current())
    leaving = list(islice(over, REWARDED))
    if not leaving:
        return False
    state.txs.load(staker.tx_id for staker in leaving)
    diff, blocks = Diff(state), []
    parent, height = state.tip.block_id, state.tip.height
    for staker in leaving:
        proposal, option = _reward(staker, parent, height + 1, diff, state)
        blocks += [proposal, option]
        parent, height = option.block_id, option.height
    write(platform_chain(), [WriteStep(tuple(blocks), diff)])
    _date(leaving, blocks[1::2], diff)
    return True


def _reward(
    staker: Staker, parent: ID, height: int, diff: Diff, state: DatabaseState
) -> tuple[Block, Block]:
    """Execute the proposal to reward a staker; return its block and the block that commits it."""
    config = platform_chain().config
    advance_time_to(diff, staker.end, config)
    tx = build(RewardValidatorTx(staker.tx_id), ())
    # The abort outcome is not used, so it may be computed on top of this one.
    execute_reward(tx, diff, Diff(diff), platform_chain().env(state.network, staker.end))
    proposal = build_proposal(parent_id=parent, height=height, time=staker.end, proposal=tx, txs=())
    return proposal, build_options(proposal)[0]


def _date(leaving: Sequence[Staker], options: Sequence[Block], diff: Diff) -> None:
    """Write which block ended each staker's period and paid it, since a commit has a single height for all."""
    moments = {
        staker.tx_id: Moment(block.height, staker.end)
        for staker, block in zip(leaving, options, strict=True)
    }
    spread(platform_chain().db, moments, diff)


def _validator(node: NodeID, proof: ProofOfPossession, rewarded: str) -> dict[str, Any]:
    """Return a validator of the genesis file."""
    return {
        "nodeID": str(node),
        "rewardAddress": rewarded,
        "delegationFee": 20_000,
        "signer": {
            "publicKey": f"0x{proof.public_key.hex()}",
            "proofOfPossession": f"0x{proof.proof_of_possession.hex()}",
        },
    }


def _proof(number: int) -> ProofOfPossession:
    secret = (number + 1).to_bytes(bls.SECRET_KEY_SIZE, "big")
    return ProofOfPossession(bls.public_key(secret), bls.prove_possession(secret))


def _address(who: SeededOwner) -> str:
    """Return an address in the format of the genesis file."""
    return format_address("X", platform_chain().config.hrp, who.short_id)
