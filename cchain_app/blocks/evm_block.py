"""A block for consensus: its place in the chain is known, the rest is parsed or encoded on demand."""

from collections.abc import Callable
from dataclasses import dataclass, field

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock, CandidateHeader
from cchain_app.blocks.header import Header
from primitives.evm import Hash
from primitives.ids import ID


@dataclass(frozen=True, slots=True)
class EvmBlock:
    """A block of an EVM chain, either parsed or executed; a `chainvm.port.Block`.

    Two blocks are equal if their headers are equal.
    """

    header: Header
    hash: Hash
    """Keccak-256 of the header's RLP."""
    _source: bytes | CandidateBlock | AcceptedBlock = field(compare=False, repr=False)

    @property
    def block_id(self) -> ID:
        """Its hash."""
        return ID(self.hash)

    @property
    def parent_id(self) -> ID:
        """Its parent's hash."""
        return ID(self.header.parent_hash)

    @property
    def height(self) -> int:
        """Its number."""
        return self.header.number

    @property
    def raw(self) -> bytes:
        """The whole block as RLP; of an executed block it is encoded each time."""
        source = self._source
        if isinstance(source, bytes):
            return source
        return source.raw

    def candidate(self, parse: Callable[[bytes], CandidateBlock]) -> CandidateBlock:
        """Return the whole block, parsed.

        Args:
            parse: Parses a block (`rules.port.BlockFormat.parse_block`).

        Raises:
            InvalidBlock: By a subclass, as `parse` does.
        """
        source = self._source
        return source if isinstance(source, CandidateBlock) else parse(self.raw)


def unparsed_block(header: CandidateHeader, raw: bytes) -> EvmBlock:
    """Return a block of which only the header has been read."""
    return EvmBlock(header.header, header.hash, raw)


def evm_block(block: CandidateBlock | AcceptedBlock) -> EvmBlock:
    """Return a parsed or executed block as a block for consensus."""
    return EvmBlock(block.header, block.hash, block)
