"""The JSON form of transactions, as chains with UTXOs show them with encoding `json` (pchain.md 3.1, xchain.md 6).

Names and shapes follow the dataclasses: `tx_id` is shown as `txID`. All integers are JSON numbers, including 64-bit
ones. A chain passes the shapes of its own types to `Renderer`.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from primitives.ids import SECP256K1_FX_ID, FixedId, ShortID
from utxo.components import OutputOwners, TransferableInput, TransferableOutput, TransferOutput

Json = dict[str, Any]
Addresses = Callable[[ShortID], str]
"""Formats an address with the chain's alias and the network's prefix."""
Render = Callable[[object, Addresses], Any]
Shape = Callable[[Any, Addresses, Render], Json]
"""Returns the JSON of a value; the last argument renders its parts."""

Plan = tuple[tuple[str, str, Callable[[bytes], Any] | None], ...]
"""A field's name, its name in JSON, and its formatter if it has a special one."""

_FX_ID = str(SECP256K1_FX_ID)
_UPPER = {"id": "ID", "ids": "IDs"}


class Renderer:
    """Renders the parts of a chain's transactions.

    Args:
        shapes: The JSON of types that differs from their fields.
        formatters: Formatters of single fields, by class and name.
    """

    def __init__(
        self,
        shapes: Mapping[type, Shape],
        formatters: Mapping[tuple[type, str], Callable[[bytes], Any]] | None = None,
    ) -> None:
        self._shapes: dict[type, Shape] = {**_SHAPES, **shapes}
        self._formatters = formatters or {}
        self._plans: dict[type, Plan] = {}

    def render(self, value: object, addresses: Addresses) -> Any:
        """Return a part of a transaction as JSON."""
        if isinstance(value, int):
            return value
        if isinstance(value, str | bytes):
            return _text(value)
        if isinstance(value, tuple):
            return [self.render(element, addresses) for element in value]
        shape = self._shapes.get(type(value))
        if shape is None:
            return self._by_fields(value, addresses)
        return shape(value, addresses, self.render)

    def _by_fields(self, value: Any, addresses: Addresses) -> Json:
        cls = type(value)
        plan = self._plans.get(cls) or self._plans.setdefault(cls, self._plan(cls))
        return {
            shown: special(getattr(value, name))
            if special
            else self.render(getattr(value, name), addresses)
            for name, shown, special in plan
        }

    def _plan(self, cls: Any) -> Plan:
        return tuple(
            (field.name, _camel(field.name), self._formatters.get((cls, field.name)))
            for field in fields(cls)
        )


def render_owners(owners: OutputOwners, addresses: Addresses) -> Json:
    """Return the owners of an output as JSON."""
    return {
        "addresses": [addresses(address) for address in owners.addresses],
        "locktime": owners.locktime,
        "threshold": owners.threshold,
    }


def _text(value: str | bytes) -> str:
    if isinstance(value, str):  # bytes that are not UTF-8 must not reach an encoder
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return str(value) if isinstance(value, FixedId) else "0x" + value.hex()


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(_UPPER.get(word, word.capitalize()) for word in rest)


def _owners(owners: OutputOwners, addresses: Addresses, _render: Render) -> Json:
    return render_owners(owners, addresses)


def _transfer_output(output: TransferOutput, addresses: Addresses, _render: Render) -> Json:
    owners = render_owners(output.owners, addresses)
    return {"addresses": owners["addresses"], "amount": output.amount} | owners


def _transferable_output(
    transferable: TransferableOutput, addresses: Addresses, render: Render
) -> Json:
    return {
        "assetID": str(transferable.asset_id),
        "fxID": _FX_ID,
        "output": render(transferable.output, addresses),
    }


def _transferable_input(
    transferable: TransferableInput, addresses: Addresses, render: Render
) -> Json:
    return {
        "txID": str(transferable.tx_id),
        "outputIndex": transferable.output_index,
        "assetID": str(transferable.asset_id),
        "fxID": _FX_ID,
        "input": render(transferable.input, addresses),
    }


_SHAPES: dict[type, Shape] = {
    OutputOwners: _owners,
    TransferOutput: _transfer_output,
    TransferableOutput: _transferable_output,
    TransferableInput: _transferable_input,
}
