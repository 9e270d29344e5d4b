"""The message of an L1's nodes that a validator was online for some time (etna.md 12.5)."""

from dataclasses import dataclass
from typing import Annotated, Final

from primitives.codec import INTERFACE, U64, Codec
from primitives.ids import ID


class NodeStatement:
    """Interface: a statement by the nodes of a chain, the content of an addressed call without a source address."""


@dataclass(frozen=True, slots=True)
class ValidatorUptime(NodeStatement):
    """A validator was online for at least some seconds since it began to validate."""

    validation_id: ID
    seconds: U64


_CODEC: Final = Codec({0: ValidatorUptime})
_STATEMENT: Final = Annotated[NodeStatement, INTERFACE]


def parse_uptime(raw: bytes) -> ValidatorUptime:
    """Parse the statement in an addressed call. Raises `CodecError`."""
    found: ValidatorUptime = _CODEC.unmarshal(_STATEMENT, raw)
    return found


def build_uptime(statement: ValidatorUptime) -> bytes:
    """Return the bytes of a statement."""
    return _CODEC.marshal(statement, _STATEMENT)
