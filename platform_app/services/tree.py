"""A chain's processing blocks, on the accepted state of the rows."""

from collections.abc import Sequence

from chainvm.port import BlockContext
from platform_app.blocks.processing import ProcessingBlocks, WriteStep
from platform_app.chain import NoPlatformGenesis, PlatformChain
from platform_app.executor.env import Env
from platform_app.services.acceptance import ProcessingOrigin
from platform_app.store import blocks as rows
from platform_app.store.blocks import StoredNetwork, Tip
from platform_app.store.state import DatabaseState
from primitives.ids import ID


class PlatformTree:
    """Processing blocks and the accepted state below them. Not thread-safe.

    Rows are read without a lock, so another process may accept a block between two reads. Blocks verified
    meanwhile are not valid; acceptance detects that, and the VM checks the rows before it rejects a block.

    Args:
        chain: The chain. Nothing is read from it before the first access.
    """

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain
        self._found: tuple[DatabaseState, ProcessingBlocks] | None = None
        self.origins: dict[ID, ProcessingOrigin] = {}
        """The origins of blocks that are processing, or accepted and not written yet."""

    @property
    def state(self) -> DatabaseState:
        """The accepted state. It caches its reads until the rows are checked."""
        return self._known()[0]

    @property
    def blocks(self) -> ProcessingBlocks:
        """The processing blocks."""
        return self._known()[1]

    @property
    def stored(self) -> ID:
        """The last block whose rows are written."""
        return self.state.tip.block_id

    def env(self, context: BlockContext) -> Env:
        """Return the environment for executing a block."""
        return self._chain.env(self.state.network, context.now, context.p_chain_height)

    def look(self) -> bool:
        """Check the rows; return whether the tip has changed, in which case processing blocks are dropped.

        Raises:
            NoPlatformGenesis: The database holds no chain.
        """
        place = rows.read(self._chain.db)
        if place is None:
            raise NoPlatformGenesis
        moved = self._found is not None and self.stored != place[1].block_id
        if moved:
            self.forget()
        self._stand_on(place)
        return moved

    def move(self, steps: Sequence[WriteStep], place: tuple[StoredNetwork, Tip]) -> None:
        """Continue from blocks that were accepted and written; `place` is the new network and tip."""
        self._stand_on(place)
        for step in steps:
            for block in step.blocks:
                del self.origins[block.block_id]

    def forget(self) -> None:
        """Drop the processing blocks. They would be lost in a restart too."""
        self._found = None
        self.origins.clear()

    def _known(self) -> tuple[DatabaseState, ProcessingBlocks]:
        if self._found is None:
            self.look()
        assert self._found is not None
        return self._found

    def _stand_on(self, place: tuple[StoredNetwork, Tip]) -> None:
        """Read the accepted state afresh from now on."""
        state = DatabaseState(self._chain.db, place)
        if self._found is None:
            self._found = state, ProcessingBlocks(state.tip, state)
        else:
            blocks = self._found[1]
            blocks.rebase(state)
            self._found = state, blocks
