"""The X-Chain's blocks, transactions, outputs and assets for pages."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from chaindb.fields import row_id
from explorer_app.selectors.assets import AssetBook, AssetName
from explorer_app.selectors.moves import Move, MoveEnd
from explorer_app.selectors.platform import MAX_OWNERS
from primitives.codec_errors import CodecError
from primitives.ids import ID, ShortID, utxo_id
from utxo.components import TransferableInput, TransferInput, TransferOutput, UtxoContent
from xchain_app.chain import AvmChain
from xchain_app.models import (
    XAddressTx,
    XAsset,
    XBlock,
    XDroppedTx,
    XMempoolTx,
    XOutput,
    XOutputKind,
    XOwner,
    XTransaction,
    XTxKind,
)
from xchain_app.selectors import outputs
from xchain_app.store import rows as stored
from xchain_app.txs.base import AvmExportTx, AvmTx, imported_inputs, operations_of
from xchain_app.txs.codec import parse_stored
from xchain_app.txs.extensions import owners_of

PAGE: Final = 25
MAX_OUTPUTS: Final = 100
"""Limit of inputs and of outputs of a transaction on a page, and of rights and property of an asset."""
RANKED: Final = 2_000
"""Limit of outputs of an asset among which its holders are ranked: the largest ones."""
MAX_HOLDERS: Final = 100
MAX_HELD: Final = 20_000
"""Limit of owners that are read from these outputs: a single one may have more than three thousand."""

_EXTENSIONS: Final = ((1, "coins"), (2, "collectibles"), (4, "property"))


class XTxRow(NamedTuple):
    """An accepted transaction in a list."""

    id: int
    tx_id: ID
    height: int
    position: int
    """Index in its block."""
    time: int
    """Time of its block in Unix seconds."""
    kind: str
    """The protocol's name of the transaction type."""
    peer_chain: ID | None
    burned: int
    """In the smallest units of the coin."""


@dataclass(frozen=True)
class XFlow:
    """An input or output of a transaction."""

    index: int
    asset: AssetName
    kind: str
    """Empty for coins, else the kind of the output."""
    amount: int | None
    group_id: int | None = None
    payload: bytes | None = None
    owners: Sequence[str] = ()
    """The first `MAX_OWNERS` of `addresses`, formatted."""
    addresses: Sequence[ShortID] = ()
    """All owners."""
    threshold: int = 0
    locktime: int = 0
    purpose: str = ""
    """`import` or `export`; empty for an ordinary one."""
    state: str = ""
    """State of an output: `unspent`, `spent`, `exported` (not imported yet) or `imported` there."""
    origin: MoveEnd | None = None
    """For an input: the transaction that created the output."""
    output_index: int = 0
    spent_by: MoveEnd | None = None
    """For an output: the transaction that spent it."""

    @property
    def more(self) -> int:
        """Number of owners that are not among `owners`."""
        return len(self.addresses) - len(self.owners)


class XAssetRow(NamedTuple):
    """An asset."""

    asset_id: ID
    name: AssetName
    kinds: str
    """The names of the kinds of outputs that it may have."""
    height: int
    """Height of the block that created it."""
    has_coins: bool
    key: int = 0
    """In a list: the key of the transaction that created it."""


class XPortfolio(NamedTuple):
    """The coins of an address on the X-Chain."""

    text: str
    """The address in this network's format."""
    balances: Sequence[tuple[AssetName, int, int]]
    """For each asset all coins, and those that the address can spend alone now; the network's coin first."""


class AssetHolder(NamedTuple):
    """An address and the coins of an asset in outputs that it may sign for."""

    address: str
    amount: int
    outputs: int


@dataclass(frozen=True)
class Holders:
    """The holders of an asset with the largest amounts."""

    rows: Sequence[AssetHolder]
    count: int
    """Number of holders found."""
    supply: int
    """Sum of the outputs that were read."""
    is_partial: bool
    """Whether the asset has more outputs than were read: the largest `RANKED`, or fewer with `MAX_HELD` owners."""


def blocks(chain: AvmChain, *, before: int | None = None, count: int = PAGE) -> list[XBlock]:
    """Return blocks below a height, or from the tip if none is given, the latest first."""
    rows = chain.db.objects(XBlock).defer("raw").order_by("-height")
    if before is not None:
        rows = rows.filter(height__lt=before)
    return list(rows[:count])


def block(chain: AvmChain, height_or_id: int | ID) -> XBlock | None:
    """Return a block by its height or ID."""
    rows = chain.db.objects(XBlock).defer("raw")
    chosen = (
        rows.filter(height=height_or_id)
        if isinstance(height_or_id, int)
        else rows.filter(block_id=height_or_id)
    )
    return chosen.first()


def txs(chain: AvmChain, *, before: int | None = None, count: int = PAGE) -> list[XTxRow]:
    """Return transactions before a key, the latest first."""
    rows = chain.db.objects(XTransaction).defer("raw", "memo").order_by("-id")
    if before is not None:
        rows = rows.filter(id__lt=before)
    return _rows(chain, rows[:count])


def txs_of_block(
    chain: AvmChain, height: int, *, first: int = 0, count: int = PAGE
) -> list[XTxRow]:
    """Return transactions of a block in its order, starting at an index."""
    rows = chain.db.objects(XTransaction).defer("raw", "memo")
    found = rows.filter(id__gte=row_id(height, first), id__lt=row_id(height + 1))
    return _rows(chain, found.order_by("id")[:count])


def txs_of_address(
    chain: AvmChain, address: ShortID, *, before: int | None = None, count: int = PAGE
) -> list[XTxRow]:
    """Return transactions that consumed or created an output of an address, the latest first."""
    keys = chain.db.objects(XAddressTx).filter(address=address).order_by("-position")
    if before is not None:
        keys = keys.filter(position__lt=before)
    positions = list(keys.values_list("position", flat=True).distinct()[:count])
    rows = chain.db.objects(XTransaction).defer("raw", "memo").filter(pk__in=positions)
    return _rows(chain, rows.order_by("-id"))


def tx(chain: AvmChain, tx_id: ID) -> tuple[XTxRow, bytes] | None:
    """Return an accepted transaction and its bytes, or None."""
    accepted = chain.db.objects(XTransaction).filter(tx_id=tx_id).first()
    if accepted is None:
        return None
    (row,) = _rows(chain, [accepted])
    return row, bytes(accepted.raw)


def undecided(chain: AvmChain, tx_id: ID) -> tuple[str, str] | None:
    """Return state and reason of a transaction that is in no block: `waits` or `dropped`; None if it is unknown."""
    if chain.db.objects(XMempoolTx).filter(tx_id=tx_id).exists():
        return "waits", "The transaction waits for a block."
    dropped = chain.db.objects(XDroppedTx).filter(tx_id=tx_id)
    reason = dropped.values_list("reason", flat=True).first()
    return None if reason is None else ("dropped", reason)


def read(raw: bytes) -> AvmTx | None:
    """Return a stored transaction as a value; None if this node cannot parse the bytes."""
    try:
        return parse_stored(raw)
    except CodecError:
        return None


def inputs(chain: AvmChain, book: AssetBook, signed: AvmTx, moves: Sequence[Move]) -> list[XFlow]:
    """Return the inputs of a transaction, those of its operations included.

    Args:
        chain: The chain.
        book: The names of assets.
        signed: The transaction.
        moves: The outputs of other chains that it imports.
    """
    unsigned = signed.unsigned
    own = [(spent.utxo_id, spent.asset_id) for spent in unsigned.inputs]
    own += [
        (reference.utxo_id, operation.asset_id)
        for operation in operations_of(unsigned)
        for reference in operation.input_ids
    ]
    imported = imported_inputs(unsigned)[: max(0, MAX_OUTPUTS - len(own))]
    own = own[:MAX_OUTPUTS]
    rows = _outputs(chain, [utxo_id for utxo_id, _ in own])
    assets = book.names({*(asset for _, asset in own), *(spent.asset_id for spent in imported)})
    flows = [
        _flow(chain, index, rows[utxo_id], assets[asset_id], is_input=True)
        for index, (utxo_id, asset_id) in enumerate(own)
        if utxo_id in rows
    ]
    origins = {move.utxo_id: move.source for move in moves}
    return flows + [
        _imported(index, spent, assets[spent.asset_id], origins)
        for index, spent in enumerate(imported, len(own))
    ]


def created_outputs(
    chain: AvmChain, book: AssetBook, signed: AvmTx, moves: Sequence[Move]
) -> list[XFlow]:
    """Return the outputs of a transaction and their states; `moves` has those that it exports."""
    unsigned = signed.unsigned
    rows = list(
        chain.db.objects(XOutput)
        .filter(tx_id=signed.tx_id)
        .order_by("tx_id", "output_index")[:MAX_OUTPUTS]
    )
    exported = unsigned.exported_outputs if isinstance(unsigned, AvmExportTx) else ()
    assets = book.names(
        {*(row.asset_id for row in rows), *(output.asset_id for output in exported)}
    )
    flows = [_flow(chain, row.output_index, row, assets[row.asset_id]) for row in rows]
    ends = {move.output_index: move for move in moves}
    for index, transferable in enumerate(exported[:MAX_OUTPUTS], len(unsigned.outputs)):
        content, move = transferable.output, ends.get(index)
        assert isinstance(content, TransferOutput)
        flows.append(
            XFlow(
                index,
                assets[transferable.asset_id],
                "",
                content.amount,
                purpose="export",
                state="exported" if move is None or move.is_waiting else "imported",
                spent_by=None if move is None or move.is_waiting else move.destination,
                **_owned(chain, content),
            )
        )
    return flows


def portfolio(chain: AvmChain, book: AssetBook, address: ShortID, *, now: int) -> XPortfolio:
    """Return the coins of an address, by asset. `now` is in Unix seconds."""
    every = outputs.balances(chain, address, now=now, with_partial=True)
    alone = outputs.balances(chain, address, now=now, with_partial=False)
    names = book.names(every)
    balances = [(names[key], amount, alone.get(key, 0)) for key, amount in every.items()]
    balances.sort(key=lambda row: (not row[0].is_coin, row[0].symbol, row[0].asset_id))
    return XPortfolio(chain.address(address), balances)


def utxos(
    chain: AvmChain, book: AssetBook, address: ShortID, *, after: bytes | None, count: int
) -> list[XFlow]:
    """Return unspent outputs that an address may sign for, ordered by ID, after a given ID; `origin` created them."""
    owned = chain.db.objects(XOwner).filter(address=address).order_by("utxo_id")
    if after is not None:
        owned = owned.filter(utxo_id__gt=after)
    keys = [ID(bytes(key)) for key in owned.values_list("utxo_id", flat=True)[:count]]
    rows = _outputs(chain, keys)
    assets = book.names({row.asset_id for row in rows.values()})
    return [
        _flow(chain, place, rows[key], assets[rows[key].asset_id], is_input=True)
        for place, key in enumerate(keys)
        if key in rows
    ]


def utxo_key(flow: XFlow) -> ID:
    """Return the ID of an unspent output that `utxos` has returned."""
    assert flow.origin is not None
    assert flow.origin.tx_id is not None
    return utxo_id(flow.origin.tx_id, flow.output_index)


def assets(
    chain: AvmChain, book: AssetBook, *, before: int | None = None, count: int = PAGE
) -> list[XAssetRow]:
    """Return assets before a key, the latest first."""
    keys = chain.db.objects(XTransaction).filter(kind=XTxKind.CREATE_ASSET).order_by("-id")
    if before is not None:
        keys = keys.filter(id__lt=before)
    positions = {tx_id: key for key, tx_id in keys.values_list("id", "tx_id")[:count]}
    rows = chain.db.objects(XAsset).filter(pk__in=positions).order_by("pk")
    found = [row._replace(key=positions[row.asset_id]) for row in _named(book, rows)]
    return sorted(found, key=lambda row: -row.key)


def asset(chain: AvmChain, book: AssetBook, asset_id: ID) -> XAssetRow | None:
    """Return an asset by its ID, or None if no accepted transaction created it."""
    found = _named(book, chain.db.objects(XAsset).filter(pk=asset_id).order_by("pk"))
    return found[0] if found else None


def assets_called(chain: AvmChain, book: AssetBook, text: str, *, count: int) -> list[XAssetRow]:
    """Return assets with this symbol, in any case."""
    if not (
        text.isascii() and text.isalpha()
    ):  # symbols are letters; PostgreSQL's texts have no NUL
        return []
    rows = chain.db.objects(XAsset).filter(symbol__in={text, text.upper()})
    return _named(book, rows.order_by("symbol")[:count])


def holders(chain: AvmChain, asset_id: ID) -> Holders:
    """Return the holders of an asset's coins with the largest amounts; an output counts for each of its owners."""
    found = chain.db.objects(XOutput).filter(
        asset_id=asset_id, kind=XOutputKind.COINS, spent_height__isnull=True
    )
    rows = found.order_by("-amount").values_list("amount", "output")[: RANKED + 1]
    amounts: dict[ShortID, list[int]] = {}
    supply = read_owners = 0
    is_partial = False
    for count, (stored_amount, output) in enumerate(rows.iterator(chunk_size=100)):
        if count == RANKED or read_owners >= MAX_HELD:
            is_partial = True
            break
        amount = stored_amount or 0
        supply += amount
        addresses = owners_of(stored.output_of(bytes(output))).addresses
        read_owners += len(addresses)
        for address in addresses:
            held = amounts.setdefault(address, [0, 0])
            held[0] += amount
            held[1] += 1
    ranked = sorted(amounts.items(), key=lambda item: (-item[1][0], item[0]))
    listed = [
        AssetHolder(chain.address(address), amount, count)
        for address, (amount, count) in ranked[:MAX_HOLDERS]
    ]
    return Holders(listed, len(ranked), supply, is_partial)


def rights(chain: AvmChain, row: XAssetRow) -> list[XFlow]:
    """Return unspent rights to mint an asset, and its pieces of property; the first ones if they are many."""
    kinds = [
        XOutputKind.MINT_RIGHT,
        XOutputKind.NFT_MINT_RIGHT,
        XOutputKind.PROPERTY_MINT_RIGHT,
        XOutputKind.PROPERTY,
    ]
    found: list[XOutput] = []
    for kind in kinds:
        found += _unspent(chain, row.asset_id, kind)[: MAX_OUTPUTS - len(found)]
    return [
        _flow(chain, place, output, row.name, is_input=True) for place, output in enumerate(found)
    ]


def collectibles(
    chain: AvmChain, row: XAssetRow, *, after: bytes | None = None, count: int = PAGE
) -> list[tuple[ID, XFlow]]:
    """Return the collectibles of an asset, ordered by ID, after a given ID."""
    found = _unspent(chain, row.asset_id, XOutputKind.COLLECTIBLE)
    if after is not None:
        found = found.filter(utxo_id__gt=after)
    return [
        (output.utxo_id, _flow(chain, place, output, row.name, is_input=True))
        for place, output in enumerate(found[:count])
    ]


def _named(book: AssetBook, rows: Iterable[XAsset]) -> list[XAssetRow]:
    return [
        XAssetRow(
            row.asset_id,
            book.name_of(row),
            ", ".join(name for bit, name in _EXTENSIONS if row.extensions & bit) or "none",
            row.height,
            bool(row.extensions & _EXTENSIONS[0][0]),
        )
        for row in rows
    ]


def _unspent(chain: AvmChain, asset_id: ID, kind: XOutputKind) -> Any:
    """Return the query of unspent outputs without an amount of one kind, ordered by ID."""
    rows = chain.db.objects(XOutput).filter(
        asset_id=asset_id, kind=kind, amount__isnull=True, spent_height__isnull=True
    )
    return rows.order_by("utxo_id")


def _rows(chain: AvmChain, found: Iterable[XTransaction]) -> list[XTxRow]:
    """Return rows with their blocks' times, which takes one more statement."""
    rows = list(found)
    heights = {row.height for row in rows}
    times = dict(chain.db.objects(XBlock).filter(pk__in=heights).values_list("height", "time"))
    return [
        XTxRow(
            row.pk, row.tx_id, row.height, row.index, times[row.height],
            str(row.get_kind_display()), row.peer_chain, row.burned,
        )
        for row in rows
    ]  # fmt: skip


def _outputs(chain: AvmChain, keys: Collection[ID]) -> Mapping[ID, XOutput]:
    rows = chain.db.objects(XOutput).filter(pk__in=keys).order_by("pk") if keys else ()
    return {row.utxo_id: row for row in rows}


def _flow(
    chain: AvmChain, index: int, row: XOutput, asset_of: AssetName, *, is_input: bool = False
) -> XFlow:
    spent = row.spent_by is not None
    return XFlow(
        index,
        asset_of,
        "" if row.kind == XOutputKind.COINS else str(row.get_kind_display()),
        row.amount,
        row.group_id,
        None if row.payload is None else bytes(row.payload),
        state="" if is_input else "spent" if spent else "unspent",
        origin=MoveEnd("X", row.tx_id, row.height) if is_input else None,
        output_index=row.output_index,
        spent_by=MoveEnd("X", row.spent_by, row.spent_height) if spent and not is_input else None,
        **_owned(chain, stored.output_of(row.output)),
    )


def _imported(
    index: int,
    spent: TransferableInput,
    asset_of: AssetName,
    origins: Mapping[ID, MoveEnd],
) -> XFlow:
    assert isinstance(spent.input, TransferInput)
    origin = origins.get(spent.utxo_id) or MoveEnd("", spent.tx_id, None)
    return XFlow(
        index, asset_of, "", spent.input.amount, purpose="import",
        origin=origin._replace(tx_id=spent.tx_id), output_index=spent.output_index,
    )  # fmt: skip


def _owned(chain: AvmChain, content: UtxoContent) -> dict[str, Any]:
    owners = owners_of(content)
    return {
        "owners": [chain.address(address) for address in owners.addresses[:MAX_OWNERS]],
        "addresses": owners.addresses,
        "threshold": owners.threshold,
        "locktime": owners.locktime,
    }
