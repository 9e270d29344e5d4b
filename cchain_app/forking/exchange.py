"""One question over HTTP to the remote node of a fork, over connections that are kept."""

import time
from collections.abc import Mapping
from typing import Final, NamedTuple

import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError, TimeoutError

from cchain_app.forking.errors import Unanswered

MOST_BYTES: Final = 128 * 1024 * 1024
"""Of one answer: a trace of a large block is far below."""

_CHUNK: Final = 1024 * 1024


class Answer(NamedTuple):
    """What came back."""

    status: int
    retry_after: str | None
    """What stands in the header of that name."""
    content: bytes


class Exchange:
    """Asks servers, from any thread.

    Args:
        servers: How many there are.
        connections: So many are kept to each of them.
    """

    def __init__(self, *, servers: int, connections: int) -> None:
        self._pool = urllib3.PoolManager(num_pools=servers, maxsize=connections, block=False)

    def post(self, url: str, headers: Mapping[str, str], body: bytes, deadline: float) -> Answer:
        """Send a body and return the answer to it.

        Args:
            url: Where to.
            headers: What is sent with it.
            body: The question.
            deadline: When the answer must be there, by the monotonic clock in seconds.

        Raises:
            Unanswered: It did not come, not in time, or is too large.
        """
        try:
            answer = self._pool.request(
                "POST",
                url,
                body=body,
                headers=headers,
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(total=max(0.1, deadline - time.monotonic())),
                preload_content=False,
            )
            try:
                content = _content(answer, deadline)
            finally:
                answer.release_conn()
        except (HTTPError, OSError) as error:
            late = isinstance(error, TimeoutError) and not isinstance(error, NewConnectionError)
            raise Unanswered(late=late) from None  # its own words have the whole URL
        return Answer(answer.status, answer.headers.get("Retry-After"), content)


def _content(answer: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
    """Read an answer, which is neither too large nor comes too slowly.

    Raises:
        HTTPError: It is.
    """
    parts, size = [], 0
    while part := answer.read1(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise HTTPError
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)
