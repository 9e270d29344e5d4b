"""The last vertex of a chain's graph, after which the chain is linear (xchain.md 12).

A network without a graph of vertices makes the vertex itself, without parents. Its ID is the parent of the genesis block.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from primitives.codec import U32, U64
from primitives.hashing import sha256
from primitives.ids import ID
from xchain_app.txs.codec import CODEC

_VERSION: Final = b"\0\1"
"""The codec version of stop vertices; ordinary vertices have version 0."""


@dataclass(frozen=True, slots=True)
class StopVertex:
    """A stop vertex."""

    raw: bytes

    @property
    def vertex_id(self) -> ID:
        """The sha256 hash of its bytes."""
        return ID(sha256(self.raw))


def stop_vertex(chain_id: ID, height: int = 0, parents: Iterable[ID] = ()) -> StopVertex:
    """Return the stop vertex of a chain after these parents."""
    ordered = sorted(parents)
    return StopVertex(
        b"".join(
            (
                _VERSION,
                chain_id,
                CODEC.pack(height, U64),
                CODEC.pack(len(ordered), U32),
                *ordered,
            )
        )
    )
