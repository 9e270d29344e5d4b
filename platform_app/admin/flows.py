"""Tables of a transaction's inputs and outputs, with the status of its outputs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.safestring import SafeString

from platform_app.admin import display, links
from platform_app.apps import platform_chain
from platform_app.models import UTXO, StakeOutput, Tx
from platform_app.selectors import auto_renewal
from platform_app.store import rows
from platform_app.txs.base import Tx as SignedTx
from platform_app.txs.base import inner_input, inner_output
from platform_app.txs.l1 import RewardAutoRenewedValidatorTx
from primitives.ids import ID, utxo_id
from shared_app.models import SharedOutput
from utxo.components import TransferableOutput

MAX_SHOWN = 50
"""The number of inputs and outputs listed; the JSON has all of them."""


class CreatedOutput(NamedTuple):
    """An output of a transaction: its index, its purpose, and its ID as a UTXO."""

    output_index: int
    purpose: str
    output: TransferableOutput
    utxo_id: ID


def outputs_of(tx: SignedTx) -> Iterator[CreatedOutput]:
    """Yield the outputs of a transaction, in the order of their UTXO indices."""
    unsigned: Any = tx.unsigned
    made = [("", output) for output in getattr(unsigned, "outputs", ())]
    made += [("stake", output) for output in rows.stake_of(tx)]
    made += [("export", output) for output in getattr(unsigned, "exported_outputs", ())]
    if isinstance(unsigned, RewardAutoRenewedValidatorTx):
        rewards = auto_renewal.outputs_of_period_end(platform_chain(), tx.tx_id)
        made += [("reward", output) for output in rewards]
    for index, (purpose, output) in enumerate(made):
        yield CreatedOutput(index, purpose, output, utxo_id(tx.tx_id, index))


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
    for place, tx_input in enumerate(spent[:MAX_SHOWN]):
        amount = inner_input(tx_input.input).amount
        created_by = (
            display.short_link(tx_input.tx_id, links.tx_page(tx_input.tx_id))
            if tx_input.tx_id in known
            else display.short(tx_input.tx_id)
        )
        cells.append(
            (
                display.side_by_side(created_by, display.muted(f"output {tx_input.output_index}")),
                display.asset_amount(amount, tx_input.asset_id, staking_asset),
                display.badge("import", "note") if place >= own else "",
            )
        )
    return _limited(display.table(("Created by", "Amount", ""), cells), len(spent))


def show_outputs(tx: SignedTx, staking_asset: ID) -> SafeString:
    """Return the outputs of a transaction, each with its owners and its status."""
    made = list(outputs_of(tx))
    statuses = _statuses(tx.tx_id, made[:MAX_SHOWN]) if made else {}
    return _outputs(made, statuses, staking_asset)


def show_future_outputs(tx: SignedTx, staking_asset: ID) -> SafeString:
    """Return the outputs that a pending transaction will create if it is accepted."""
    made = list(outputs_of(tx))
    purposes = {output.utxo_id: display.badge(output.purpose or "transfer") for output in made}
    return _outputs(made, purposes, staking_asset)


def _outputs(
    made: Sequence[CreatedOutput], remarks: Mapping[ID, SafeString], staking_asset: ID
) -> SafeString:
    if not made:
        return display.NOTHING
    cells = (
        (
            output.output_index,
            display.asset_amount(
                inner_output(output.output.output).amount, output.output.asset_id, staking_asset
            ),
            _owners(output.output),
            display.locks_of(output.output.output),
            remarks[output.utxo_id],
        )
        for output in made[:MAX_SHOWN]
    )
    return _limited(display.table(("", "Amount", "Owners", "Locks", ""), cells), len(made))


def _statuses(tx_id: ID, made: Sequence[CreatedOutput]) -> dict[ID, SafeString]:
    """Return the status of outputs: unspent, exported to another chain, staked, or spent."""
    keys = [output.utxo_id for output in made]
    kept = unspent(keys)
    exports = [output.utxo_id for output in made if output.purpose == "export"]
    exported = _keys(SharedOutput, exports) if exports else set()
    stakes = any(output.purpose == "stake" for output in made)
    staked = stakes and StakeOutput.objects.filter(staker_id=tx_id).exists()
    statuses = {}
    for output in made:
        if output.utxo_id in kept:
            statuses[output.utxo_id] = display.link("unspent ›", links.page("utxo", output.utxo_id))
        elif output.utxo_id in exported:
            statuses[output.utxo_id] = display.link(
                "exported ›", links.shared_output_page(output.utxo_id)
            )
        elif output.purpose == "stake" and staked:
            statuses[output.utxo_id] = display.badge("staked", "good")
        else:
            statuses[output.utxo_id] = display.badge(
                "imported" if output.purpose == "export" else "spent"
            )
    return statuses


def _keys(model: Any, keys: Sequence[ID]) -> set[ID]:
    return set(model.objects.filter(pk__in=keys).order_by("pk").values_list("pk", flat=True))


def _owners(output: TransferableOutput) -> SafeString:
    owners = inner_output(output.output).owners
    return display.signers(owners.threshold, owners.addresses)


def _limited(table: SafeString, count: int) -> SafeString:
    if count <= MAX_SHOWN:
        return table
    return display.side_by_side(table, display.muted(f"The first {MAX_SHOWN} of {count:,}."))
