"""Transactions as bytes: copies that came before, and how many go into a message. Pure."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from primitives.hashing import sha256

MESSAGE_BYTES = 20 * 1024
REMEMBERED = 32_768


class Recently:
    """Hashes of what came not long ago, so that a copy costs no more than its hash.

    They are forgotten soon: what was refused may be right later, and is pushed again then.
    """

    def __init__(self, seconds: float, capacity: int = REMEMBERED) -> None:
        self._seconds = seconds
        self._capacity = capacity
        self._seen: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def is_new(self, raw: bytes, now: float) -> bool:
        """Say whether bytes have not come recently, and remember them."""
        digest = sha256(raw)
        since = self._seen.get(digest)
        if since is not None and now - since < self._seconds:
            return False
        self._seen[digest] = now
        self._seen.move_to_end(digest)
        if len(self._seen) > self._capacity:
            self._seen.popitem(last=False)
        return True


def in_messages(raws: Iterable[bytes], size: int = MESSAGE_BYTES) -> Iterator[list[bytes]]:
    """Split transactions so that each message has about as many bytes, and one transaction at least."""
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
