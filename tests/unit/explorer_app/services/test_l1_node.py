"""Whether a chain has ended: only a node that says so, or does not run, has ended it."""

from typing import Any

import pytest

from explorer_app.managers.ports import CallRefused, NodeStopped
from explorer_app.services.l1_node import has_ended
from primitives.ids import ID

CHAIN = ID(b"\x07" * 32)


def ended(answer: Exception | str) -> bool:
    """Return the result with a node that gives an answer."""

    def call(path: str, method: str, *params: object) -> Any:
        assert (path, method) == ("/ext/bc/P", "platform.getBlockchainStatus")
        assert params == ({"blockchainID": str(CHAIN)},)
        if isinstance(answer, Exception):
            raise answer
        return {"status": answer}

    return has_ended(call, CHAIN)


@pytest.mark.parametrize("status", ["Created", "Unknown"])
def test_a_chain_that_the_node_does_not_run_has_ended(status: str) -> None:
    assert ended(status)


@pytest.mark.parametrize("status", ["Validating", "Syncing"])
def test_a_chain_that_the_node_runs_has_not(status: str) -> None:
    assert not ended(status)


def test_a_node_that_does_not_run_runs_no_chain() -> None:
    assert ended(NodeStopped("no answer to platform.getBlockchainStatus: Connection refused"))


@pytest.mark.parametrize(
    "reason",
    [
        "no answer to platform.getBlockchainStatus: HTTP Error 503: Service Unavailable",
        "no answer to platform.getBlockchainStatus: HTTP Error 401: Unauthorized",
        "no answer to platform.getBlockchainStatus: timed out",
        "platform.getBlockchainStatus: the node is starting (-32000)",
    ],
)
def test_a_node_that_does_not_answer_may_run_the_chain(reason: str) -> None:
    assert not ended(CallRefused(reason))
