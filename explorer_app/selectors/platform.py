"""The P-Chain's blocks, transactions and outputs for pages."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from chaindb import clock
from chaindb.fields import row_id
from explorer_app.selectors.moves import Move, MoveEnd
from platform_app.chain import PlatformChain
from platform_app.models import (
    UTXO,
    Block,
    Blockchain,
    DroppedTx,
    MempoolTx,
    StakeOutput,
    Staker,
    Subnet,
    SubnetOwner,
    Tx,
    UTXOOwner,
)
from platform_app.selectors import auto_renewal, outputs
from platform_app.store import rows
from platform_app.txs.base import Tx as SignedTx
from platform_app.txs.base import inner_input, inner_output
from platform_app.txs.codec import GENESIS_CODEC, parse
from platform_app.txs.l1 import RewardAutoRenewedValidatorTx
from primitives.addresses import format_address
from primitives.codec_errors import CodecError
from primitives.ids import ID, ShortID, utxo_id
from shared_app.models import SharedOutput
from utxo.components import OutputOwners, TransferableOutput

PAGE: Final = 25
MAX_OUTPUTS: Final = 100
"""Limit of inputs and of outputs of a transaction on a page."""
MAX_OWNERS: Final = 10
"""Limit of owners of an output, a subnet or a right on a page: a transaction may name more than three thousand."""

_ALIAS: Final = "P"


class TxRow(NamedTuple):
    """An accepted transaction in a list."""

    id: int
    tx_id: ID
    height: int
    position: int
    """Index in its block."""
    time: int
    """Chain time after its block, in Unix seconds."""
    kind: str
    """The protocol's name of the transaction type."""
    committed: bool
    burned: int
    """In the smallest units of the staking asset."""


class Owners(NamedTuple):
    """The owners of a subnet or of a right."""

    threshold: int
    total: int
    addresses: Sequence[str]
    """The first `MAX_OWNERS`."""

    @property
    def more(self) -> int:
        """Number of owners that are not among `addresses`."""
        return self.total - len(self.addresses)


class Flow(NamedTuple):
    """An input or output of a transaction."""

    position: int
    amount: int
    is_staking_asset: bool
    asset_id: ID
    owners: Sequence[str]
    """The first `MAX_OWNERS` of `addresses`, formatted."""
    addresses: Sequence[ShortID]
    """All owners."""
    threshold: int
    locktime: int
    purpose: str
    """`stake`, `reward`, `export` or `import`; empty for an ordinary one."""
    state: str
    """State of an output: `unspent`, `spent`, `exported` (it waits for the other chain) or `imported` there."""
    tx_id: ID | None = None
    """For an input: the transaction that created the output it spends."""
    output_index: int = 0
    origin: MoveEnd | None = None
    """The transaction that created the output that an input spends, on its chain."""
    spent_by: MoveEnd | None = None
    """For an exported output: the transaction that imported it on the other chain."""

    @property
    def more(self) -> int:
        """Number of owners that are not among `owners`."""
        return len(self.addresses) - len(self.owners)


class Portfolio(NamedTuple):
    """Balances of an address on the P-Chain, in the smallest units of the staking asset."""

    text: str
    """The address in this network's format."""
    balance: int
    unlocked: int
    staked: int


def text_of(chain: PlatformChain, address: ShortID) -> str:
    """Return an address in this network's format."""
    return format_address(_ALIAS, chain.config.hrp, address)


def forms_of(chain: PlatformChain, address: ShortID) -> Portfolio:
    """Return the balances of an address of 20 bytes on the P-Chain."""
    asset = chain.network().asset_id
    funds = outputs.balance(chain, [address], now=clock.now()).funds.get(asset, outputs.Funds())
    staked = sum(
        output.amount for output in outputs.stake_of(chain, [address]) if output.asset_id == asset
    )
    return Portfolio(text_of(chain, address), funds.total, funds.unlocked, staked)


def blocks(chain: PlatformChain, *, before: int | None = None, count: int = PAGE) -> list[Block]:
    """Return blocks below a height, or from the tip if none is given, the latest first."""
    rows = chain.db.objects(Block).defer("raw").order_by("-height")
    if before is not None:
        rows = rows.filter(height__lt=before)
    return list(rows[:count])


def block(chain: PlatformChain, height_or_id: int | ID) -> Block | None:
    """Return a block by its height or ID."""
    rows = chain.db.objects(Block).defer("raw")
    chosen = (
        rows.filter(height=height_or_id)
        if isinstance(height_or_id, int)
        else rows.filter(block_id=height_or_id)
    )
    return chosen.first()


def txs(chain: PlatformChain, *, before: int | None = None, count: int = PAGE) -> list[TxRow]:
    """Return transactions before a key, the latest first."""
    rows = chain.db.objects(Tx).order_by("-id")
    if before is not None:
        rows = rows.filter(id__lt=before)
    return _rows(chain, rows[:count])


def txs_of_block(
    chain: PlatformChain, height: int, *, first: int = 0, count: int = PAGE
) -> list[TxRow]:
    """Return transactions of a block in its order, starting at an index."""
    rows = chain.db.objects(Tx).filter(id__gte=row_id(height, first), id__lt=row_id(height + 1))
    return _rows(chain, rows.order_by("id")[:count])


def tx(chain: PlatformChain, tx_id: ID) -> tuple[TxRow, bytes] | None:
    """Return an accepted transaction and its bytes, or None."""
    accepted = chain.db.objects(Tx).filter(tx_id=tx_id).first()
    if accepted is None:
        return None
    (row,) = _rows(chain, [accepted])
    return row, bytes(accepted.raw)


def undecided(chain: PlatformChain, tx_id: ID) -> tuple[str, str] | None:
    """Return state and reason of a transaction that is in no block: `waits` or `dropped`; None if it is unknown."""
    if chain.db.objects(MempoolTx).filter(tx_id=tx_id).exists():
        return "waits", "The transaction waits for a block."
    reason = (
        chain.db.objects(DroppedTx).filter(tx_id=tx_id).values_list("reason", flat=True).first()
    )
    return None if reason is None else ("dropped", reason)


def read(raw: bytes) -> SignedTx | None:
    """Return a stored transaction as a value; None if this node cannot parse the bytes."""
    try:
        return parse(raw, GENESIS_CODEC)  # transactions of the genesis may have any size
    except CodecError:
        return None


def inputs(chain: PlatformChain, signed: SignedTx, moves: Sequence[Move] = ()) -> list[Flow]:
    """Return the inputs of a transaction, with owners if the transaction that created the output is known.

    Args:
        chain: The chain.
        signed: The transaction.
        moves: The outputs of other chains that it imports.
    """
    spent = rows.inputs_of(signed)[:MAX_OUTPUTS]
    imported = len(getattr(signed.unsigned, "imported_inputs", ()))
    own = len(rows.inputs_of(signed)) - imported
    outputs_by_id = _outputs_created_by(chain, {entry.tx_id for entry in spent[:own]})
    asset = chain.network().asset_id
    origins = {move.utxo_id: move.source for move in moves}
    flows = []
    for index, entry in enumerate(spent):
        output = outputs_by_id.get((entry.tx_id, entry.output_index))
        owners = OutputOwners(0, 0, ()) if output is None else inner_output(output.output).owners
        flows.append(
            Flow(
                index,
                inner_input(entry.input).amount,
                entry.asset_id == asset,
                entry.asset_id,
                _texts(chain, owners.addresses),
                owners.addresses,
                owners.threshold,
                0,
                "import" if index >= own else "",
                "",
                entry.tx_id,
                entry.output_index,
                origins.get(entry.utxo_id, MoveEnd("", None, None))._replace(tx_id=entry.tx_id)
                if index >= own
                else MoveEnd(_ALIAS, entry.tx_id, None),
            )
        )
    return flows


def created_outputs(
    chain: PlatformChain, signed: SignedTx, moves: Sequence[Move] = ()
) -> list[Flow]:
    """Return the outputs of a transaction and their states; `moves` has those that it exports."""
    purposes_and_outputs = list(_outputs_of(chain, signed))[:MAX_OUTPUTS]
    keys = [utxo_id(signed.tx_id, index) for index in range(len(purposes_and_outputs))]
    unspent = _present(chain, UTXO, keys)
    exported = _present(chain, SharedOutput, keys)
    asset = chain.network().asset_id
    ends = {move.output_index: move.destination for move in moves if not move.is_waiting}
    flows = []
    for index, (purpose, output) in enumerate(purposes_and_outputs):
        inner = inner_output(output.output)
        key = keys[index]
        gone = "imported" if purpose == "export" else "spent"
        state = "unspent" if key in unspent else "exported" if key in exported else gone
        flows.append(
            Flow(
                index,
                inner.amount,
                output.asset_id == asset,
                output.asset_id,
                _texts(chain, inner.owners.addresses),
                inner.owners.addresses,
                inner.owners.threshold,
                inner.owners.locktime,
                purpose,
                "" if purpose == "stake" else state,
                spent_by=ends.get(index) if purpose == "export" else None,
            )
        )
    return flows


def utxos(chain: PlatformChain, address: ShortID, *, after: bytes | None, count: int) -> list[UTXO]:
    """Return unspent outputs that an address may sign for, ordered by ID, after a given ID."""
    owned = chain.db.objects(UTXOOwner).filter(address=address).order_by("utxo_id")
    if after is not None:
        owned = owned.filter(utxo_id__gt=after)
    keys = list(owned.values_list("utxo_id", flat=True)[:count])
    return list(chain.db.objects(UTXO).filter(pk__in=keys).order_by("pk"))


def subnets(chain: PlatformChain) -> list[Subnet]:
    """Return the subnets, the latest first, at most ten times the usual page."""
    return list(chain.db.objects(Subnet).order_by("-position")[: 10 * PAGE])


def subnet(chain: PlatformChain, subnet_id: ID) -> Subnet | None:
    """Return a subnet by its ID."""
    return chain.db.objects(Subnet).filter(pk=subnet_id).first()


def control_keys(chain: PlatformChain, row: Subnet) -> Owners:
    """Return the addresses that control a subnet."""
    found = chain.db.objects(SubnetOwner).filter(subnet_id=row.subnet_id).order_by("address")
    keys = [ShortID(bytes(address)) for address in found.values_list("address", flat=True)]
    return owners(chain, row.threshold, keys)


def owners(chain: PlatformChain, threshold: int, addresses: Sequence[ShortID]) -> Owners:
    """Return owners for a page, only as many formatted as it shows."""
    return Owners(threshold, len(addresses), _texts(chain, addresses))


def blockchains(chain: PlatformChain, subnet_id: ID | None = None) -> list[Blockchain]:
    """Return blockchains of one subnet or of all, in the order of their creation."""
    rows = chain.db.objects(Blockchain).order_by("position")
    if subnet_id is not None:
        rows = rows.filter(subnet_id=subnet_id)
    return list(rows[: 10 * PAGE])


def blockchain(chain: PlatformChain, blockchain_id: ID) -> Blockchain | None:
    """Return a blockchain by its ID."""
    return chain.db.objects(Blockchain).filter(pk=blockchain_id).first()


def nodes_beginning(chain: PlatformChain, text: str, *, count: int) -> list[str]:
    """Return the NodeIDs of stakers that begin with a text, which includes `NodeID-`."""
    rows = chain.db.objects(Staker).filter(
        is_delegator__in=[False], phase__in=[1, 2], node__startswith=text
    )
    return sorted(set(rows.values_list("node", flat=True)[: 4 * count]))[:count]


def _rows(chain: PlatformChain, txs: Iterable[Tx]) -> list[TxRow]:
    """Return rows with their blocks' times, which takes one more statement."""
    rows = list(txs)
    heights = {row.height for row in rows}
    times = dict(chain.db.objects(Block).filter(pk__in=heights).values_list("height", "time"))
    return [
        TxRow(
            row.pk, row.tx_id, row.height, row.index, times[row.height],
            str(row.get_kind_display()), row.status == Tx.COMMITTED, row.burned,
        )
        for row in rows
    ]  # fmt: skip


def _outputs_of(chain: PlatformChain, signed: SignedTx) -> Iterable[tuple[str, TransferableOutput]]:
    """Yield the outputs of a transaction, in the order of UTXO indexes."""
    unsigned: Any = signed.unsigned
    if isinstance(unsigned, RewardAutoRenewedValidatorTx):
        rewards = auto_renewal.outputs_of_period_end(chain, signed.tx_id)
        yield from (("reward", output) for output in rewards)
    yield from (("", output) for output in getattr(unsigned, "outputs", ()))
    yield from (("stake", output) for output in rows.stake_of(signed))
    yield from (("export", output) for output in getattr(unsigned, "exported_outputs", ()))


def _outputs_created_by(
    chain: PlatformChain, tx_ids: Collection[ID]
) -> dict[tuple[ID, int], TransferableOutput]:
    """Return the outputs of transactions, by transaction ID and index."""
    rows = chain.db.objects(Tx).filter(tx_id__in=list(tx_ids)).values_list("tx_id", "raw")
    outputs_by_index = {}
    for tx_id, raw in rows:
        signed = read(bytes(raw))
        for index, (_, output) in enumerate(() if signed is None else _outputs_of(chain, signed)):
            outputs_by_index[ID(bytes(tx_id)), index] = output
    return outputs_by_index


def _present(chain: PlatformChain, model: Any, keys: Sequence[ID]) -> set[ID]:
    rows = chain.db.objects(model).filter(pk__in=keys) if keys else ()
    return {row.pk for row in rows}


def _texts(chain: PlatformChain, addresses: Sequence[ShortID]) -> list[str]:
    return [text_of(chain, address) for address in addresses[:MAX_OWNERS]]


def stakes_of(chain: PlatformChain, address: ShortID, *, count: int = PAGE) -> list[Staker]:
    """Return stakers whose stake an address owns, including those that start in the future."""
    owned = chain.db.objects(StakeOutput).filter(address=address).order_by("address", "staker_id")
    keys = set(owned.values_list("staker_id", flat=True)[: 4 * count])
    rows = chain.db.objects(Staker).filter(pk__in=keys).order_by("pk")
    return sorted(rows, key=lambda row: -row.position)[:count]
