"""Outputs that move between the node's chains: both ends, outputs not imported yet, and atomic transactions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.models import AtomicKind, AtomicTransaction, Withdrawal
from chaindb.fields import HexBytes
from platform_app.chain import PlatformChain
from primitives.evm import Address
from primitives.ids import ID, P_CHAIN_ID, ShortID
from shared_app.models import ChainTransfer, SharedOutput, SharedOwner

PAGE: Final = 25
_GWEI: Final = 10**9
MAX_MOVES: Final = 100
"""Limit of moved outputs of a transaction on a page."""


class MoveEnd(NamedTuple):
    """One end of a move: a transaction of a chain."""

    letter: str
    """P, X or C; empty for another chain."""
    tx_id: ID | None
    """None: this node has not executed the transaction, or its version did not record it."""
    height: int | None
    """Height of the transaction's block; None: it is in no block that this node has executed."""

    @property
    def title(self) -> str:
        """The name of the chain."""
        return f"{self.letter}-Chain" if self.letter else "another chain"


class Move(NamedTuple):
    """An output that moves from one chain to another one."""

    utxo_id: ID
    source: MoveEnd
    destination: MoveEnd
    output_index: int | None = None
    asset_id: ID | None = None
    amount: int | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the output is not imported yet."""
        return self.destination.height is None


class WaitingOutput(NamedTuple):
    """An output that an address may import."""

    move: Move
    locktime: int
    threshold: int


class AtomicRow(NamedTuple):
    """An import or export that the C-Chain has accepted."""

    tx_id: ID
    kind: str
    """The protocol's name of the transaction type."""
    is_import: bool
    height: int
    position: int
    """Index in the block's payload."""
    peer_chain: ID
    amount: int
    """The amount that arrives, in the smallest units of the coin."""
    burned: int
    gas: int


@dataclass(frozen=True)
class Credit:
    """An amount that an import has credited to an account."""

    index: int
    """The index of the withdrawal."""
    address: Address
    wei: int
    height: int
    tx_id: ID


def letters(chain: PlatformChain) -> Mapping[ID, str]:
    """Return the letters of the Primary Network's chains by their IDs."""
    network = chain.network()
    return {P_CHAIN_ID: "P", network.x_chain_id: "X", network.c_chain_id: "C"}


def moves_of(chain: PlatformChain, tx_id: ID) -> list[Move]:
    """Return the outputs that a transaction of any chain exports or imports. At most two statements."""
    rows = chain.db.objects(ChainTransfer)
    exported = list(rows.filter(tx_id=tx_id).order_by("output_index")[:MAX_MOVES])
    found = exported or list(rows.filter(import_tx=tx_id).order_by("import_tx")[:MAX_MOVES])
    return _moves(chain, found)


def waiting_outputs_of(chain: PlatformChain, address: ShortID) -> list[WaitingOutput]:
    """Return outputs that an address may import on some chain: the first ones of each pair of chains."""
    ids = list(letters(chain))
    owned = chain.db.objects(SharedOwner).filter(
        destination_chain__in=ids, source_chain__in=ids, address=address
    )
    keys = list(owned.values_list("utxo_id", flat=True)[:PAGE])
    rows = list(chain.db.objects(SharedOutput).filter(pk__in=keys).order_by("pk")) if keys else []
    names = letters(chain)
    return [
        WaitingOutput(
            Move(
                row.utxo_id,
                MoveEnd(names.get(row.source_chain, ""), row.tx_id, row.height),
                MoveEnd(names.get(row.destination_chain, ""), None, None),
                row.output_index,
                row.asset_id,
                row.amount,
            ),
            row.locktime,
            row.threshold,
        )
        for row in rows
    ]


def atomic_tx(chain: EvmChain, tx_id: ID) -> tuple[AtomicRow, bytes] | None:
    """Return an import or export that the C-Chain has accepted with its bytes, or None."""
    row = chain.db.objects(AtomicTransaction).filter(pk=tx_id).first()
    return None if row is None else (_atomic(row), bytes(row.raw))


def atomic_txs_of_block(chain: EvmChain, number: int) -> list[AtomicRow]:
    """Return the imports and exports of a block of the C-Chain, in order."""
    rows = chain.db.objects(AtomicTransaction).filter(block_number=number).defer("raw")
    found = rows.order_by("block_number")[:MAX_MOVES]  # a block's gas limit allows fewer
    return [_atomic(row) for row in sorted(found, key=lambda row: row.index)]


def credits_of(chain: EvmChain, row: AtomicRow) -> list[Credit]:
    """Return the amounts that an import credits to accounts, from the withdrawals of its block."""
    rows = chain.db.objects(Withdrawal).filter(block_number=row.height).order_by("block_number")
    found = [_credit(withdrawal) for withdrawal in rows if withdrawal.tx_id == row.tx_id]
    return sorted(found, key=lambda credit: credit.index)[:MAX_MOVES]


def credits_to(
    chain: EvmChain, address: Address, *, before: int | None = None, count: int = PAGE
) -> list[Credit]:
    """Return the amounts that imports have credited to an account before an index, the latest first."""
    rows = chain.db.objects(Withdrawal).filter(address=HexBytes(address)).order_by("-index")
    if before is not None:
        rows = rows.filter(index__lt=before)
    return [_credit(row) for row in rows[:count]]


def _atomic(row: AtomicTransaction) -> AtomicRow:
    return AtomicRow(
        row.tx_id, str(row.get_kind_display()), row.kind == AtomicKind.IMPORT, row.block_number,
        row.index, row.peer_chain, row.amount, row.burned, row.gas,
    )  # fmt: skip


def _credit(row: Withdrawal) -> Credit:
    wei = row.amount_gwei * _GWEI
    return Credit(row.index, Address(row.address), wei, row.block_number, row.tx_id)


def _moves(chain: PlatformChain, rows: Iterable[ChainTransfer]) -> list[Move]:
    names = letters(chain)
    return [
        Move(
            row.utxo_id,
            MoveEnd(names.get(row.source_chain, ""), row.tx_id, row.exported_height),
            MoveEnd(names.get(row.destination_chain, ""), row.import_tx, row.imported_height),
            row.output_index,
            row.asset_id,
            row.amount,
        )
        for row in rows
    ]
