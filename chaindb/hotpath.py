"""What may run on the event loop and what may not."""

import asyncio


class WouldBlock(Exception):
    """A read that was tried on the event loop needs the database or a long time: use a thread."""


def on_event_loop() -> bool:
    """Return whether this code runs inside an event loop's thread, where nothing may block."""
    return asyncio._get_running_loop() is not None  # noqa: SLF001  # the call without its exception
