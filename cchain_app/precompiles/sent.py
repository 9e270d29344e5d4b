"""The warp messages that a block sends: logs of the warp precompile (etna.md 12.5)."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from cchain_app.precompiles.addresses import WARP
from primitives.codec_errors import CodecError
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.warp import UnsignedMessage, parse_unsigned

SENT: Final = keccak256(b"SendWarpMessage(address,bytes32,bytes)")
"""First topic of the log of a sent message; the others are its sender and its ID."""

_TOPICS: Final = 3
_WORD: Final = 32


class EventLog(Protocol):
    """The fields of a log."""

    @property
    def address(self) -> Address:
        """Its contract."""

    @property
    def topics(self) -> tuple[bytes, ...]:
        """Its topics."""

    @property
    def data(self) -> bytes:
        """Its data."""


class SentMessage(NamedTuple):
    """A message that a contract has sent."""

    log_index: int
    """Index of its log in the block."""
    sender: Address
    message: UnsignedMessage


def sent_messages(logs: Iterable[EventLog]) -> Iterator[SentMessage]:
    """Yield the messages among the logs of a block in which the precompile is in force.

    Logs of another form are left out: a fork may have had other code there.
    """
    for index, log in enumerate(logs):
        if log.address != WARP or len(log.topics) != _TOPICS or log.topics[0] != SENT:
            continue
        length = int.from_bytes(log.data[_WORD : 2 * _WORD], "big")
        try:
            message = parse_unsigned(log.data[2 * _WORD : 2 * _WORD + length])
        except CodecError:
            continue
        yield SentMessage(index, Address(log.topics[1][-20:]), message)
