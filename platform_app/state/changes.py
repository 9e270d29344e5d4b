"""What a block changes: `StateChanges`, read from a `Diff` and written down by the store."""

from collections.abc import Mapping
from dataclasses import dataclass

from platform_app.state.chain import FeeState
from platform_app.state.staker import Staker
from platform_app.txs.base import Tx
from platform_app.txs.components import UTXO, OutputOwners
from platform_app.txs.status import TxStatus
from primitives.ids import ID


@dataclass(frozen=True, slots=True)
class StateChanges:
    """Everything that a diff holds; None means unchanged. Sequences are in the order of events."""

    timestamp: int | None
    fee_state: FeeState | None
    supplies: Mapping[ID, int]
    """New current supply by subnet."""
    produced: tuple[UTXO, ...]
    """Without those that the diff spends again."""
    consumed: tuple[ID, ...]
    """UTXO IDs that existed before."""
    imported: tuple[tuple[ID, ID], ...]
    """(chain, UTXO ID): spent of what that chain has exported to this one."""
    exported: tuple[tuple[ID, UTXO], ...]
    """(chain, UTXO): what that chain may import now."""
    stakers: tuple[Staker, ...]
    """New, or moved from pending to current; the priority says which set they are in now."""
    left_stakers: tuple[Staker, ...]
    """Gone, as they stood last: with a pending priority they never became current. One that the
    same diff added is here only."""
    delegatee_rewards: Mapping[ID, int]
    """By the validator's transaction."""
    subnets: tuple[tuple[ID, OutputOwners], ...]
    """New ones."""
    subnet_owners: Mapping[ID, OutputOwners]
    """New owners of subnets that existed before."""
    chains: tuple[Tx, ...]
    """Transactions that create blockchains."""
    txs: tuple[tuple[Tx, TxStatus], ...]
    reward_utxos: tuple[tuple[ID, UTXO], ...]
    """(staking transaction, UTXO); each is in `produced` too unless it is spent again."""
