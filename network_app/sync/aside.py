"""Peers that answer one chain's questions badly: they are not asked about that chain for a while. Pure.

The connection stays, and so does every other chain: who follows a C-Chain of another kind may be the best
source for the P-Chain there is. Only who breaks the rules of the connection itself is cut off (`peers`).
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from primitives.ids import NodeID

FIRST = 10.0
"""Seconds for which a peer is set aside the first time; twice as long with each further fault."""
LONGEST = 600.0
REMEMBERED = 3600.0
"""Seconds without a further fault after which the next one is the first again."""
MOST = 4096
"""Peers and chains that are remembered; those whose latest fault is the oldest are forgotten."""


class Fault(NamedTuple):
    """What a peer did wrong on a chain last, and until when it is not asked there."""

    reason: str
    times: int
    until: float


class Aside:
    """Who is set aside on which chain. Unspecified: the reference goes on asking at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._faults: OrderedDict[tuple[NodeID, str], Fault] = OrderedDict()

    def put(self, node_id: NodeID, alias: str, reason: str) -> float | None:
        """Set a peer aside; return for how many seconds, or None if it is already."""
        key, now = (node_id, alias), self._clock()
        before = self._faults.get(key)
        if before is not None and now < before.until:
            return None
        is_first = before is None or now - before.until > REMEMBERED
        times = 1 if is_first or before is None else before.times + 1
        seconds = min(LONGEST, FIRST * 2.0 ** min(times - 1, 16))
        self._faults[key] = Fault(reason, times, now + seconds)
        self._faults.move_to_end(key)
        if len(self._faults) > MOST:
            self._faults.popitem(last=False)
        return seconds

    def has(self, node_id: NodeID, alias: str) -> bool:
        """Say whether a peer is not to be asked about a chain now."""
        fault = self._faults.get((node_id, alias))
        return fault is not None and self._clock() < fault.until

    def now(self) -> dict[tuple[NodeID, str], str]:
        """Return why peers are set aside at the moment, by peer and chain."""
        now = self._clock()
        return {key: fault.reason for key, fault in self._faults.items() if now < fault.until}
