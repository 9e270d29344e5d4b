"""The chains' progress, stored for the other processes whenever it changes."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from network_app.ports import Gathering, NetworkReports, RunInThread, SyncState
from network_app.sync.last_accepted import LastAccepted

LOOK = 0.1
"""Seconds between checks for changes."""
PERIOD = 1.0
"""Seconds between reports of a chain that bootstraps or has processing blocks."""
LONG_PERIOD = 10.0
"""Seconds between reports if only the height changes."""


@dataclass(slots=True)
class BootstrapProgress:
    """Progress of one chain towards the frontier."""

    last_accepted: LastAccepted
    start_height: int = 0
    target_height: int = 0
    top_fetched: int = 0
    """Height up to which all blocks are stored or executed."""
    waiting: Gathering | None = None
    """The beacons it waits for before it starts."""
    processing: Callable[[], Sequence[float]] = field(default=tuple)
    """Returns the seconds that each block has been processing, if the validators vote."""

    def begin(self) -> None:
        """Note that bootstrapping starts at the current height."""
        self.start_height = self.last_accepted.place.height
        self.target_height = 0

    def state(self, since: Callable[[float], float], now: float) -> SyncState:
        """Return the chain's progress.

        Args:
            since: Converts a time of the clock to Unix seconds.
            now: Current time of the clock.
        """
        height, following = self.last_accepted.place.height, self.last_accepted.following
        undecided = [now - seconds for seconds in self.processing()]
        oldest = min(undecided, default=None)
        return SyncState(
            bootstrapped=following,
            start_height=self.start_height,
            height=height,
            target_height=height if following else max(height, self.target_height),
            fetched=0 if following else max(0, self.top_fetched - height),
            outstanding=len(undecided),
            oldest_outstanding=None if oldest is None else since(oldest),
            waiting=None if following else self.waiting,
            obstacle=self.last_accepted.obstacle.words,
        )


class ProgressRecorder:
    """Stores the chains' states. An idle node writes nothing."""

    def __init__(
        self,
        ways: Sequence[BootstrapProgress],
        records: NetworkReports,
        run: RunInThread,
        now: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ways = tuple(ways)
        self._records = records
        self._run = run
        self._now = now
        self._clock = clock
        self._written: dict[str, tuple[SyncState, float]] = {}

    def add(self, way: BootstrapProgress) -> None:
        """Report a further chain, too."""
        self._ways = (*self._ways, way)

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            await asyncio.sleep(LOOK)
            for way in self._ways:
                await self.report(way)

    async def report(self, way: BootstrapProgress) -> None:
        """Store a chain's state, if that is due."""
        alias, at = way.last_accepted.chain.alias, self._clock()
        state = way.state(lambda since: round(self._now() - (at - since), 3), at)
        if self._is_due(alias, state, at):
            await self._run(self._records.sync, alias, state)
            self._written[alias] = state, at  # set last, so that a failed write is repeated

    def _is_due(self, alias: str, state: SyncState, at: float) -> bool:
        if alias not in self._written:
            return True
        before, since = self._written[alias]
        if _standing(state) != _standing(before):
            return True
        if state == before:
            return False
        only_height = state.bootstrapped and state.outstanding == before.outstanding
        return at - since >= (LONG_PERIOD if only_height else PERIOD)


def _standing(state: SyncState) -> tuple[object, ...]:
    """Return the values whose change is reported immediately."""
    return state.bootstrapped, state.obstacle
