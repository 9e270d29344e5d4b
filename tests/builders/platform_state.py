"""A P-Chain state in plain dictionaries, and functions that make its contents in one call."""

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from platform_app.config import DAY, UNIT, PlatformConfig
from platform_app.executor.clock import promote
from platform_app.executor.env import Env
from platform_app.executor.staking import staker_of
from platform_app.executor.standard import execute
from platform_app.state.chain import DiffChanges, FeeState
from platform_app.state.diff import Diff
from platform_app.state.staker import Priority, Staker
from platform_app.txs.base import Tx, TxStatus, UnsignedTx
from platform_app.txs.components import inner_output
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from utxo.components import UTXO, OutputOwners
from utxo.errors import InvalidTx

SUPPLY = 1_000_000_000 * UNIT
ENV = Env(
    config=platform.CONFIG,
    asset_id=platform.ASSET_ID,
    now=platform.NOW,
    x_chain_id=platform.X_CHAIN_ID,
    c_chain_id=platform.C_CHAIN_ID,
)


def env(**changes: Any) -> Env:
    """Return the usual environment with the changes."""
    return replace(ENV, **changes)


@dataclass
class MemoryState:
    """A `ChainState` in memory; `accept` advances it to the next state."""

    time: int = platform.NOW
    fees: FeeState = field(default_factory=lambda: FeeState(capacity=1_000_000))
    supplies: dict[ID, int] = field(default_factory=lambda: {PRIMARY_NETWORK_ID: SUPPLY})
    utxos: dict[ID, UTXO] = field(default_factory=dict)
    shared: dict[tuple[ID, ID], UTXO] = field(default_factory=dict)
    exported: list[tuple[ID, UTXO]] = field(default_factory=list)
    stakers: dict[ID, Staker] = field(default_factory=dict)
    delegatee_rewards: dict[ID, int] = field(default_factory=dict)
    owners: dict[ID, OutputOwners] = field(default_factory=dict)
    chains: dict[ID, ID] = field(default_factory=dict)
    txs: dict[ID, tuple[Tx, TxStatus]] = field(default_factory=dict)
    reward_utxos: list[tuple[ID, UTXO]] = field(default_factory=list)

    def timestamp(self) -> int:
        return self.time

    def fee_state(self) -> FeeState:
        return self.fees

    def supply(self, subnet_id: ID) -> int | None:
        return self.supplies.get(subnet_id)

    def utxo(self, utxo_id: ID) -> UTXO | None:
        return self.utxos.get(utxo_id)

    def shared_utxo(self, peer_chain: ID, utxo_id: ID) -> UTXO | None:
        return self.shared.get((peer_chain, utxo_id))

    def validator(self, subnet_id: ID, node_id: NodeID) -> Staker | None:
        return next(self._at(subnet_id, node_id, delegators=False), None)

    def delegators(self, subnet_id: ID, node_id: NodeID) -> Iterable[Staker]:
        return list(self._at(subnet_id, node_id, delegators=True))

    def current_stakers(self) -> Iterator[Staker]:
        return iter(self._in_order(pending=False))

    def pending_stakers(self) -> Iterator[Staker]:
        return iter(self._in_order(pending=True))

    def staker(self, tx_id: ID) -> Staker | None:
        return self.stakers.get(tx_id)

    def delegatee_reward(self, validator_tx_id: ID) -> int:
        return self.delegatee_rewards.get(validator_tx_id, 0)

    def subnet_owner(self, subnet_id: ID) -> OutputOwners | None:
        return self.owners.get(subnet_id)

    def subnet_of_chain(self, blockchain_id: ID) -> ID | None:
        return self.chains.get(blockchain_id)

    def tx(self, tx_id: ID) -> Tx | None:
        return self.txs[tx_id][0] if tx_id in self.txs else None

    def status(self, tx_id: ID) -> TxStatus:
        return self.txs[tx_id][1] if tx_id in self.txs else TxStatus.UNKNOWN

    def copied(self) -> "MemoryState":
        """Return an independent copy of the state."""
        return MemoryState(**{name: copy(value) for name, value in vars(self).items()})

    def accept(self, changes: DiffChanges) -> None:
        """Apply the changes of a diff."""
        self.time = self.time if changes.timestamp is None else changes.timestamp
        self.fees = changes.fee_state or self.fees
        self.supplies |= changes.supplies
        for utxo_id in changes.consumed:
            del self.utxos[utxo_id]
        self.utxos |= {utxo.utxo_id: utxo for utxo in changes.produced}
        for shared in changes.imported:
            del self.shared[shared]
        self.exported += changes.exported
        for staker in changes.left_stakers:
            self.stakers.pop(staker.tx_id, None)
        self.stakers |= {staker.tx_id: staker for staker in changes.stakers}
        self.delegatee_rewards |= changes.delegatee_rewards
        self.owners |= dict(changes.subnets) | dict(changes.subnet_owners)
        for tx in changes.chains:
            assert isinstance(tx.unsigned, CreateChainTx)
            self.chains[tx.tx_id] = tx.unsigned.subnet_id
        self.txs |= {tx.tx_id: (tx, status) for tx, status in changes.txs}
        self.reward_utxos += changes.reward_utxos

    def fund(self, *utxos: UTXO) -> None:
        """Add unspent outputs."""
        self.utxos |= {utxo.utxo_id: utxo for utxo in utxos}

    def share(self, peer_chain: ID, *utxos: UTXO) -> None:
        """Add outputs that another chain has exported."""
        self.shared |= {(peer_chain, utxo.utxo_id): utxo for utxo in utxos}

    def unspent(self, asset_id: ID = platform.ASSET_ID) -> int:
        """Return the sum of all unspent outputs of an asset."""
        held = (utxo for utxo in self.utxos.values() if utxo.asset_id == asset_id)
        return sum(inner_output(utxo.output).amount for utxo in held)

    def _at(self, subnet_id: ID, node_id: NodeID, *, delegators: bool) -> Iterator[Staker]:
        return (
            staker
            for staker in self.stakers.values()
            if (staker.subnet_id, staker.node_id) == (subnet_id, node_id)
            and staker.priority.is_delegator == delegators
        )

    def _in_order(self, *, pending: bool) -> list[Staker]:
        held = (s for s in self.stakers.values() if s.priority.is_pending == pending)
        return sorted(held, key=lambda staker: staker.order)


def state(*utxos: UTXO, **changes: Any) -> MemoryState:
    """Return a state with these outputs and the changes."""
    made = MemoryState(**changes)
    made.fund(*utxos)
    return made


def staker(name: str = "staker", **changes: Any) -> Staker:
    """Return a current validator of the Primary Network from 30 days before to 30 after `NOW`."""
    fields: dict[str, Any] = {
        "tx_id": platform.some_id(name),
        "node_id": platform.NODE_ID,
        "subnet_id": PRIMARY_NETWORK_ID,
        "weight": platform.CONFIG.min_validator_stake,
        "start": platform.NOW - 30 * DAY,
        "end": platform.NOW + 30 * DAY,
        "potential_reward": 0,
        "priority": Priority.PRIMARY_VALIDATOR_CURRENT,
    }
    return Staker(**{**fields, **changes})


def stakers(*made: Staker) -> dict[ID, Staker]:
    """Return stakers in the format of `MemoryState.stakers`."""
    return {one.tx_id: one for one in made}


def joined(
    into: MemoryState,
    tx: Tx,
    *,
    config: PlatformConfig = platform.CONFIG,
    priority: Priority = Priority.PRIMARY_VALIDATOR_PENDING,
) -> Staker:
    """Add the staker of a transaction to the current set as if it had been accepted at its start.

    The stake is not subtracted from any output.
    """
    unsigned: Any = tx.unsigned
    diff = Diff(into)
    promote(staker_of(tx, unsigned.validator, 0, config, priority=priority), diff, config)
    diff.add_tx(tx, TxStatus.COMMITTED)
    into.accept(diff.changes())
    return into.stakers[tx.tx_id]


def executed(tx: Tx, into: MemoryState, environment: Env = ENV) -> Diff:
    """Execute a transaction on a diff over a state; return the diff."""
    diff = Diff(into)
    execute(tx, diff, environment)
    return diff


def assert_refused(
    tx: Tx,
    into: MemoryState,
    reason: type[InvalidTx],
    words: str,
    *,
    because: type[InvalidTx] | None = None,
    environment: Env = ENV,
) -> None:
    """Check the error and message with which a transaction is rejected, and that nothing changes.

    If an error has a cause, `because` is the innermost one.
    """
    diff = Diff(into)
    with pytest.raises(reason) as refused:
        execute(tx, diff, environment)
    assert type(refused.value) is reason
    assert str(refused.value) == words
    innermost: Any = refused.value
    while hasattr(innermost, "reason"):
        innermost = innermost.reason
    assert type(innermost) is (because or reason)
    assert diff.changes() == Diff(into).changes()


PURSE = platform.utxo(10_000_000 * UNIT, number=9)
"""Enough for any stake."""


def staking(kind: type[UnsignedTx], *, weight: int | None = None, **changes: Any) -> Tx:
    """Return a signed staking transaction that is paid from `PURSE`.

    A weight changes the stake with it; `start`, `end` and `node_id` change the validator.
    """
    default = platform.unsigned(kind).validator
    of_validator = {key: changes.pop(key) for key in ("start", "end", "node_id") if key in changes}
    amount = default.weight if weight is None else weight
    fields = {
        "inputs": platform.spend_all(PURSE),
        "outputs": (),
        "validator": replace(default, weight=amount, **of_validator),
    }
    if hasattr(platform.unsigned(kind), "stake"):
        fields["stake"] = platform.outputs(amount)
    return platform.signed(kind, **{**fields, **changes})
