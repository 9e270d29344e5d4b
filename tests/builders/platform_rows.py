"""A P-Chain in the database with arbitrary blocks, whether or not the rules would allow them.

`begin()` writes the genesis, `accept(change, …)` the next block. A change is a function of a diff;
`adding(…)` returns the usual ones.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from platform_app.apps import platform_chain
from platform_app.blocks.block import (
    Block,
    build_options,
    build_proposal,
    build_standard,
    genesis_block,
)
from platform_app.state.chain import Diff
from platform_app.state.facets import FeeState
from platform_app.state.stakers import AutoRenewal, Priority, Staker
from platform_app.store import blocks
from platform_app.store.blocks import StoredNetwork
from platform_app.store.state import DatabaseState
from platform_app.txs import staking, subnets
from platform_app.txs.base import Tx, TxStatus, UnsignedTx
from platform_app.txs.codec import CODEC, build
from platform_app.txs.l1 import AddAutoRenewedValidatorTx, RewardAutoRenewedValidatorTx
from primitives.hashing import sha256
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform, shared_outputs
from tests.builders.platform_state import SUPPLY, MemoryState
from utxo.components import UTXO

Change = Callable[[Diff], None]

GENESIS = b"genesis of a test"
NETWORK = StoredNetwork(
    genesis_hash=ID(sha256(GENESIS)),
    network_id=platform.NETWORK_ID,
    unit=platform.UNIT,
    asset_id=platform.ASSET_ID,
    x_chain_id=platform.X_CHAIN_ID,
    c_chain_id=platform.C_CHAIN_ID,
)


def begin(*changes: Change, time: int = platform.NOW) -> Block:
    """Write and return the first block of a network whose state results from the changes."""
    diff = Diff(DatabaseState(platform_chain().db))
    diff.clock.set_timestamp(time)
    for change in changes:
        change(diff)
    block = genesis_block(GENESIS)
    with platform_chain().db.atomic():
        blocks.begin(platform_chain().db, NETWORK, block, diff, GENESIS)
    return block


def begin_with(state: MemoryState) -> Block:
    """Write and return the first block of a network with this state."""

    def change(diff: Diff) -> None:
        diff.supplies.set(PRIMARY_NETWORK_ID, SUPPLY)
        diff.clock.set_fee_state(FeeState(state.clock.fees.capacity, state.clock.fees.excess))
        for utxo in state.utxos.values():
            diff.utxos.produce(utxo)

    block = begin(change)
    for (source_chain, _), utxo in state.utxos.from_peers.items():
        shared_outputs.receive(platform_chain().db, source_chain, [utxo], height=0)
    return block


def accept(*changes: Change, after: int = 1) -> Block:
    """Write and return the next block, `after` seconds later."""
    diff = Diff(DatabaseState(platform_chain().db))
    diff.clock.set_timestamp(platform_chain().tip().timestamp + after)
    for change in changes:
        change(diff)
    return accept_diff(diff)


def accept_diff(diff: Diff) -> Block:
    """Write and return the next block, whose changes are those of a diff."""
    tip = platform_chain().tip()
    block = build_standard(
        parent_id=tip.block_id,
        height=tip.height + 1,
        time=diff.clock.timestamp(),
        txs=[tx for tx, _ in diff.txs.changes()],
    )
    with platform_chain().db.atomic():
        blocks.commit(platform_chain().db, [block], diff)
    return block


def reward(staker: Staker, *changes: Change, commit: bool = True) -> tuple[Block, Block]:
    """Write a proposal to reward a staker and its option; return both."""
    tip, diff = platform_chain().tip(), Diff(DatabaseState(platform_chain().db))
    diff.clock.set_timestamp(max(tip.timestamp, staker.end))
    diff.stakers.remove(staker)
    for change in changes:
        change(diff)
    decisions = [tx for tx, _ in diff.txs.changes()]
    tx = platform.signed(staking.RewardValidatorTx, tx_id=staker.tx_id)
    diff.txs.add(tx, TxStatus.COMMITTED if commit else TxStatus.ABORTED)
    block = build_proposal(
        parent_id=tip.block_id,
        height=tip.height + 1,
        time=diff.clock.timestamp(),
        proposal=tx,
        txs=decisions,
    )
    committed, aborted = build_options(block)
    option = committed if commit else aborted
    with platform_chain().db.atomic():
        blocks.commit(platform_chain().db, [block, option], diff)
    return block, option


def adding_tx(tx: Tx, status: TxStatus = TxStatus.COMMITTED) -> Change:
    """Return the change that adds only a transaction."""
    return lambda diff: diff.txs.add(tx, status)


def producing(*utxos: UTXO) -> Change:
    """Return the change that adds unspent outputs."""

    def change(diff: Diff) -> None:
        for utxo in utxos:
            diff.utxos.produce(utxo)

    return change


def adding(
    priority: Priority = Priority.PRIMARY_VALIDATOR_CURRENT,
    *,
    subnet_id: ID = platform.SUBNET_ID,
    potential_reward: int = 0,
    of_tx: dict[str, Any] | None = None,
    **of_period: Any,
) -> tuple[Staker, Change]:
    """Return a staker with a priority, and the change that adds it with its transaction."""
    cls, subnet = _KIND[priority]
    fields = {"memo": repr(sorted(of_period.items())).encode(), **(of_tx or {})}
    on_subnet = cls is subnets.AddSubnetValidatorTx
    period = (
        platform.subnet_validator(subnet_id=subnet_id, **of_period)
        if on_subnet
        else platform.validator(**of_period)
    )
    if "stake" not in fields and not on_subnet:
        fields["stake"] = platform.outputs(period.weight)
    tx = platform.signed(cls, validator=period, **fields)
    unsigned: Any = tx.unsigned
    staker = Staker(
        tx_id=tx.tx_id,
        node_id=period.node_id,
        subnet_id=subnet_id if on_subnet else platform.PRIMARY_NETWORK_ID,
        weight=period.weight,
        start=period.start,
        end=period.end,
        potential_reward=potential_reward,
        priority=priority,
        public_key=getattr(getattr(unsigned, "signer", None), "public_key", None),
    )
    assert subnet == on_subnet

    def change(diff: Diff) -> None:
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.stakers.put(staker)

    return staker, change


_KIND: dict[Priority, tuple[type[UnsignedTx], bool]] = {
    Priority.PRIMARY_VALIDATOR_PENDING: (staking.AddValidatorTx, False),
    Priority.PRIMARY_VALIDATOR_CURRENT: (staking.AddPermissionlessValidatorTx, False),
    Priority.PRIMARY_DELEGATOR_SCHEDULED_PENDING: (staking.AddDelegatorTx, False),
    Priority.PRIMARY_DELEGATOR_PENDING: (staking.AddPermissionlessDelegatorTx, False),
    Priority.PRIMARY_DELEGATOR_CURRENT: (staking.AddPermissionlessDelegatorTx, False),
    Priority.PERMISSIONED_VALIDATOR_PENDING: (subnets.AddSubnetValidatorTx, True),
    Priority.PERMISSIONED_VALIDATOR_CURRENT: (subnets.AddSubnetValidatorTx, True),
}


def adding_auto_renewed(
    terms: AutoRenewal, *, node_id: NodeID = platform.NODE_ID, start: int, end: int, weight: int
) -> tuple[Staker, Change]:
    """Return an auto-renewed validator, and the change that adds it with its transaction."""
    tx = platform.signed(
        AddAutoRenewedValidatorTx,
        node_id=bytes(node_id),
        stake=platform.outputs(weight),
        memo=b"%d %d" % (start, end),
    )
    unsigned: Any = tx.unsigned
    staker = Staker(
        tx_id=tx.tx_id,
        node_id=node_id,
        subnet_id=PRIMARY_NETWORK_ID,
        weight=weight,
        start=start,
        end=end,
        potential_reward=0,
        priority=Priority.PRIMARY_VALIDATOR_CURRENT,
        public_key=unsigned.signer.public_key,
    )

    def change(diff: Diff) -> None:
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.stakers.put(staker)
        diff.stakers.set_auto_renewal(tx.tx_id, terms)

    return staker, change


def renewing(staker: Staker, terms: AutoRenewal, **changes: Any) -> tuple[Staker, Change]:
    """Return an auto-renewed validator in its next period, and the change that begins the period."""
    renewed = replace(staker, start=staker.end, **changes)
    tx = build(RewardAutoRenewedValidatorTx(staker.tx_id, staker.end), ())

    def change(diff: Diff) -> None:
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.stakers.put(renewed)
        diff.stakers.set_delegatee_reward(staker.tx_id, 0)
        diff.stakers.set_auto_renewal(staker.tx_id, terms)

    return renewed, change


def raw_utxo(utxo: UTXO) -> bytes:
    """Return an output as clients receive it."""
    return CODEC.marshal(utxo)
