"""Answers that follow from the accepted state, remembered for as long as that is the same.

Who asks for a remembered answer waits for nothing: no row is read. So an answer is handed out only while it is known
that the chain stands where it stood: for `OLDEST` seconds after the last look at the rows, where another process may
have written; not at all while this process writes. Where nobody knows, the rows are asked.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from typing import Final, NamedTuple

from primitives.counting import Asked

LOOK: Final = 0.025
"""Seconds after a look at the rows from which on another one is due."""
OLDEST: Final = 0.25
"""Seconds after a look for which answers are handed out: so late is seen, at the latest, what another process has
changed and nobody has told of. Who wants to be sure that it is seen waits for so long."""
BYTES: Final = 32 * 1024 * 1024
"""Of all remembered answers together, keys included."""
LONGEST: Final = 4 * 1024 * 1024
"""Bytes of the longest answer that is remembered: 3,000 validators."""
ENTRIES: Final = 16_384
ARGUMENTS: Final = 4096
"""Bytes of the texts among the arguments of one answer: about 80 addresses."""
_ENTRY: Final = 512
"""Bytes that an entry takes besides its texts."""

Argument = str | bytes | int | Sequence[str | bytes] | None
Key = tuple[object, ...]


class Place(NamedTuple):
    """Where a chain stands, and the clock: what is the same as long as the same questions have the same answers."""

    genesis_hash: bytes
    block_id: bytes
    """Of the last accepted block."""
    generation: int
    """How often the rows were replaced by earlier ones."""
    clock_offset: int
    """Seconds that the node's clock is ahead of wall time."""


class Lifetime(NamedTuple):
    """For how long an answer is right although the chain stands where it stood."""

    since: float = -inf
    until: float = inf
    """The node's time, Unix seconds: from `since` on, and before `until`."""
    seconds: float = inf
    """After it was read."""


ALWAYS: Final = Lifetime()


class _Kept(NamedTuple):
    text: bytes
    lifetime: Lifetime
    end: float
    """By the clock of `elapsed`."""


class _Standing:
    """A place of the chain, when the rows were seen to be there last, and what was asked there."""

    __slots__ = ("answers", "place", "seen_at", "size")

    def __init__(self, place: Place, seen_at: float) -> None:
        self.place = place
        self.seen_at = seen_at
        self.answers: OrderedDict[Key, _Kept] = OrderedDict()
        self.size = 0


class AnswerMemory:
    """Answers by what was asked, all as of one place; the least recently asked for go first. Threads share it.

    Args:
        read: Says where the chain stands now, None where there is none. It reads the rows.
        most_bytes: Of all answers.
        longest: Bytes of one answer.
        elapsed: Seconds, rising.
        wall: Wall time, Unix seconds.
    """

    def __init__(
        self,
        read: Callable[[], Place | None],
        *,
        most_bytes: int = BYTES,
        longest: int = LONGEST,
        elapsed: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._read = read
        self._most_bytes = most_bytes
        self._longest = longest
        self._elapsed = elapsed
        self._wall = wall
        self._lock = threading.Lock()
        self._standing: _Standing | None = None
        """Readers take it without the lock, so a place has an object of its own."""
        self._changes = 0
        """How often this process has begun or ended to change the rows, or has heard that others have."""
        self._changing = 0
        """How many are at it."""
        self.asked = Asked()

    def __len__(self) -> int:
        standing = self._standing
        return 0 if standing is None else len(standing.answers)

    @property
    def size(self) -> int:
        """Bytes of all that is remembered."""
        standing = self._standing
        return 0 if standing is None else standing.size

    def get(self, key: Key) -> bytes | None:
        """Return a remembered answer, if it is known to be right. It waits for nothing."""
        standing = self._standing
        kept = None if standing is None else standing.answers.get(key)
        if standing is None or kept is None or not self._is_right(standing, kept):
            self.asked.miss()
            return None
        with suppress(KeyError):  # it may be forgotten in this moment
            standing.answers.move_to_end(key)  # one step of the interpreter: no lock
        self.asked.hit()
        return kept.text

    def is_trusted(self) -> bool:
        """Say whether answers may be handed out at this moment."""
        standing = self._standing
        return standing is not None and self._elapsed() - standing.seen_at < OLDEST

    def is_due(self) -> bool:
        """Say whether the rows should be looked at, for the sake of those who ask next."""
        standing = self._standing
        return standing is not None and self._elapsed() - standing.seen_at >= LOOK

    def look(self) -> Place | None:
        """Look where the chain stands, and forget what was answered elsewhere. It reads a row.

        Returns:
            Where; None where there is no chain, or where it may have moved meanwhile.
        """
        changes, moment = self._changes, self._elapsed()
        place = self._read()
        with self._lock:
            if self._changing or self._changes != changes:
                return None
            if place is None:
                self._standing = None
            elif self._standing is None or self._standing.place != place:
                self._standing = _Standing(place, moment)
            else:
                self._standing.seen_at = max(self._standing.seen_at, moment)
            return place

    def read(self, key: Key, load: Callable[[], tuple[bytes, Lifetime]]) -> bytes:
        """Return what `load` reads from the rows, and remember it if the chain stood still meanwhile."""
        before, moment = self._standing, self._elapsed()
        text, lifetime = load()
        if self.look() is not None:
            self._keep(key, _Kept(text, lifetime, moment + lifetime.seconds), before)
        return text

    def catch_up(self) -> None:
        """Be no older than what was just read from the rows: who hands that out calls it before."""
        if self.is_trusted():
            self.look()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hand out nothing while this process changes the accepted state, from before its transaction to its end."""
        self._change(1)
        try:
            yield
        finally:
            self._change(-1)

    def accepted(self, block_id: bytes) -> None:
        """Note that somebody has accepted a block."""
        standing = self._standing
        if standing is None or standing.place.block_id != block_id:
            self._change(0)

    def _change(self, more: int) -> None:
        with self._lock:
            self._changing += more
            self._changes += 1
            self._standing = None

    def _keep(self, key: Key, kept: _Kept, before: _Standing | None) -> None:
        """Remember an answer, if the chain stands where it stood before it was read.

        Two looks that find the same place find it unmoved between them: no chain goes back unseen.
        """
        size = len(kept.text) + _size(key)
        with self._lock:
            standing = self._standing
            if standing is None or standing is not before or size > self._longest:
                return
            old = standing.answers.pop(key, None)
            if old is not None:
                standing.size -= len(old.text) + _size(key)
            standing.answers[key] = kept
            standing.size += size
            while standing.size > self._most_bytes or len(standing.answers) > ENTRIES:
                first, gone = standing.answers.popitem(last=False)
                standing.size -= len(gone.text) + _size(first)

    def _is_right(self, standing: _Standing, kept: _Kept) -> bool:
        moment = self._elapsed()
        if moment - standing.seen_at >= OLDEST or moment >= kept.end:
            return False
        lifetime = kept.lifetime
        if lifetime.since == -inf and lifetime.until == inf:
            return True  # most answers: the clock need not be read
        return lifetime.since <= int(self._wall()) + standing.place.clock_offset < lifetime.until


def key_of(method: str, arguments: Sequence[object]) -> Key | None:
    """Return what an answer is remembered by; None for arguments that are too long for that."""
    key = (method, *(tuple(one) if isinstance(one, list) else one for one in arguments))
    return key if _size(key) <= ARGUMENTS + _ENTRY else None


def _size(key: Key) -> int:
    """Return about how many bytes a key and its entry take."""
    return _ENTRY + sum(map(_length, key))


def _length(part: object) -> int:
    if isinstance(part, tuple):
        return sum(map(_length, part))
    return len(part) if isinstance(part, str | bytes) else 8
