"""Which failures of the remote node are worth another try, and when (devnet.md 13)."""

from typing import Final

LIMIT_CODES: Final = frozenset({429, -32005})
"""Codes of JSON-RPC errors of who was asked too often."""

TOO_MANY: Final = 429
SERVER_FAULT: Final = 500
"""HTTP statuses from here on are the server's fault."""

_AGAIN: Final = ("rate limit", "header not found", "max retries exceeded", "too many requests")
_FORGOTTEN: Final = (
    "missing trie node", "historical state", "state is not available", "state not available",
    "state is pruned", "archive", "pruned",
)  # fmt: skip
_MOST_SECONDS: Final = 60.0


def is_status_worth_it(status: int) -> bool:
    """Say whether an HTTP status may be another one soon."""
    return status == TOO_MANY or status >= SERVER_FAULT


def is_error_worth_it(code: int, message: str) -> bool:
    """Say whether a JSON-RPC error may be gone soon."""
    words = message.lower()
    return code in LIMIT_CODES or any(one in words for one in _AGAIN)


def is_forgotten(message: str) -> bool:
    """Say whether an error's words mean that the state was there once, and an archive node has it."""
    words = message.lower()
    return any(one in words for one in _FORGOTTEN)


def seconds_until(retry_after: str | None, backoff: float) -> float:
    """Return how long to wait: what Retry-After says, in seconds, else the backoff.

    A date in that header counts as none, and more than a minute as one.
    """
    try:
        given = float(retry_after or "")
    except ValueError:
        return backoff
    return min(given, _MOST_SECONDS) if given >= 0 else backoff
