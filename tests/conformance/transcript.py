"""The answers of a node to its clients, compared to the schemas of `openrpc`."""

import contextlib
import json
import threading
from collections.abc import Callable
from typing import Any

from tests.conformance.openrpc import (
    DoesNotConform,
    assert_conforms,
    assert_notification_conforms,
)

_ERROR = {"code": int, "message": str}


class Transcript:
    """All unchecked answers of one node. Any thread may add answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heard: list[Callable[[], None]] = []
        self.count = 0
        """The number of answers and notifications so far."""

    def hear(self, check: Callable[[], None]) -> None:
        """Add an answer in the form of its check."""
        with self._lock:
            self._heard.append(check)
            self.count += 1

    def check(self) -> None:
        """Check all answers added since the last call.

        Raises:
            DoesNotConform: Answers have another format; the message lists all of them.
        """
        with self._lock:
            heard, self._heard = self._heard, []
        faults = []
        for check in heard:
            try:
                check()
            except DoesNotConform as fault:
                faults.append(str(fault))
        if faults:
            raise DoesNotConform("\n".join(faults))


class Dialogue:
    """A connection that maps answers to their methods, and subscriptions to their kinds."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._calls: dict[str, tuple[str, Any]] = {}
        self._subscriptions: dict[str, str] = {}

    def asked(self, body: bytes) -> None:
        """Record a sent request or batch; an invalid one gets an error and no result."""
        with contextlib.suppress(ValueError):
            for call in _messages(body):
                if isinstance(call, dict) and isinstance(call.get("method"), str):
                    self._calls[json.dumps(call.get("id"))] = (call["method"], call.get("params"))

    def answered(self, body: bytes) -> None:
        """Add a received answer, batch of answers, or notification."""
        for message in _messages(body):
            if message.get("method") == "eth_subscription":
                self._notified(message["params"])
            else:
                self._answered(message)

    def lost(self, error: BaseException) -> None:
        """Record that the rest could not be parsed, which is a failure."""
        self._transcript.hear(lambda: _refuse(f"not understood: {error!r}"))

    def _notified(self, params: dict[str, Any]) -> None:
        kind = self._subscriptions.get(params["subscription"], "")
        self._transcript.hear(lambda: assert_notification_conforms(kind, params["result"]))

    def _answered(self, message: dict[str, Any]) -> None:
        method, params = self._calls.pop(json.dumps(message.get("id")), ("", None))
        if method == "eth_subscribe" and "result" in message:
            self._subscriptions[message["result"]] = params[0]
        self._transcript.hear(lambda: _check(method, message))


def _check(method: str, message: dict[str, Any]) -> None:
    """Check an answer including its envelope; `method` is empty if no request has its ID."""
    outcome = {"error"} if "error" in message else {"result"}
    if message.keys() != {"jsonrpc", "id"} | outcome or message["jsonrpc"] != "2.0":
        raise DoesNotConform(f"{method}: no answer of JSON-RPC 2.0: {str(message)[:600]}")
    if "error" in message:
        _check_error(method, message["error"])
    elif not method:
        raise DoesNotConform(f"a result that nobody asked for: {str(message)[:600]}")
    else:
        assert_conforms(method, message["result"])


def _check_error(method: str, error: Any) -> None:
    fits = (
        isinstance(error, dict)
        and _ERROR.keys() <= error.keys() <= _ERROR.keys() | {"data"}
        and all(type(error[name]) is kind for name, kind in _ERROR.items())
    )
    if not fits:
        raise DoesNotConform(f"{method}: no error of JSON-RPC 2.0: {str(error)[:600]}")


def _messages(body: bytes) -> list[Any]:
    """Return the messages in a body: a single message or an array."""
    message = json.loads(body)
    return message if isinstance(message, list) else [message]


def _refuse(reason: str) -> None:
    raise DoesNotConform(reason)
