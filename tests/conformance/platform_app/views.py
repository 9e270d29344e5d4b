"""Values in the format of the vectors' `fields`: with type IDs, and addresses in hexadecimal."""

from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from platform_app.txs.base import AuthInput
from platform_app.txs.codec import CODEC
from primitives.codec import INTERFACE
from primitives.ids import FixedId, ShortID
from utxo.components import SignatureCredential, TransferOutput

NAMES = {AuthInput: "Input", SignatureCredential: "Credential"}
"""The reference's names of types that have another name in this node."""


def view(value: Any, *, is_interface: bool = False) -> Any:
    """Return a value in the format of the vectors."""
    if isinstance(value, bytes):
        return _shown_bytes(value)
    if isinstance(value, tuple):
        return [view(item, is_interface=is_interface) for item in value]
    if not is_dataclass(value):
        return value
    cls = type(value)
    if not is_interface:
        return _fields(value)
    marks = {"_typeID": CODEC.type_id(cls), "_type": NAMES.get(cls, cls.__name__)}
    return marks | _fields(value)


def _shown_bytes(value: bytes) -> str:
    if isinstance(value, ShortID):
        return value.hex()
    return str(value) if isinstance(value, FixedId) else f"0x{value.hex()}"


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, TransferOutput):
        return {"amount": value.amount} | _fields(value.owners)
    hints = get_type_hints(type(value), include_extras=True)
    return {
        _shown(field.name): view(
            getattr(value, field.name), is_interface=_is_interface(hints[field.name])
        )
        for field in fields(value)
    }


def _is_interface(hint: Any) -> bool:
    if get_origin(hint) is tuple:
        return _is_interface(get_args(hint)[0])
    return get_origin(hint) is Annotated and INTERFACE in hint.__metadata__


def _shown(name: str) -> str:
    first, *rest = name.split("_")
    words = {"id": "ID", "ids": "IDs"}
    return first + "".join(words.get(word, word.title()) for word in rest)
