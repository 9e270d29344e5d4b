"""Daphne's WebSocket protocol with the close codes and reasons that an application gives.

Daphne closes by a call that is meant for clients: it refuses the codes of servers (1007 to 1013)
with an exception, and the connection stays open; a reason it drops.
"""

from typing import Any

from daphne.ws_protocol import WebSocketProtocol
from typing_extensions import override


class ClosingProtocol(WebSocketProtocol):  # type: ignore[misc]  # daphne has no types
    """Closes with what a `websocket.close` message says."""

    @override
    def handle_reply(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.close" and self.state == self.STATE_OPEN:
            reason = message.get("reason") or ""
            self.sendCloseFrame(code=message.get("code") or 1000, reasonUtf8=reason.encode())
            return
        super().handle_reply(message)
