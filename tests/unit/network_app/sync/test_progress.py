"""The recorded progress of a chain, including after a short database outage."""

from collections.abc import Callable
from typing import Any

import pytest

from network_app.ports import SyncState
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.progress import BootstrapProgress, ProgressRecorder
from tests.builders.memory_chain import MemoryChain


async def at_once(work: Callable[..., Any], *args: object) -> Any:
    return work(*args)


class FailingRecords:
    """Records whose writes fail while the test says so."""

    def __init__(self) -> None:
        self.fails = False
        self.written: list[tuple[str, SyncState]] = []

    def sync(self, alias: str, state: SyncState) -> None:
        if self.fails:
            raise OSError("the database is away")
        self.written.append((alias, state))

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


async def test_failed_write_is_repeated_at_the_next_check() -> None:
    records = FailingRecords()
    chain = MemoryChain()
    last_accepted = LastAccepted(chain, at_once)
    way = BootstrapProgress(last_accepted)
    reporter = ProgressRecorder([way], records, at_once, now=lambda: 0.0, clock=lambda: 5.0)
    await reporter.report(way)
    records.fails = last_accepted.following = True
    with pytest.raises(OSError, match="the database is away"):
        await reporter.report(way)
    records.fails = False
    await reporter.report(way)
    await reporter.report(way)
    assert [state.bootstrapped for _, state in records.written] == [False, True]
