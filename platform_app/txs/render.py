"""The JSON form of transactions, as platform.getTx shows them with encoding `json` (pchain.md 3.1).

Names and shapes follow the dataclasses: `tx_id` is shown as `txID`. Exceptions are listed in the two
tables at the end. All integers are JSON numbers, including 64-bit ones.
"""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from platform_app.txs.base import Tx
from platform_app.txs.l1 import PChainOwner, RegisterL1ValidatorTx
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import SECP256K1_FX_ID, FixedId, ShortID
from utxo.components import OutputOwners, TransferableInput, TransferableOutput, TransferOutput

Json = dict[str, Any]
Addresses = Callable[[ShortID], str]
"""Formats an address with the chain's alias and the network's prefix."""

Plan = tuple[tuple[str, str, Callable[[bytes], Any] | None], ...]
"""A field's name, its name in JSON, and its formatter if it has a special one."""

_FX_ID = str(SECP256K1_FX_ID)
_UPPER = {"id": "ID", "ids": "IDs"}


def render_tx(tx: Tx, addresses: Addresses) -> Json:
    """Return a signed transaction as JSON, with its ID."""
    return {
        "unsignedTx": render(tx.unsigned, addresses),
        "credentials": render(tx.credentials, addresses),
        "id": str(tx.tx_id),
    }


def render(value: object, addresses: Addresses) -> Any:
    """Return a part of a transaction as JSON."""
    if isinstance(value, int):
        return value
    if isinstance(value, str):  # bytes that are not UTF-8 must not reach an encoder
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, FixedId):
        return str(value)
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, tuple):
        return [render(element, addresses) for element in value]
    shape = _SHAPES.get(type(value), _by_fields)
    return shape(value, addresses)


def _by_fields(value: Any, addresses: Addresses) -> Json:
    cls = type(value)
    plan = _PLANS.get(cls) or _PLANS.setdefault(cls, _plan(cls))
    return {
        shown: special(getattr(value, name)) if special else render(getattr(value, name), addresses)
        for name, shown, special in plan
    }


def _plan(cls: type) -> Plan:
    return tuple(
        (field.name, _camel(field.name), _FIELDS.get((cls, field.name))) for field in fields(cls)
    )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(_UPPER.get(word, word.capitalize()) for word in rest)


def _owners(owners: OutputOwners, addresses: Addresses) -> Json:
    return {
        "addresses": [addresses(address) for address in owners.addresses],
        "locktime": owners.locktime,
        "threshold": owners.threshold,
    }


def _transfer_output(output: TransferOutput, addresses: Addresses) -> Json:
    owners = _owners(output.owners, addresses)
    return {"addresses": owners["addresses"], "amount": output.amount} | owners


def _transferable_output(transferable: TransferableOutput, addresses: Addresses) -> Json:
    return {
        "assetID": str(transferable.asset_id),
        "fxID": _FX_ID,
        "output": render(transferable.output, addresses),
    }


def _transferable_input(transferable: TransferableInput, addresses: Addresses) -> Json:
    return {
        "txID": str(transferable.tx_id),
        "outputIndex": transferable.output_index,
        "assetID": str(transferable.asset_id),
        "fxID": _FX_ID,
        "input": render(transferable.input, addresses),
    }


def _p_chain_owner(owner: PChainOwner, _addresses: Addresses) -> Json:
    """Return the owner as in L1 data: addresses without chain and network."""
    return {
        "threshold": owner.threshold,
        "addresses": [str(address) for address in owner.addresses],
    }


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


_PLANS: dict[type, Plan] = {}
_SHAPES: dict[type, Callable[[Any, Addresses], Json]] = {
    OutputOwners: _owners,
    TransferOutput: _transfer_output,
    TransferableOutput: _transferable_output,
    TransferableInput: _transferable_input,
    PChainOwner: _p_chain_owner,
}
_FIELDS: dict[tuple[type, str], Callable[[bytes], Any]] = {
    (CreateChainTx, "genesis_data"): _base64,
    (RegisterL1ValidatorTx, "proof_of_possession"): list,
}
