"""A node with both chains, and callers of its info API."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from nodeproject.apps import this_node
from tests.integration.platform_app.conftest import (
    PChain,
    Rpc,
    asking,
    nothing_remembered,
    pchain,
    refusal,
)

__all__ = ["nothing_remembered", "pchain", "refusal"]

AskBare = Callable[[str], Any]
"""A function of a method; calls it without a `params` member, as several SDKs do."""


@pytest.fixture
def rpc(pchain: PChain) -> Rpc:
    """Call a method of `info.*`."""
    return asking(this_node().endpoints.info.dispatcher)


@pytest.fixture
def bare(pchain: PChain) -> AskBare:
    """Call a method of `info.*` without params; return the whole response."""

    def ask(method: str) -> Any:
        answer = this_node().endpoints.info.dispatcher.answer(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode()
        )
        assert answer is not None
        return json.loads(answer)

    return ask
