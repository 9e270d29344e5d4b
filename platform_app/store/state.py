"""The rows as rules see them: `DatabaseState`, the `ChainState` of the last accepted block.

Each single read costs a statement. A caller that knows the objects a block will use can read all of them
together (`prefetch`). Every value is cached, so a state is valid until the next block.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from chaindb.database import Database
from platform_app.state.chain import FeeState
from platform_app.state.staker import Staker
from platform_app.store import blocks, rows
from platform_app.store.blocks import StoredNetwork, Tip
from platform_app.store.staking import StakerWalk
from platform_app.txs.base import Tx
from platform_app.txs.subnets import ImportTx
from primitives.ids import EMPTY_ID, ID, PRIMARY_NETWORK_ID, NodeID
from utxo.components import UTXO, OutputOwners

_UTXOS = """
SELECT utxo_id, tx_id, output_index, asset_id, output FROM platform_app_utxo
WHERE utxo_id IN ({keys})
"""
_SHARED = """
SELECT utxo_id, tx_id, output_index, asset_id, output FROM platform_app_sharedutxo
WHERE destination_chain = %s AND source_chain = %s AND utxo_id IN ({keys})
"""
_VALIDATORS = (
    rows.STAKERS + "WHERE phase < 3 AND NOT is_delegator AND subnet_id = %s AND node_id IN ({keys})"
)
_STAKER = rows.STAKERS + "WHERE tx_id = %s AND phase < 3"
_REWARD = "SELECT delegatee_reward FROM platform_app_staker WHERE tx_id = %s AND phase < 3"
_SUPPLY = "SELECT amount FROM platform_app_supply WHERE subnet_id = %s"
_OWNER = "SELECT owner FROM platform_app_subnet WHERE subnet_id = %s"
_SUBNET_OF_CHAIN = "SELECT subnet_id FROM platform_app_blockchain WHERE blockchain_id = %s"
_TXS = "SELECT tx_id, raw FROM platform_app_tx WHERE tx_id IN ({keys})"

_Seat = tuple[ID, NodeID]

_NOTHING = (
    StoredNetwork(EMPTY_ID, 0, 0, EMPTY_ID, EMPTY_ID, EMPTY_ID),
    Tip(0, EMPTY_ID, 0, FeeState(), 0),
)
"""Before the genesis."""


class DatabaseState:
    """The state after the last accepted block. It does not see later blocks.

    Args:
        db: The chain's database.
        place: The network and tip, if the caller knows them; otherwise they are read.
    """

    __slots__ = (
        "_chain", "_current", "_db", "_delegators", "_owners", "_pending", "_rewards", "_shared",
        "_stakers", "_subnets", "_supplies", "_txs", "_utxos", "_validators",
    )  # fmt: skip

    def __init__(self, db: Database, place: tuple[StoredNetwork, Tip] | None = None) -> None:
        self._db = db
        self._chain = place or blocks.read(db) or _NOTHING
        self._utxos: dict[ID, UTXO | None] = {}
        self._shared: dict[tuple[ID, ID], UTXO | None] = {}
        self._validators: dict[_Seat, Staker | None] = {}
        self._delegators: dict[_Seat, tuple[Staker, ...]] = {}
        self._stakers: dict[ID, Staker | None] = {}
        self._rewards: dict[ID, int] = {}
        self._supplies: dict[ID, int | None] = {}
        self._owners: dict[ID, OutputOwners | None] = {}
        self._subnets: dict[ID, ID | None] = {}
        self._txs: dict[ID, Tx | None] = {}
        self._current = StakerWalk(db, pending=False)
        self._pending = StakerWalk(db, pending=True)

    @property
    def place(self) -> tuple[StoredNetwork, Tip]:
        """The network and the tip of this state."""
        return self._chain

    @property
    def network(self) -> StoredNetwork:
        """The network of this state."""
        return self._chain[0]

    @property
    def tip(self) -> Tip:
        """The block that this is the state of."""
        return self._chain[1]

    def prefetch(self, txs: Iterable[Tx]) -> None:
        """Read the objects that rules need for transactions, with a few statements for all of them.

        These are transactions already accepted, the spent outputs, and the validators named.
        """
        txs = list(txs)
        spent: set[ID] = set()
        imported: defaultdict[ID, set[ID]] = defaultdict(set)
        seats: defaultdict[ID, set[NodeID]] = defaultdict(set)
        for tx in txs:
            unsigned = tx.unsigned
            spent.update(one.utxo_id for one in getattr(unsigned, "inputs", ()))
            if isinstance(unsigned, ImportTx):
                imported[unsigned.source_chain].update(
                    one.utxo_id for one in unsigned.imported_inputs
                )
            for subnet_id, node_id in _seats_of(tx):
                seats[subnet_id].add(node_id)
        self.prefetch_txs(tx.tx_id for tx in txs)
        self.prefetch_utxos(spent)
        for peer_chain, utxo_ids in imported.items():
            self.prefetch_shared(peer_chain, utxo_ids)
        for subnet_id, node_ids in seats.items():
            self.prefetch_validators(subnet_id, node_ids)

    def prefetch_txs(self, tx_ids: Iterable[ID]) -> None:
        """Read accepted transactions, hundreds per statement."""
        wanted = [tx_id for tx_id in set(tx_ids) if tx_id not in self._txs]
        self._txs.update(dict.fromkeys(wanted))
        for tx_id, raw in self._db.rows_by_keys(_TXS, wanted):
            self._txs[ID(bytes(tx_id))] = rows.accepted_tx(raw)

    def prefetch_utxos(self, utxo_ids: Iterable[ID]) -> None:
        """Read outputs of this chain, hundreds per statement."""
        wanted = [utxo_id for utxo_id in set(utxo_ids) if utxo_id not in self._utxos]
        self._utxos.update(dict.fromkeys(wanted))
        for utxo_id, *columns in self._db.rows_by_keys(_UTXOS, wanted):
            self._utxos[ID(bytes(utxo_id))] = rows.utxo_of(*columns)

    def prefetch_shared(self, peer_chain: ID, utxo_ids: Iterable[ID]) -> None:
        """Read outputs that a chain has exported to this one, hundreds per statement."""
        wanted = [one for one in set(utxo_ids) if (peer_chain, one) not in self._shared]
        self._shared.update(dict.fromkeys((peer_chain, utxo_id) for utxo_id in wanted))
        before = (PRIMARY_NETWORK_ID, peer_chain)
        for utxo_id, *columns in self._db.rows_by_keys(_SHARED, wanted, before):
            self._shared[peer_chain, ID(bytes(utxo_id))] = rows.utxo_of(*columns)

    def prefetch_validators(self, subnet_id: ID, node_ids: Iterable[NodeID]) -> None:
        """Read validators of a subnet, hundreds per statement."""
        wanted = [one for one in set(node_ids) if (subnet_id, one) not in self._validators]
        self._validators.update(dict.fromkeys((subnet_id, node_id) for node_id in wanted))
        for row in self._db.rows_by_keys(_VALIDATORS, wanted, (subnet_id,)):
            staker = rows.staker_of(row)
            self._validators[subnet_id, staker.node_id] = staker

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""
        return self.tip.timestamp

    def fee_state(self) -> FeeState:
        """Return gas capacity and excess."""
        return self.tip.fee_state

    def supply(self, subnet_id: ID) -> int | None:
        """Return the current supply of a subnet's staked asset."""
        if subnet_id not in self._supplies:
            row = self._db.row(_SUPPLY, (subnet_id,))
            self._supplies[subnet_id] = None if row is None else int(row[0])
        return self._supplies[subnet_id]

    def utxo(self, utxo_id: ID) -> UTXO | None:
        """Return an unspent output of this chain."""
        if utxo_id not in self._utxos:
            self.prefetch_utxos([utxo_id])
        return self._utxos[utxo_id]

    def shared_utxo(self, peer_chain: ID, utxo_id: ID) -> UTXO | None:
        """Return an output that another chain has exported to this one and that is unspent."""
        if (peer_chain, utxo_id) not in self._shared:
            self.prefetch_shared(peer_chain, [utxo_id])
        return self._shared[peer_chain, utxo_id]

    def validator(self, subnet_id: ID, node_id: NodeID) -> Staker | None:
        """Return a node's validator record on a subnet, current or pending."""
        if (subnet_id, node_id) not in self._validators:
            self.prefetch_validators(subnet_id, [node_id])
        return self._validators[subnet_id, node_id]

    def delegators(self, subnet_id: ID, node_id: NodeID) -> Iterable[Staker]:
        """Return the delegators of a validator, current and pending."""
        seat = (subnet_id, node_id)
        if seat not in self._delegators:
            found = self._db.rows(rows.DELEGATORS, seat)
            self._delegators[seat] = tuple(rows.delegators_of(seat, found))
        return self._delegators[seat]

    def current_stakers(self) -> Iterator[Staker]:
        """Iterate over the current set in staker order."""
        return iter(self._current)

    def pending_stakers(self) -> Iterator[Staker]:
        """Iterate over the pending set in staker order."""
        return iter(self._pending)

    def staker(self, tx_id: ID) -> Staker | None:
        """Return the current or pending staker that a transaction added."""
        if tx_id not in self._stakers:
            row = self._db.row(_STAKER, (tx_id,))
            self._stakers[tx_id] = None if row is None else rows.staker_of(row)
        return self._stakers[tx_id]

    def delegatee_reward(self, validator_tx_id: ID) -> int:
        """Return the delegation rewards that a current validator has accrued so far."""
        if validator_tx_id not in self._rewards:
            row = self._db.row(_REWARD, (validator_tx_id,))
            self._rewards[validator_tx_id] = 0 if row is None else int(row[0])
        return self._rewards[validator_tx_id]

    def subnet_owner(self, subnet_id: ID) -> OutputOwners | None:
        """Return the owner of a subnet; None if the subnet does not exist."""
        if subnet_id not in self._owners:
            row = self._db.row(_OWNER, (subnet_id,))
            self._owners[subnet_id] = None if row is None else rows.owners_of(bytes(row[0]))
        return self._owners[subnet_id]

    def subnet_of_chain(self, blockchain_id: ID) -> ID | None:
        """Return the subnet that validates a blockchain; None if the blockchain does not exist."""
        if blockchain_id not in self._subnets:
            row = self._db.row(_SUBNET_OF_CHAIN, (blockchain_id,))
            self._subnets[blockchain_id] = None if row is None else ID(bytes(row[0]))
        return self._subnets[blockchain_id]

    def tx(self, tx_id: ID) -> Tx | None:
        """Return an accepted transaction, whether committed or aborted."""
        if tx_id not in self._txs:
            self.prefetch_txs([tx_id])
        return self._txs[tx_id]


def _seats_of(tx: Tx) -> Iterator[_Seat]:
    """Yield the (subnet, node) pairs of the validators that the rules read for a staking transaction."""
    unsigned = tx.unsigned
    period = getattr(unsigned, "validator", None)
    node_id = getattr(unsigned if period is None else period, "node_id", None)
    if not isinstance(node_id, NodeID):
        return
    yield PRIMARY_NETWORK_ID, node_id
    subnet_id = getattr(period, "subnet_id", None) or getattr(unsigned, "subnet_id", None)
    if subnet_id is not None and subnet_id != PRIMARY_NETWORK_ID:
        yield subnet_id, node_id
