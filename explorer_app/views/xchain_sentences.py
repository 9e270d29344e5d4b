"""One-sentence descriptions of X-Chain transactions. Amounts are exact, in the units of their assets."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from explorer_app.selectors.assets import AssetName, printable
from explorer_app.selectors.xchain import XFlow
from primitives.counting import counted
from primitives.ids import ID, ShortID
from utxo.components import OutputOwners, TransferOutput
from xchain_app.txs import extensions
from xchain_app.txs.base import (
    AssetOperation,
    AvmExportTx,
    AvmImportTx,
    AvmTx,
    CreateAssetTx,
    OperationTx,
)

_MENTIONED: Final = 3
"""Limit of assets or operations in a sentence."""


class SentenceNames(NamedTuple):
    """The names that a sentence needs besides those of inputs and outputs."""

    peer: str
    """The chain from which the transaction imports or to which it exports, such as `P-Chain`."""
    assets: Mapping[ID, AssetName]
    """The assets of its operations."""
    address: Callable[[ShortID], str]
    """Formats an address."""


def sentence(
    tx: AvmTx, inputs: Sequence[XFlow], outputs: Sequence[XFlow], names: SentenceNames
) -> str:
    """Return a description of a transaction, given its inputs and outputs with their owners."""
    unsigned = tx.unsigned
    match unsigned:
        case CreateAssetTx():
            return _creation(unsigned)
        case OperationTx():
            parts = [_operation(operation, names) for operation in unsigned.operations]
            text = _listed(parts, "operation")
            return text[0].upper() + text[1:]
        case AvmImportTx():
            imported = [flow for flow in inputs if flow.purpose == "import"]
            return f"Imports {_amounts(imported)} from the {names.peer}"
        case AvmExportTx():
            exported = [flow for flow in outputs if flow.purpose == "export"]
            return f"Exports {_amounts(exported)} to the {names.peer}"
        case _:
            return _transfer(inputs, outputs, names)


def _transfer(inputs: Sequence[XFlow], outputs: Sequence[XFlow], names: SentenceNames) -> str:
    senders = {address for flow in inputs for address in flow.addresses}
    sent = [flow for flow in outputs if not senders.issuperset(flow.addresses)]
    if not sent:
        return f"Moves {_amounts(outputs)} between outputs of the same owners"
    recipients = {address for flow in sent for address in flow.addresses}
    to = (
        names.address(recipients.pop())
        if len(recipients) == 1
        else counted(len(recipients), "address", "addresses")
    )
    return f"Sends {_amounts(sent)} to {to}"


def _creation(created: CreateAssetTx) -> str:
    name = f"{printable(created.name)} ({printable(created.symbol)})"
    unit = AssetName(ID(bytes(32)), "", printable(created.symbol), created.denomination)
    contents = [output for state in created.initial_states for output in state.outputs]
    held = [output for output in contents if isinstance(output, TransferOutput)]
    groups = {
        output.group_id for output in contents if isinstance(output, extensions.NftMintOutput)
    }
    parts = []
    if held:
        holders = {address for output in held for address in output.owners.addresses}
        total = unit.amount(sum(output.amount for output in held))
        parts.append(f"{total} for {counted(len(holders), 'holder')}")
    if any(isinstance(output, extensions.MintOutput) for output in contents):
        parts.append("the right to mint more")
    elif held:
        parts.append("a fixed supply")
    if groups:
        parts.append(f"rights to mint collectibles of {counted(len(groups), 'group')}")
    if any(isinstance(output, extensions.PropertyMintOutput) for output in contents):
        parts.append("the right to mint property")
    return (
        f"Creates the asset {name} with {_listed(parts, 'part')}"
        if parts
        else f"Creates the asset {name}"
    )


def _operation(operation: AssetOperation, names: SentenceNames) -> str:
    asset, acts = names.assets[operation.asset_id], operation.operation
    title = asset.symbol or str(operation.asset_id)
    match acts:
        case extensions.MintOperation():
            minted = acts.transfer_output
            return f"mints {_amount(asset, minted.amount)} for {_owners(minted.owners, names)}"
        case extensions.NftMintOperation():
            pieces = counted(len(acts.outputs), "collectible")
            to = f" for {_owners(acts.outputs[0], names)}" if len(acts.outputs) == 1 else ""
            return f"mints {pieces} of {title}, group {acts.group_id:,}{to}"
        case extensions.NftTransferOperation():
            to = _owners(acts.output.owners, names)
            return f"gives a collectible of {title}, group {acts.output.group_id:,}, to {to}"
        case extensions.PropertyMintOperation():
            to = _owners(acts.owned_output.owners, names)
            return f"mints a piece of property of {title} for {to}"
        case _:
            return f"destroys a piece of property of {title}"


def _owners(owners: OutputOwners, names: SentenceNames) -> str:
    if len(owners.addresses) == 1:
        return names.address(owners.addresses[0])
    return counted(len(owners.addresses), "owner") if owners.addresses else "nobody"


def _amounts(flows: Sequence[XFlow]) -> str:
    """Return the sum of the coins of each asset."""
    sums: dict[AssetName, int] = {}
    for flow in flows:
        if flow.amount is not None:
            sums[flow.asset] = sums.get(flow.asset, 0) + flow.amount
    return _listed([_amount(asset, units) for asset, units in sums.items()], "other asset")


def _amount(asset: AssetName, units: int) -> str:
    text = asset.amount(units)
    return text if asset.symbol else f"{text} of the asset {asset.asset_id}"


def _listed(parts: Sequence[str], noun: str) -> str:
    """Return the first parts as an enumeration, with the number of the others."""
    shown = list(parts[:_MENTIONED])
    if len(parts) > _MENTIONED:
        shown.append(counted(len(parts) - _MENTIONED, noun))
    if len(shown) < 2:
        return "".join(shown) or "nothing"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
