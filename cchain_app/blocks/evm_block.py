"""A block for consensus: its place in the chain is known, the rest is parsed or encoded on demand."""

from dataclasses import dataclass, field

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock, parse_block, parse_header
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

    def candidate(self) -> CandidateBlock:
        """Return the whole block, parsed.

        Raises:
            InvalidBlock: By a subclass, as `parse_block` does.
        """
        source = self._source
        return source if isinstance(source, CandidateBlock) else parse_block(self.raw)


def parse_evm_block(raw: bytes) -> EvmBlock:
    """Read a block's header, without the rest. Raises as `parse_header`."""
    read = parse_header(raw)
    return EvmBlock(read.header, read.hash, raw)


def evm_block(block: CandidateBlock | AcceptedBlock) -> EvmBlock:
    """Return a parsed or executed block as a block for consensus."""
    return EvmBlock(block.header, block.hash, block)
