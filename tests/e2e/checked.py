"""A node whose clients are overheard: all it answers and all blocks that it makes are checked.

What the P-Chain answers is not overheard: its clients are given the node's own port.
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
    """The node of a test. `url` and `ws_url`, which clients are given, lead through a tap.

    Who makes one calls `check` in the end (the fixtures do): it is what no test may forget.
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
        """Check all answers and all blocks since the last time, and the state at the head.

        Raises:
            AssertionError: Something is not as it should be; the message says what.
        """
        self.transcript.check()
        self.check_chain()

    def check_chain(self) -> None:
        """Check both chains' rows, and that the reference engine makes every C-Chain block the same.

        Raises:
            AssertionError: A row is missing, too many, or not what the transactions make.
        """
        with self.database() as ask:
            check_rows(ask)
            check_platform_rows(ask)
            self._replay.follow(ask)

    def _kept_genesis(self) -> bytes:
        """Return the genesis file that a local chain has kept; empty where there is none."""
        kept = self.directory / "data" / "cchain_genesis.json"
        return kept.read_bytes() if kept.exists() else b""

    @override
    def close(self) -> None:
        super().close()
        self._tap.close()
