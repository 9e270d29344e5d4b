"""Transactions as bytes: detection of duplicates, and splitting into messages. Pure."""

from collections.abc import Iterable, Iterator

from primitives.bounded_cache import BoundedCache
from primitives.hashing import sha256

MESSAGE_BYTES = 20 * 1024
REMEMBERED = 32_768


class Recently:
    """Hashes of recently received bytes, so that a duplicate costs only its hash.

    Hashes expire soon, because a rejected transaction may become valid and is then pushed again.
    """

    def __init__(self, seconds: float, capacity: int = REMEMBERED) -> None:
        self._seconds = seconds
        self._seen: BoundedCache[bytes, float] = BoundedCache(capacity)

    def __len__(self) -> int:
        return len(self._seen)

    def is_new(self, raw: bytes, now: float) -> bool:
        """Return whether bytes were not received recently, and remember them."""
        digest = sha256(raw)
        since = self._seen.peek(digest)
        if since is not None and now - since < self._seconds:
            return False
        self._seen.put_newest(digest, now)
        return True


def in_messages(raws: Iterable[bytes], size: int = MESSAGE_BYTES) -> Iterator[list[bytes]]:
    """Split transactions into messages of about `size` bytes, with at least one transaction each."""
    message: list[bytes] = []
    room = size
    for raw in raws:
        if message and len(raw) > room:
            yield message
            message, room = [], size
        message.append(raw)
        room -= len(raw)
    if message:
        yield message
