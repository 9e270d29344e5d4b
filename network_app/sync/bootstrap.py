"""Bootstraps a chain: asks for the network's frontier, fetches and executes missing blocks (p2p.md 9)."""

import asyncio
import logging
import math

from network_app.config import NetworkConfig
from network_app.peers.dialer import BackOff
from network_app.peers.throttle import LogLimit
from network_app.ports import AcceptResult, BlockRef, Gathering
from network_app.sync.choosing import PeerSelection
from network_app.sync.errors import (
    Forked,
    ImpossibleHeight,
    InvalidFetchedBlock,
    NoAgreement,
    NobodyHas,
    PeerGenesisMismatch,
    RoundFailed,
    Stuck,
    TooMuchFetched,
)
from network_app.sync.fetching import Fetcher
from network_app.sync.frontier import Frontier, FrontierResult
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.progress import BootstrapProgress
from network_app.sync.reaching import FetchedBlockExecutor, Reacher
from network_app.sync.witnesses import Witnesses
from primitives.ids import ID
from primitives.networks import title

LOOK = 0.1
"""Seconds between checks whether enough beacons are connected."""
FIRST_RETRY = 0.5
"""Seconds of the pause after a failed round; pauses grow up to `sync_repeat`."""
NO_END = 1 << 63

_log = logging.getLogger(__name__)


class Bootstrap:
    """Bootstraps one chain in rounds. Fetched blocks are stored, so a restart resumes the process.

    No single peer is trusted: blocks on which the beacons do not agree are left to voting.
    """

    def __init__(
        self,
        last_accepted: LastAccepted,
        frontier: Frontier,
        fetcher: Fetcher,
        choice: PeerSelection,
        config: NetworkConfig,
        *,
        progress: BootstrapProgress,
        witnesses: Witnesses,
    ) -> None:
        self._last_accepted = last_accepted
        self._frontier = frontier
        self._fetcher = fetcher
        self._choice = choice
        self._config = config
        self._progress = progress
        self._witnesses = witnesses
        self._log_limit = LogLimit()
        self._reached = False
        """Whether the frontier was reached since this process started."""
        self._executor = FetchedBlockExecutor(last_accepted, config, self._executed)
        self._reacher = Reacher(
            last_accepted,
            frontier,
            fetcher,
            choice,
            config,
            executor=self._executor,
            progress=progress,
        )

    @property
    def has_beacons(self) -> bool:
        """Whether any beacon is configured."""
        return self._frontier.beacons().configured > 0

    async def run(self) -> None:
        """Repeat rounds until the frontier is reached, despite any failures.

        Only the first time must enough beacons be connected and agree. Unspecified: a node that falls behind
        later follows the connected beacons alone, because one absent beacon must not keep it from the blocks
        of the others.
        """
        back_off = BackOff(min(FIRST_RETRY, self._config.sync_repeat), self._config.sync_repeat)
        before = math.inf
        if not self._reached:
            await self._gather()
        while True:
            try:
                executed = await self._round()
            except RoundFailed as error:
                await self._failed(error)
                await asyncio.sleep(self._pause(back_off))
                continue
            back_off.reset()
            if not 0 < executed < before / 2:
                self._fetcher.forget_sources()
                self._last_accepted.obstacle.gone()
                self._reached = True
                return
            before = executed

    def _pause(self, back_off: BackOff) -> float:
        """Return the seconds until the next round; the pause is longer before a block rejected here."""
        pause = back_off.wait()
        return (
            max(pause, self._config.refused_again)
            if self._last_accepted.obstacle.is_resting
            else pause
        )

    async def _failed(self, error: RoundFailed) -> None:
        """Log why a round failed, and clean up for the next one."""
        if isinstance(error, (Forked, PeerGenesisMismatch)):
            self._last_accepted.obstacle.stands(str(error), self._last_accepted.place.height)
        await self._clean_up(error)
        if (
            not self._last_accepted.obstacle.is_resting
            and self._last_accepted.obstacle.words != str(error)
            and self._log_limit.allows(type(error).__name__)
        ):
            _log.warning("%s: %s", title(self._last_accepted.chain.alias), error)

    async def _gather(self) -> None:
        """Wait until enough beacons are connected; report how many are missing."""
        said: Gathering | None = None
        try:
            while (lacking := self._frontier.beacons().lacking) is not None:
                if lacking != said:
                    _log.info("%s: waits, %s", title(self._last_accepted.chain.alias), lacking)
                self._progress.waiting = said = lacking
                await asyncio.sleep(LOOK)
        finally:
            self._progress.waiting = None

    async def _round(self) -> int:
        """Run steps 1 to 4 once; return the number of executed blocks."""
        start = await self._last_accepted.refresh()
        await self._finish_fetched()
        for item in await self._ask():
            if await self._height_of(item.block_id) is None:
                await self._reacher.reach(item)
        return self._last_accepted.place.height - start.height

    async def _ask(self) -> list[FrontierResult]:
        try:
            return await self._frontier.ask(of_connected=self._reached)
        except NoAgreement:
            if not self._reached:
                raise
            return []

    async def _height_of(self, block_id: ID) -> int | None:
        (height,) = await self._last_accepted.run(self._last_accepted.chain.height_of, [block_id])
        return height

    def _executed(self, before: BlockRef, accepted: AcceptResult) -> None:
        """Note an executed batch. The first one proves that this node is behind: it stops answering queries.

        Claims of peers prove nothing, but these blocks follow ours and are signed by their producers.
        """
        _log.debug(
            "%s: %d blocks above height %d, %d transactions",
            title(self._last_accepted.chain.alias),
            len(accepted.places),
            before.height,
            accepted.transactions,
        )
        if self._last_accepted.following and self._last_accepted.place.height > before.height:
            self._last_accepted.following = False
            self._progress.start_height = before.height

    async def _finish_fetched(self) -> None:
        """Fetch the blocks missing below blocks stored by an earlier run, and execute them all."""
        chain, run = self._last_accepted.chain, self._last_accepted.run
        await run(chain.forget_fetched, self._last_accepted.place.height)
        while (extent := await run(chain.fetched_extent)) is not None:
            lowest, parent_id = extent
            start = self._last_accepted.place
            top = BlockRef(lowest.height - 1, parent_id)
            if top.height - start.height > self._config.most_fetched:  # no round leaves such a gap
                await self._forget_fetched()
                continue
            known = {*self._frontier.beacons().connected, *self._choice.validators()}
            try:
                await self._fetcher.fill(top, start, known)
            except NobodyHas:
                if known:  # the blocks may not exist
                    await self._forget_fetched()
                raise
            try:
                await self._executor.execute(NO_END)
            except Stuck:
                if self._last_accepted.place.height == start.height:
                    raise
            await run(chain.forget_fetched, self._last_accepted.place.height)

    async def _clean_up(self, error: RoundFailed) -> None:
        """Drop fetched blocks that lead nowhere, and set aside the sender of an invalid block.

        A block that most of the network has accepted is kept: it may become valid here when this node has the
        network's rules.
        """
        if isinstance(error, InvalidFetchedBlock):
            if await self._witnesses.judge(error):
                return
            sender = None if error.height is None else self._fetcher.source_of(error.height)
            if sender is not None:
                self._choice.set_aside(sender, self._last_accepted.chain.alias, str(error))
        if isinstance(
            error, (InvalidFetchedBlock, Forked, Stuck, TooMuchFetched, ImpossibleHeight)
        ):
            await self._forget_fetched()

    async def _forget_fetched(self) -> None:
        self._fetcher.forget_sources()
        await self._last_accepted.run(self._last_accepted.chain.forget_fetched)
