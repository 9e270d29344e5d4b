"""The bytes of coreth's messages for state synchronization, which this node neither serves nor sends.

The project's linear codec reads and writes them by the layouts of coreth.md 12.3, which are only here.
"""

from base64 import b64decode
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final

import pytest

from primitives.codec import INTERFACE, U8, U16, U64, Blob, Codec
from primitives.ids import ID
from tests.conformance.coreth_vectors import cases, data


class _Request:
    """A request carries the number of its type."""


@dataclass(frozen=True)
class _BlockRequest(_Request):
    hash: ID
    height: U64
    parents: U16


@dataclass(frozen=True)
class _LeafsRequest(_Request):
    root: ID
    account: ID
    start: Blob
    end: Blob
    limit: U16
    node_type: U8


@dataclass(frozen=True)
class _CodeRequest(_Request):
    hashes: tuple[ID, ...]


@dataclass(frozen=True)
class _CodeResponse:
    data: tuple[Blob, ...]


@dataclass(frozen=True)
class _LeafsResponse:
    keys: tuple[Blob, ...]
    vals: tuple[Blob, ...]
    proof_vals: tuple[Blob, ...]


_CODEC: Final = Codec({3: _BlockRequest, 5: _LeafsRequest, 7: _CodeRequest})
_TYPES: Final = {
    "BlockRequest": _BlockRequest,
    "LeafsRequest": _LeafsRequest,
    "CodeRequest": _CodeRequest,
    "CodeResponse": _CodeResponse,
    "LeafsResponse": _LeafsResponse,
}


def _value(given: Any) -> Any:
    if isinstance(given, list):
        return tuple(map(_value, given))
    if not isinstance(given, str):
        return given
    return data(given) if given.startswith("0x") else b64decode(given)


@pytest.mark.parametrize("case", cases("sync_messages"))
def test_messages_are_of_the_described_layout(case: dict[str, Any]) -> None:
    kind = _TYPES[case["name"].split()[0]]
    given = {name.lower(): _value(value) for name, value in case["fields"].items()}
    message = kind(**{field.name: given[field.name.replace("_", "")] for field in fields(kind)})
    layout = Annotated[_Request, INTERFACE] if issubclass(kind, _Request) else kind
    assert _CODEC.marshal(message, layout) == data(case["bytes"])
    assert _CODEC.unmarshal(layout, data(case["bytes"])) == message
