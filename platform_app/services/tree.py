"""A chain's processing blocks, on the accepted state as its rows have it."""

from collections.abc import Sequence

from platform_app.blocks.processing import ProcessingBlocks, Step
from platform_app.chain import NoGenesis, PlatformChain
from platform_app.executor.env import Env
from platform_app.services.acceptance import Origin
from platform_app.store import blocks as rows
from platform_app.store.blocks import Network, Tip
from platform_app.store.state import DatabaseState
from primitives.ids import ID


class Tree:
    """Processing blocks and the state below them. One thread at a time.

    Rows are read without a lock, so another process may accept a block between two questions. What is
    verified meanwhile is worth nothing: acceptance finds that out, and the VM looks before anything is refused.

    Args:
        chain: Which chain. It is asked nothing until somebody asks here.
    """

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain
        self._found: tuple[DatabaseState, ProcessingBlocks] | None = None
        self.origins: dict[ID, Origin] = {}
        """Of the blocks that are processing, or accepted and not written yet."""

    @property
    def state(self) -> DatabaseState:
        """The accepted state. What it has read it remembers, until the rows are looked at."""
        return self._known()[0]

    @property
    def blocks(self) -> ProcessingBlocks:
        """The processing blocks."""
        return self._known()[1]

    @property
    def stored(self) -> ID:
        """The last block that has its rows."""
        return self.state.tip.block_id

    def env(self, now: int) -> Env:
        """Return what blocks are executed in now, in Unix seconds."""
        return self._chain.env(self.state.network, now)

    def look(self) -> bool:
        """Look at the rows; say whether they have moved since: then what was processing is forgotten.

        Raises:
            NoGenesis: The database holds no chain.
        """
        place = rows.read(self._chain.db)
        if place is None:
            raise NoGenesis
        moved = self._found is not None and self.stored != place[1].block_id
        if moved:
            self.forget()
        self._stand_on(place)
        return moved

    def move(self, steps: Sequence[Step], place: tuple[Network, Tip]) -> None:
        """Stand on what was accepted and written; `place` is what the rows say of it."""
        self._stand_on(place)
        for step in steps:
            for block in step.blocks:
                del self.origins[block.block_id]

    def forget(self) -> None:
        """Forget what is processing: after a restart it would be gone too."""
        self._found = None
        self.origins.clear()

    def _known(self) -> tuple[DatabaseState, ProcessingBlocks]:
        if self._found is None:
            self.look()
        assert self._found is not None
        return self._found

    def _stand_on(self, place: tuple[Network, Tip]) -> None:
        """Read the accepted state anew from now on."""
        state = DatabaseState(self._chain.db, place)
        if self._found is None:
            self._found = state, ProcessingBlocks(state.tip, state)
        else:
            blocks = self._found[1]
            blocks.rebase(state)
            self._found = state, blocks
