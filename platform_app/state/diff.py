"""A copy-on-write layer over another state: rules write to it, and its changes can be discarded.

A diff reads through to its parent, which must not change while the diff is in use. Diffs nest: execute
a transaction on a diff of its own, then `apply` it to the block's diff or discard it. Setters do not
check their arguments; the rules in `executor` decide whether a change is allowed.
"""

from collections.abc import Iterable, Iterator

from platform_app.state.chain import ChainState, DiffChanges, FeeState
from platform_app.state.overlay import StakerOverlay
from platform_app.state.staker import Staker
from platform_app.txs.base import Tx, TxStatus
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID, NodeID
from utxo.components import UTXO, OutputOwners


class Diff:
    """A `ChainState` with setters. It never writes to the parent."""

    __slots__ = (
        "_chains",
        "_consumed",
        "_delegatee_rewards",
        "_exported",
        "_fee_state",
        "_imported",
        "_parent",
        "_produced",
        "_reward_utxos",
        "_stakers",
        "_subnet_owners",
        "_subnets",
        "_supplies",
        "_timestamp",
        "_txs",
    )

    def __init__(self, parent: ChainState) -> None:
        self._parent = parent
        self._timestamp: int | None = None
        self._fee_state: FeeState | None = None
        self._supplies: dict[ID, int] = {}
        self._produced: dict[ID, UTXO] = {}
        # Values: whether the output existed before this diff.
        self._consumed: dict[ID, bool] = {}
        self._imported: dict[tuple[ID, ID], None] = {}
        self._exported: list[tuple[ID, UTXO]] = []
        self._stakers = StakerOverlay()
        self._delegatee_rewards: dict[ID, int] = {}
        self._subnets: dict[ID, OutputOwners] = {}
        self._subnet_owners: dict[ID, OutputOwners] = {}
        self._chains: dict[ID, Tx] = {}
        self._txs: dict[ID, tuple[Tx, TxStatus]] = {}
        self._reward_utxos: list[tuple[ID, UTXO]] = []

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""
        return self._parent.timestamp() if self._timestamp is None else self._timestamp

    def fee_state(self) -> FeeState:
        """Return gas capacity and excess."""
        return self._parent.fee_state() if self._fee_state is None else self._fee_state

    def supply(self, subnet_id: ID) -> int | None:
        """Return the current supply of a subnet's staked asset."""
        supply = self._supplies.get(subnet_id)
        return self._parent.supply(subnet_id) if supply is None else supply

    def utxo(self, utxo_id: ID) -> UTXO | None:
        """Return an unspent output of this chain."""
        if utxo_id in self._consumed:
            return None
        return self._produced.get(utxo_id) or self._parent.utxo(utxo_id)

    def shared_utxo(self, peer_chain: ID, utxo_id: ID) -> UTXO | None:
        """Return an output that another chain has exported to this one and that is unspent."""
        if (peer_chain, utxo_id) in self._imported:
            return None
        return self._parent.shared_utxo(peer_chain, utxo_id)

    def validator(self, subnet_id: ID, node_id: NodeID) -> Staker | None:
        """Return a node's validator record on a subnet, current or pending."""
        if self._stakers.decides_validator(subnet_id, node_id):
            return self._stakers.validator(subnet_id, node_id)
        return self._parent.validator(subnet_id, node_id)

    def delegators(self, subnet_id: ID, node_id: NodeID) -> Iterable[Staker]:
        """Return the delegators of a validator, current and pending, in any order."""
        below = self._parent.delegators(subnet_id, node_id)
        return self._stakers.delegators(subnet_id, node_id, below)

    def current_stakers(self) -> Iterator[Staker]:
        """Iterate over the current set in staker order. Do not change stakers meanwhile."""
        return self._stakers.walk(self._parent.current_stakers(), pending=False)

    def pending_stakers(self) -> Iterator[Staker]:
        """Iterate over the pending set in staker order. Do not change stakers meanwhile."""
        return self._stakers.walk(self._parent.pending_stakers(), pending=True)

    def staker(self, tx_id: ID) -> Staker | None:
        """Return the current or pending staker that a transaction added."""
        if tx_id in self._stakers:
            return self._stakers.staker(tx_id)
        return self._parent.staker(tx_id)

    def delegatee_reward(self, validator_tx_id: ID) -> int:
        """Return the delegation rewards that a current validator has accrued so far."""
        reward = self._delegatee_rewards.get(validator_tx_id)
        return self._parent.delegatee_reward(validator_tx_id) if reward is None else reward

    def subnet_owner(self, subnet_id: ID) -> OutputOwners | None:
        """Return the owner of a subnet; None if the subnet does not exist."""
        owner = self._subnet_owners.get(subnet_id) or self._subnets.get(subnet_id)
        return self._parent.subnet_owner(subnet_id) if owner is None else owner

    def subnet_of_chain(self, blockchain_id: ID) -> ID | None:
        """Return the subnet that validates a blockchain; None if the blockchain does not exist."""
        created = self._chains.get(blockchain_id)
        if created is None:
            return self._parent.subnet_of_chain(blockchain_id)
        assert isinstance(created.unsigned, CreateChainTx)
        return created.unsigned.subnet_id

    def tx(self, tx_id: ID) -> Tx | None:
        """Return an accepted transaction, whether committed or aborted."""
        known = self._txs.get(tx_id)
        return self._parent.tx(tx_id) if known is None else known[0]

    def set_timestamp(self, timestamp: int) -> None:
        """Set the chain's time, in Unix seconds."""
        self._timestamp = timestamp

    def set_fee_state(self, fee_state: FeeState) -> None:
        """Set gas capacity and excess."""
        self._fee_state = fee_state

    def set_supply(self, subnet_id: ID, supply: int) -> None:
        """Set the current supply of a subnet's staked asset."""
        self._supplies[subnet_id] = supply

    def consume(self, utxo_id: ID) -> None:
        """Spend an output of this chain."""
        self._consumed[utxo_id] = self._produced.pop(utxo_id, None) is None

    def produce(self, utxo: UTXO) -> None:
        """Add an unspent output that did not exist before."""
        self._produced[utxo.utxo_id] = utxo

    def consume_shared(self, peer_chain: ID, utxo_id: ID) -> None:
        """Spend an output that another chain has exported to this one."""
        self._imported[peer_chain, utxo_id] = None

    def export(self, peer_chain: ID, utxo: UTXO) -> None:
        """Let another chain import an output."""
        self._exported.append((peer_chain, utxo))

    def put_staker(self, staker: Staker) -> None:
        """Put a staker into the current or the pending set, according to its priority.

        A pending staker that is put as current leaves the pending set. A staker that has left
        cannot come back, because no transaction is accepted twice.
        """
        self._stakers.put(staker)

    def remove_staker(self, staker: Staker) -> None:
        """Remove a staker from its set."""
        self._stakers.remove(staker)

    def set_delegatee_reward(self, validator_tx_id: ID, amount: int) -> None:
        """Set the delegation rewards that a current validator has accrued so far."""
        self._delegatee_rewards[validator_tx_id] = amount

    def add_subnet(self, subnet_id: ID, owner: OutputOwners) -> None:
        """Add a subnet."""
        self._subnets[subnet_id] = owner

    def set_subnet_owner(self, subnet_id: ID, owner: OutputOwners) -> None:
        """Change the owner of a subnet."""
        owners = self._subnets if subnet_id in self._subnets else self._subnet_owners
        owners[subnet_id] = owner

    def add_chain(self, tx: Tx) -> None:
        """Add the blockchain that a CreateChainTx creates."""
        self._chains[tx.tx_id] = tx

    def add_tx(self, tx: Tx, status: TxStatus) -> None:
        """Add an accepted transaction."""
        self._txs[tx.tx_id] = (tx, status)

    def add_reward_utxo(self, tx_id: ID, utxo: UTXO) -> None:
        """Record that an output is a staker's reward. The caller also calls `produce` for it."""
        self._reward_utxos.append((tx_id, utxo))

    def copy(self) -> "Diff":
        """Return a diff over the same parent with the same changes, for an alternative continuation."""
        twin = Diff(self._parent)
        self.apply(twin)
        return twin

    def apply(self, into: "Diff") -> None:
        """Repeat every change of this diff on another diff, which may be its parent."""
        if self._timestamp is not None:
            into.set_timestamp(self._timestamp)
        if self._fee_state is not None:
            into.set_fee_state(self._fee_state)
        for subnet_id, supply in self._supplies.items():
            into.set_supply(subnet_id, supply)
        self._apply_outputs(into)
        self._apply_stakers(into)
        self._apply_records(into)

    def _apply_outputs(self, into: "Diff") -> None:
        for utxo_id, was_there in self._consumed.items():
            if was_there:
                into.consume(utxo_id)
        for utxo in self._produced.values():
            into.produce(utxo)
        for peer_chain, utxo_id in self._imported:
            into.consume_shared(peer_chain, utxo_id)
        for peer_chain, utxo in self._exported:
            into.export(peer_chain, utxo)

    def _apply_stakers(self, into: "Diff") -> None:
        # Removed stakers come first: a new staker may have the place of one of them.
        for staker in self._stakers.left():
            into.remove_staker(staker)
        for staker in self._stakers.present():
            into.put_staker(staker)
        for tx_id, amount in self._delegatee_rewards.items():
            into.set_delegatee_reward(tx_id, amount)

    def _apply_records(self, into: "Diff") -> None:
        for subnet_id, owner in self._subnets.items():
            into.add_subnet(subnet_id, owner)
        for subnet_id, owner in self._subnet_owners.items():
            into.set_subnet_owner(subnet_id, owner)
        for tx in self._chains.values():
            into.add_chain(tx)
        for tx, status in self._txs.values():
            into.add_tx(tx, status)
        for tx_id, utxo in self._reward_utxos:
            into.add_reward_utxo(tx_id, utxo)

    def rebase(self, parent: ChainState) -> None:
        """Read through to another parent from now on, which must have the same content as the old one.

        A rebased diff can outlive the state it was made on, because its old parent's changes are stored by now.
        """
        self._parent = parent

    def changes(self) -> DiffChanges:
        """Return all changes of this diff relative to its parent."""
        return DiffChanges(
            timestamp=self._timestamp,
            fee_state=self._fee_state,
            supplies=dict(self._supplies),
            produced=tuple(self._produced.values()),
            consumed=tuple(key for key, was_there in self._consumed.items() if was_there),
            imported=tuple(self._imported),
            exported=tuple(self._exported),
            stakers=self._stakers.present(),
            left_stakers=self._stakers.left(),
            delegatee_rewards=dict(self._delegatee_rewards),
            subnets=tuple(self._subnets.items()),
            subnet_owners=dict(self._subnet_owners),
            chains=tuple(self._chains.values()),
            txs=tuple(self._txs.values()),
            reward_utxos=tuple(self._reward_utxos),
        )
