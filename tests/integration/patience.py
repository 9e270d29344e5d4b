"""Waiting for events, for as long as a slow and noisy machine may need."""

import asyncio
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from typing_extensions import override

from chaindb import events

SECONDS = 60.0
"""An event that has not happened by then will not happen."""


class PatientCommunicator(WebsocketCommunicator):
    """A WebSocket client with long timeouts; Channels' own gives up after a second."""

    @override
    async def receive_output(self, timeout: float = SECONDS) -> Any:
        return await super().receive_output(max(timeout, SECONDS))

    @override
    async def wait(self, timeout: float = SECONDS) -> None:
        await super().wait(max(timeout, SECONDS))


def groups_joined(patch: pytest.MonkeyPatch) -> asyncio.Event:
    """Return an event that is set once the channel layer delivers chain events: earlier ones are lost."""
    joined = asyncio.Event()
    join = events._join

    async def join_and_tell(*arguments: Any) -> None:
        await join(*arguments)
        joined.set()

    patch.setattr(events, "_join", join_and_tell)
    return joined
