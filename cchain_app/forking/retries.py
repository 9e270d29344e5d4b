"""Which failures of the remote node are worth a retry, and when (devnet.md 13)."""

from typing import Final

LIMIT_CODES: Final = frozenset({429, -32005})
"""Codes of JSON-RPC errors for too many requests."""

TOO_MANY: Final = 429
SERVER_FAULT: Final = 500
"""Lowest HTTP status for a fault of the server."""

_AGAIN: Final = ("rate limit", "header not found", "max retries exceeded", "too many requests")
_FORGOTTEN: Final = (
    "missing trie node", "historical state", "state is not available", "state not available",
    "state is pruned", "archive", "pruned",
)  # fmt: skip
_MAX_SECONDS: Final = 60.0


def is_status_worth_it(status: int) -> bool:
    """Return whether a retry may give another HTTP status."""
    return status == TOO_MANY or status >= SERVER_FAULT


def is_error_worth_it(code: int, message: str) -> bool:
    """Return whether a retry may succeed after a JSON-RPC error."""
    words = message.lower()
    return code in LIMIT_CODES or any(item in words for item in _AGAIN)


def is_forgotten(message: str) -> bool:
    """Return whether an error message means that the state was pruned, so that an archive node has it."""
    words = message.lower()
    return any(item in words for item in _FORGOTTEN)


def seconds_until(retry_after: str | None, backoff: float) -> float:
    """Return the seconds to wait: the number in Retry-After, else the backoff.

    A date in that header is ignored, and more than a minute counts as one minute.
    """
    try:
        given = float(retry_after or "")
    except ValueError:
        return backoff
    return min(given, _MAX_SECONDS) if given >= 0 else backoff
