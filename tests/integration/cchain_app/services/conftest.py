"""The transaction log of a chain, written on demand."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cchain_app.services.transaction_log import TransactionLog
from nodeproject.apps import this_node
from tests.builders import bytecode
from tests.integration.cchain_app.services.transaction_logs import entries


@pytest.fixture
def log(chain: Any, caplog: pytest.LogCaptureFixture) -> Iterator[TransactionLog]:
    """The log of the chain's process, with three contracts; it writes only on demand."""
    for code in (bytecode.TELLER, bytecode.TELLING_REVERTER, bytecode.PROXY):
        chain.do(to=None, data=bytecode.deploy_code(code), gas=500_000, value=0)
    made = this_node().transaction_logs["C"]
    made.begin(in_thread=False)
    yield made
    made.end()


@pytest.fixture
def lines(log: TransactionLog, caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return a function that flushes the log and returns all entries written so far."""

    def written() -> list[str]:
        log.work_off()
        return entries(caplog)

    return written
