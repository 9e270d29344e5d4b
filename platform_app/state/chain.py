"""The complete state of the P-Chain as rules see it: `ChainState`, and the types of its values.

It has two implementations: the rows (`store.state.DatabaseState`) and a `Diff` over another state.
Reading never changes anything. A missing object is None, never an error.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from platform_app.state.staker import Staker
from platform_app.txs.base import Tx, TxStatus
from primitives.ids import ID, NodeID
from utxo.components import UTXO, OutputOwners


@dataclass(frozen=True, slots=True)
class FeeState:
    """The inputs of dynamic fees (pchain.md 6.3), in gas."""

    capacity: int = 0
    excess: int = 0


class ChainState(Protocol):
    """Everything that a rule may read."""

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""

    def fee_state(self) -> FeeState:
        """Return gas capacity and excess."""

    def supply(self, subnet_id: ID) -> int | None:
        """Return the current supply of a subnet's staked asset; None if the subnet mints nothing."""

    def utxo(self, utxo_id: ID) -> UTXO | None:
        """Return an unspent output of this chain."""

    def shared_utxo(self, peer_chain: ID, utxo_id: ID) -> UTXO | None:
        """Return an output that another chain has exported to this one and that is unspent."""

    def validator(self, subnet_id: ID, node_id: NodeID) -> Staker | None:
        """Return a node's validator record on a subnet, current or pending; there is at most one."""

    def delegators(self, subnet_id: ID, node_id: NodeID) -> Iterable[Staker]:
        """Return the delegators of a validator, current and pending, in any order."""

    def current_stakers(self) -> Iterator[Staker]:
        """Iterate over the current set in staker order (next to leave first)."""

    def pending_stakers(self) -> Iterator[Staker]:
        """Iterate over the pending set in staker order (next to start first)."""

    def staker(self, tx_id: ID) -> Staker | None:
        """Return the current or pending staker that a transaction added."""

    def delegatee_reward(self, validator_tx_id: ID) -> int:
        """Return the delegation rewards that a current validator has accrued so far."""

    def subnet_owner(self, subnet_id: ID) -> OutputOwners | None:
        """Return the owner of a subnet; None if the subnet does not exist."""

    def subnet_of_chain(self, blockchain_id: ID) -> ID | None:
        """Return the subnet that validates a blockchain; None if the blockchain does not exist."""

    def tx(self, tx_id: ID) -> Tx | None:
        """Return an accepted transaction, whether committed or aborted."""


@dataclass(frozen=True, slots=True)
class DiffChanges:
    """Everything that a diff holds; None means unchanged. Sequences are in the order of events."""

    timestamp: int | None
    fee_state: FeeState | None
    supplies: Mapping[ID, int]
    """New current supply by subnet."""
    produced: tuple[UTXO, ...]
    """New outputs, without those that the diff spends again."""
    consumed: tuple[ID, ...]
    """IDs of spent UTXOs that existed before."""
    imported: tuple[tuple[ID, ID], ...]
    """(chain, UTXO ID): spent outputs that the chain has exported to this one."""
    exported: tuple[tuple[ID, UTXO], ...]
    """(chain, UTXO): outputs that the chain may now import."""
    stakers: tuple[Staker, ...]
    """Stakers that are new or moved from pending to current; the priority says which set they are in now."""
    left_stakers: tuple[Staker, ...]
    """Removed stakers with their last values: with a pending priority they never became current. A staker
    that the same diff added appears only here."""
    delegatee_rewards: Mapping[ID, int]
    """New accrued delegation rewards by the validator's transaction."""
    subnets: tuple[tuple[ID, OutputOwners], ...]
    """New subnets with their owners."""
    subnet_owners: Mapping[ID, OutputOwners]
    """New owners of subnets that existed before."""
    chains: tuple[Tx, ...]
    """Transactions that create blockchains."""
    txs: tuple[tuple[Tx, TxStatus], ...]
    reward_utxos: tuple[tuple[ID, UTXO], ...]
    """(staking transaction, UTXO); each UTXO is also in `produced` unless it is spent again."""
