"""Tables of a transaction's inputs and outputs, with the status of its outputs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.safestring import SafeString

from platform_app.admin import display, links
from platform_app.models import UTXO, SharedUTXO, StakeOutput, Tx
from platform_app.store import rows
from platform_app.txs.base import Tx as SignedTx
from platform_app.txs.base import inner_input, inner_output
from primitives.ids import ID, utxo_id
from utxo.components import TransferableOutput

MOST = 50
"""The number of inputs and outputs listed; the JSON has all of them."""


class Made(NamedTuple):
    """An output of a transaction: its index, its purpose, and its ID as a UTXO."""

    place: int
    purpose: str
    output: TransferableOutput
    utxo_id: ID


def outputs_of(tx: SignedTx) -> Iterator[Made]:
    """Yield the outputs of a transaction, in the order of their UTXO indices."""
    unsigned: Any = tx.unsigned
    made = [("", other) for other in getattr(unsigned, "outputs", ())]
    made += [("stake", item) for item in rows.stake_of(tx)]
    made += [("export", entry) for entry in getattr(unsigned, "exported_outputs", ())]
    for index, (purpose, output) in enumerate(made):
        yield Made(index, purpose, output, utxo_id(tx.tx_id, index))


def known_txs(txs: Iterable[SignedTx]) -> set[ID]:
    """Return the transactions accepted here among those that these spend from or reward."""
    named = {tx_input.tx_id for tx in txs for tx_input in rows.inputs_of(tx)}
    named |= {tx.unsigned.tx_id for tx in txs if hasattr(tx.unsigned, "tx_id")}
    if not named:
        return set()
    known = Tx.objects.filter(tx_id__in=sorted(named)).order_by("tx_id")
    return {ID(bytes(tx_id)) for tx_id in known.values_list("tx_id", flat=True)}


def unspent(utxo_ids: Iterable[ID]) -> set[ID]:
    """Return the unspent ones of these outputs of the P-Chain."""
    keys = list(utxo_ids)
    return _keys(UTXO, keys) if keys else set()


def show_inputs(tx: SignedTx, known: set[ID], staking_asset: ID) -> SafeString:
    """Return the inputs of a transaction, each with the transaction that created it."""
    imported = len(getattr(tx.unsigned, "imported_inputs", ()))
    spent = rows.inputs_of(tx)
    if not spent:
        return display.NOTHING
    own = len(spent) - imported
    cells = []
    for place, one in enumerate(spent[:MOST]):
        amount = inner_input(one.input).amount
        made_by = (
            display.short_link(one.tx_id, links.tx_page(one.tx_id))
            if one.tx_id in known
            else display.short(one.tx_id)
        )
        cells.append(
            (
                display.side_by_side(made_by, display.muted(f"output {one.output_index}")),
                display.asset_amount(amount, one.asset_id, staking_asset),
                display.badge("import", "note") if place >= own else "",
            )
        )
    return _limited(display.table(("Made by", "Amount", ""), cells), len(spent))


def show_outputs(tx: SignedTx, staking_asset: ID) -> SafeString:
    """Return the outputs of a transaction, each with its owners and its status."""
    made = list(outputs_of(tx))
    fates = _fates(tx.tx_id, made[:MOST]) if made else {}
    return _outputs(made, fates, staking_asset)


def show_future_outputs(tx: SignedTx, staking_asset: ID) -> SafeString:
    """Return the outputs that a pending transaction would create."""
    made = list(outputs_of(tx))
    purposes = {item.utxo_id: display.badge(item.purpose or "transfer") for item in made}
    return _outputs(made, purposes, staking_asset)


def _outputs(made: Sequence[Made], notes: Mapping[ID, SafeString], staking_asset: ID) -> SafeString:
    if not made:
        return display.NOTHING
    cells = (
        (
            item.place,
            display.asset_amount(
                inner_output(item.output.output).amount, item.output.asset_id, staking_asset
            ),
            _owners(item.output),
            display.locks_of(item.output.output),
            notes[item.utxo_id],
        )
        for item in made[:MOST]
    )
    return _limited(display.table(("", "Amount", "Owners", "Locks", ""), cells), len(made))


def _fates(tx_id: ID, made: Sequence[Made]) -> dict[ID, SafeString]:
    """Return the status of outputs: unspent, exported to another chain, staked, or spent."""
    keys = [item.utxo_id for item in made]
    kept = unspent(keys)
    exports = [entry.utxo_id for entry in made if entry.purpose == "export"]
    waiting = _keys(SharedUTXO, exports) if exports else set()
    stakes = any(other.purpose == "stake" for other in made)
    staked = stakes and StakeOutput.objects.filter(staker_id=tx_id).exists()
    fates = {}
    for element in made:
        if element.utxo_id in kept:
            fates[element.utxo_id] = display.link("unspent ›", links.page("utxo", element.utxo_id))
        elif element.utxo_id in waiting:
            fates[element.utxo_id] = display.link(
                "exported ›", links.page("sharedutxo", element.utxo_id)
            )
        elif element.purpose == "stake" and staked:
            fates[element.utxo_id] = display.badge("staked", "good")
        else:
            fates[element.utxo_id] = display.badge(
                "imported" if element.purpose == "export" else "spent"
            )
    return fates


def _keys(model: Any, keys: Sequence[ID]) -> set[ID]:
    return set(model.objects.filter(pk__in=keys).order_by("pk").values_list("pk", flat=True))


def _owners(output: TransferableOutput) -> SafeString:
    owners = inner_output(output.output).owners
    return display.signers(owners.threshold, owners.addresses)


def _limited(table: SafeString, count: int) -> SafeString:
    if count <= MOST:
        return table
    return display.side_by_side(table, display.muted(f"The first {MOST} of {count:,}."))
