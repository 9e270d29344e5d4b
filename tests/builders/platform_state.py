"""A P-Chain state in plain dictionaries, and functions that make its contents in one call."""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from platform_app.config import DAY, UNIT, Env, PlatformConfig
from platform_app.executor.clock import promote
from platform_app.executor.staking import staker_of
from platform_app.executor.standard import execute
from platform_app.state.chain import Diff
from platform_app.state.facets import ClockChanges, FeeState
from platform_app.state.stakers import AutoRenewal, Priority, Staker, StakerChanges
from platform_app.state.subnets import SubnetChanges
from platform_app.state.utxos import UTXOChanges
from platform_app.txs.base import Tx, TxStatus, UnsignedTx, inner_output
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from tests.builders.l1_state import MemoryL1s
from tests.builders.reasons import raises
from utxo.components import UTXO, OutputOwners
from utxo.errors import InvalidTx

EMPTY: Mapping[Any, Any] = MappingProxyType({})
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


class _MemoryFacet(dict[ID, Any]):
    """A facet in a dictionary with further attributes, which count when two are compared."""

    def __eq__(self, other: object) -> bool:
        alike = isinstance(other, type(self)) and super().__eq__(other)
        return alike and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class MemoryUTXOs(_MemoryFacet):
    """Unspent outputs in memory."""

    def __init__(self, utxos: Mapping[ID, UTXO] = EMPTY) -> None:
        super().__init__(utxos)
        self.from_peers: dict[tuple[ID, ID], UTXO] = {}
        self.exported: list[tuple[ID, UTXO]] = []
        self.rewards: list[tuple[ID, UTXO]] = []

    def shared(self, peer_chain: ID, utxo_id: ID) -> UTXO | None:
        return self.from_peers.get((peer_chain, utxo_id))

    def accept(self, changes: UTXOChanges) -> None:
        for utxo_id in changes.consumed:
            del self[utxo_id]
        self.update({utxo.utxo_id: utxo for utxo in changes.produced})
        for shared in changes.imported:
            del self.from_peers[shared]
        self.exported += changes.exported
        self.rewards += changes.rewards


class MemoryStakers(_MemoryFacet):
    """Stakers in memory, both sets by transaction."""

    def __init__(self, stakers: Mapping[ID, Staker] = EMPTY) -> None:
        super().__init__(stakers)
        self.delegatee_rewards: dict[ID, int] = {}
        self.auto_renewals: dict[ID, AutoRenewal] = {}

    def validator(self, subnet_id: ID, node_id: NodeID) -> Staker | None:
        return next(self._at(subnet_id, node_id, delegators=False), None)

    def delegators(self, subnet_id: ID, node_id: NodeID) -> Iterable[Staker]:
        return list(self._at(subnet_id, node_id, delegators=True))

    def current(self) -> Iterator[Staker]:
        return iter(self._in_order(pending=False))

    def pending(self) -> Iterator[Staker]:
        return iter(self._in_order(pending=True))

    def delegatee_reward(self, validator_tx_id: ID) -> int:
        return self.delegatee_rewards.get(validator_tx_id, 0)

    def auto_renewal(self, validator_tx_id: ID) -> AutoRenewal | None:
        return self.auto_renewals.get(validator_tx_id)

    def accept(self, changes: StakerChanges) -> None:
        for staker in changes.left:
            self.pop(staker.tx_id, None)
        self.update({staker.tx_id: staker for staker in changes.present})
        self.delegatee_rewards |= changes.delegatee_rewards
        self.auto_renewals |= changes.auto_renewals

    def _at(self, subnet_id: ID, node_id: NodeID, *, delegators: bool) -> Iterator[Staker]:
        return (
            staker
            for staker in self.values()
            if (staker.subnet_id, staker.node_id) == (subnet_id, node_id)
            and staker.priority.is_delegator == delegators
        )

    def _in_order(self, *, pending: bool) -> list[Staker]:
        held = (s for s in self.values() if s.priority.is_pending == pending)
        return sorted(held, key=lambda staker: staker.order)


@dataclass
class MemoryClock:
    """Time and gas in memory."""

    time: int = platform.NOW
    fees: FeeState = field(default_factory=lambda: FeeState(capacity=1_000_000))

    def timestamp(self) -> int:
        return self.time

    def fee_state(self) -> FeeState:
        return self.fees

    def accept(self, changes: ClockChanges) -> None:
        self.time = self.time if changes.timestamp is None else changes.timestamp
        self.fees = changes.fee_state or self.fees


class MemorySupplies(dict[ID, int]):
    """Supplies in memory."""

    def accept(self, changes: Mapping[ID, int]) -> None:
        self.update(changes)


@dataclass
class MemorySubnets:
    """Owners of subnets, and the subnets of blockchains, in memory."""

    owners: dict[ID, OutputOwners] = field(default_factory=dict)
    blockchains: dict[ID, ID] = field(default_factory=dict)

    def owner(self, subnet_id: ID) -> OutputOwners | None:
        return self.owners.get(subnet_id)

    def of_blockchain(self, blockchain_id: ID) -> ID | None:
        return self.blockchains.get(blockchain_id)

    def accept(self, changes: SubnetChanges) -> None:
        self.owners |= dict(changes.added) | dict(changes.owners)
        for tx in changes.blockchains:
            assert isinstance(tx.unsigned, CreateChainTx)
            self.blockchains[tx.tx_id] = tx.unsigned.subnet_id


@dataclass
class MemoryTxs:
    """Accepted transactions in memory."""

    accepted: dict[ID, tuple[Tx, TxStatus]] = field(default_factory=dict)

    def get(self, tx_id: ID) -> Tx | None:
        return self.accepted[tx_id][0] if tx_id in self.accepted else None

    def status(self, tx_id: ID) -> TxStatus:
        return self.accepted[tx_id][1] if tx_id in self.accepted else TxStatus.UNKNOWN

    def accept(self, changes: Iterable[tuple[Tx, TxStatus]]) -> None:
        self.accepted |= {tx.tx_id: (tx, status) for tx, status in changes}


class MemoryState:
    """A `ChainState` in memory; `accept` advances it to the next state."""

    def __init__(
        self,
        time: int = platform.NOW,
        fees: FeeState = FeeState(capacity=1_000_000),  # noqa: B008 - it is immutable
        *,
        supplies: Mapping[ID, int] = MappingProxyType({PRIMARY_NETWORK_ID: SUPPLY}),
        stakers: Mapping[ID, Staker] = EMPTY,
        owners: Mapping[ID, OutputOwners] = EMPTY,
        blockchains: Mapping[ID, ID] = EMPTY,
        l1s: MemoryL1s | None = None,
    ) -> None:
        self.clock = MemoryClock(time, fees)
        self.supplies = MemorySupplies(supplies)
        self.utxos = MemoryUTXOs()
        self.stakers = MemoryStakers(stakers)
        self.subnets = MemorySubnets(dict(owners), dict(blockchains))
        self.l1_validators = l1s or MemoryL1s()
        self.txs = MemoryTxs()

    def copied(self) -> "MemoryState":
        """Return an independent copy of the state."""
        twin = copy(self)
        twin.__dict__ = {name: deepcopy(facet) for name, facet in vars(self).items()}
        return twin

    def accept(self, diff: Diff) -> None:
        """Apply the changes of a diff."""
        for name, facet in vars(self).items():
            facet.accept(getattr(diff, name).changes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryState) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def fund(self, *utxos: UTXO) -> None:
        """Add unspent outputs."""
        self.utxos.update({utxo.utxo_id: utxo for utxo in utxos})

    def share(self, peer_chain: ID, *utxos: UTXO) -> None:
        """Add outputs that another chain has exported."""
        self.utxos.from_peers |= {(peer_chain, utxo.utxo_id): utxo for utxo in utxos}

    def unspent(self, asset_id: ID = platform.ASSET_ID) -> int:
        """Return the sum of all unspent outputs of an asset."""
        held = (utxo for utxo in self.utxos.values() if utxo.asset_id == asset_id)
        return sum(inner_output(utxo.output).amount for utxo in held)


def state(*utxos: UTXO, **changes: Any) -> MemoryState:
    """Return a state with these outputs and the changes."""
    made = MemoryState(**changes)
    made.fund(*utxos)
    return made


def changes_of(diff: Diff) -> dict[str, Any]:
    """Return the changes of a diff in all facets."""
    return {name: getattr(diff, name).changes() for name in vars(MemoryState())}


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


def stakers(*made: Staker) -> MemoryStakers:
    """Return stakers in the format of `MemoryState.stakers`."""
    return MemoryStakers({item.tx_id: item for item in made})


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
    diff.txs.add(tx, TxStatus.COMMITTED)
    into.accept(diff)
    return into.stakers[tx.tx_id]


def executed(tx: Tx, into: MemoryState, environment: Env = ENV) -> Diff:
    """Execute a transaction on a diff over a state; return the diff."""
    diff = Diff(into)
    execute(tx, diff, environment)
    return diff


def assert_refused(
    tx: Tx,
    into: MemoryState,
    reason: StrEnum,
    words: str,
    *,
    because: StrEnum | None = None,
    environment: Env = ENV,
) -> None:
    """Check the reason and message with which a transaction is rejected, and that nothing changes.

    If an error has another as its cause, `because` is the innermost one.
    """
    diff = Diff(into)
    with raises(reason, kind=InvalidTx) as refused:
        execute(tx, diff, environment)
    assert str(refused.value) == words
    innermost: Any = refused.value
    while isinstance(innermost.values.get("cause"), InvalidTx):
        innermost = innermost.values["cause"]
    assert innermost.reason is (because or reason)
    assert changes_of(diff) == changes_of(Diff(into))


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
