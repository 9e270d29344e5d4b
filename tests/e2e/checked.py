"""A node whose traffic with clients is recorded, so that all its answers and all its blocks can be checked.

Answers of the P-Chain are not recorded, because its clients use the node's own port.
"""

from pathlib import Path
from typing import Any

from typing_extensions import override

from tests.conformance.transcript import Dialogue, Transcript
from tests.e2e.chain_rows import check_rows
from tests.e2e.platform_rows import check_platform_rows
from tests.e2e.replay import Replay
from tests.servers.node import RunningNode
from tests.servers.overheard import Overheard
from tests.servers.tap import Tap


class CheckedNode(RunningNode):
    """The node of a test. Clients use `url` and `ws_url`, which lead through a recording proxy.

    Whoever creates a checked node must call `check` at the end; the fixtures do this.
    """

    def __init__(self, directory: Path, **options: Any) -> None:
        super().__init__(directory, **options)
        self.transcript = Transcript()
        self._tap = Tap(self.port, lambda: Overheard(Dialogue(self.transcript)))
        self._replay = Replay(self._kept_genesis)

    @property
    @override
    def url(self) -> str:
        return f"http://127.0.0.1:{self._tap.port}/ext/bc/C/rpc"

    @property
    @override
    def ws_url(self) -> str:
        return f"ws://127.0.0.1:{self._tap.port}/ext/bc/C/ws"

    def check(self) -> None:
        """Check all answers and all blocks since the last call, and the state at the head.

        Raises:
            AssertionError: An answer, a block or the state is wrong; the message has the details.
        """
        self.transcript.check()
        self.check_chain()

    def check_chain(self) -> None:
        """Check the rows of both chains, and that the reference engine computes the same C-Chain blocks.

        Raises:
            AssertionError: A row is missing, superfluous, or not the result of the transactions.
        """
        with self.database() as ask:
            check_rows(ask)
            check_platform_rows(ask)
            self._replay.follow(ask)

    def _kept_genesis(self) -> bytes:
        """Return the genesis file that a local chain has saved, or empty bytes if it has saved no file."""
        kept = self.directory / "data" / "cchain_genesis.json"
        return kept.read_bytes() if kept.exists() else b""

    @override
    def close(self) -> None:
        super().close()
        self._tap.close()
