"""How the processes of one machine stay at one head: each tells of it in memory that all share, before it answers.

The readers of the embedded profile follow what one process tells (`nodeproject.processes.readers`); in the production profile
each process tells, and those with doors follow. Processes on other machines hear by pointers, some milliseconds later.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from typing_extensions import override

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from chaindb.connections import in_thread
from jsonrpc.dispatch.calls import STOP
from nodeproject.heads.registry import directory_of
from nodeproject.heads.shared_memory import HeadPage

LOOK_SECONDS: Final = 3.0
"""So long requests wait for a look at the rows; then they are answered by what is known, as before it was told."""

_log: Final = logging.getLogger(__name__)

Then = Callable[[bool], None]
"""Is told, on the event loop, whether this process is where the page was when it asked."""


class FollowedHead:
    """The chain's memory in a process, kept in line with a page; a `jsonrpc.http.fast_path.Current`. An event loop has it.

    Args:
        chain: The chain.
        page: What was told.
    """

    def __init__(self, chain: EvmChain, page: HeadPage) -> None:
        self._chain = chain
        self._page = page
        self._version = -1
        """Of the page, with which this process was last in line."""
        self._changed = page.changed
        self._waiting: list[Then] = []
        self._reaching: asyncio.Task[None] | None = None
        self._looking: asyncio.Future[None] | None = None
        """The look that was begun last."""

    def is_current(self) -> bool:
        """Return whether nothing was told that this process does not know. Each request asks this."""
        return self._page.version == self._version

    def when_current(self, then: Then) -> None:
        """Catch up with what was told, and go on; those who ask meanwhile wait for the same look."""
        self._waiting.append(then)
        if self._reaching is None:
            self._reaching = asyncio.get_running_loop().create_task(self._reach())

    async def _reach(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                version = self._page.version
                can_answer = await self._looked(version)
                for then in waiting:
                    self._tell(then, can_answer=can_answer)
        finally:
            self._reaching = None

    async def _looked(self, version: int) -> bool:
        """Catch up with a version of the page; return whether that was possible in time."""
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._look()
        except (*STOP, asyncio.CancelledError):
            raise
        except BaseException as error:
            # Whatever it is: a native extension that panics raises no `Exception`.
            self._failed(version, error)
            return False
        self._version = version
        return True

    async def _look(self) -> None:
        if self._looking is not None and not self._looking.done():
            # One that takes too long: no second thread waits beside it.
            await asyncio.wait([self._looking])
        self._looking = asyncio.ensure_future(in_thread(self._catch_up))
        self._looking.add_done_callback(_seen)
        await asyncio.shield(self._looking)

    def _failed(self, version: int, error: BaseException) -> None:
        """Do what is to be done where it could not catch up with a version."""
        del version
        _log.error("a process could not catch up with what another one has told", exc_info=error)

    def _tell(self, then: Then, *, can_answer: bool) -> None:
        """Let one go on; whatever becomes of it, others wait for the same look."""
        try:
            then(can_answer)
        except STOP:
            raise
        except BaseException:  # as above
            _log.exception("a request that has waited for the head was not gone on with")

    def _catch_up(self) -> None:
        """Move the memory to what the rows are."""
        chain, memory = self._chain, self._chain.memory
        changed = self._page.changed
        if changed != self._changed and memory.blocks.head is not None:
            memory.changed_elsewhere(memory.blocks.head.number)
        blocks.catch_up(chain)
        self._changed = changed


class SharedHead(FollowedHead):
    """That of a process of the production profile.

    Heads never go back, whichever process of the machine answers: what an answer has told of, every later one knows.
    A process that commits tells of it before it answers. One with doors that finds in the rows what was committed and
    not told, by a process that was killed just then, tells of it itself before it answers; others answer nobody.

    Args:
        chain: The chain. Its memory tells of what happens from now on.
        page: The machine's.
    """

    def __init__(self, chain: EvmChain, page: HeadPage) -> None:
        super().__init__(chain, page)
        memory = chain.memory
        self._begun = self._told_begun = page.begun
        """As it was before the last look at the rows, and as it was after the last that this process has told."""
        self._own = -1
        """The version by which this process has told of the head that it is about to move to, being in line."""
        self._moved = memory.blocks.on_head
        memory.on_change = self._tell_change
        chain.on_accepted.append(lambda accepted: self._tell_head(accepted[-1].number, False))

    def begin(self) -> None:
        """Answer from now on: this process has doors, and tells of each head that it comes to."""
        memory = self._chain.memory.blocks
        memory.before_move = self._tell_head
        memory.on_head = self._have_moved

    @override
    def is_current(self) -> bool:
        version = self._page.version
        return version == self._version or self._is_there(version)

    def _is_there(self, version: int) -> bool:
        """Return whether a pointer has brought this process already where a version of the page is."""
        page, head = self._page, self._chain.memory.blocks.head
        if (page.changed, page.begun) != (self._changed, self._begun):
            return False
        if head is None or head.number < page.height:
            return False
        self._version = version
        return True

    @override
    def _catch_up(self) -> None:
        begun = self._page.begun
        super()._catch_up()
        # All that was told until then: what it tells from now on it has seen in the rows since.
        self._begun = self._told_begun = begun

    @override
    def _failed(self, version: int, error: BaseException) -> None:
        """Answer by what is known, as where nothing was told: a pointer, the tick or the next version has it catch up."""
        self._version = version
        _log.warning("the head that another process has told of could not be read: %s", error)

    def _tell_head(self, height: int, begins: bool) -> None:  # noqa: FBT001  # a hook of `BlockMemory`
        page = self._page
        if begins and self._is_told(height):
            self._told_begun = page.begun
            return
        told = page.tell_head(height, begins, self._told_begun)
        if told is None:
            return
        knew, self._told_begun = self._told_begun, told.begun
        if told.begun == knew and told.version == self._version + 1:
            self._own = told.version

    def _is_told(self, height: int) -> bool:
        """Return whether others know all that a process tells that begins at a height.

        It follows one that has told that the chain went back there; or it has just started at the head that was told.
        """
        page = self._page
        follows = page.begun != self._told_begun
        return page.height == height and (follows or self._chain.memory.blocks.head is None)

    def _have_moved(self, height: int, begins: bool) -> None:  # noqa: FBT001  # likewise
        self._moved(height, begins)
        if self._own >= 0:
            self._version, self._own = self._own, -1

    def _tell_change(self) -> None:
        head = self._chain.memory.blocks.head
        if head is not None and head.number < self._page.height:
            self._tell_head(head.number, True)  # the chain went back
        told = self._page.tell_change()
        is_next = (told.version, told.changed) == (self._version + 1, self._changed + 1)
        if is_next:  # nobody else has told anything meanwhile
            self._version, self._changed = told.version, told.changed


def _seen(look: asyncio.Future[None]) -> None:
    """Take note of how a look ended that nobody may wait for any more."""
    if not look.cancelled():
        look.exception()


def share_head(chain: EvmChain, data: Path) -> SharedHead | None:
    """Return how a chain stays at the head of the machine's other processes; None where they share no memory.

    Args:
        chain: The chain.
        data: The node's data directory, which they share.
    """
    if not data.is_dir():  # nothing is initialised
        return None
    try:
        page = HeadPage.at(directory_of(data) / "head")
    except OSError as error:
        _log.warning("other processes of this machine are followed by pointers alone: %s", error)
        return None
    return SharedHead(chain, page)
