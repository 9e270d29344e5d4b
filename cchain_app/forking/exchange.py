"""A single HTTP request to the remote node of a fork, over persistent connections."""

import time
from collections.abc import Mapping
from typing import Final, NamedTuple

import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError, TimeoutError

from cchain_app.forking.errors import Unanswered

_CHUNK: Final = 1024 * 1024


class UpstreamResponse(NamedTuple):
    """The response to a request."""

    status: int
    retry_after: str | None
    """Value of the Retry-After header."""
    content: bytes | None
    """None: the body is longer than the caller allows."""


class UpstreamExchange:
    """Sends requests to servers, from any thread.

    Args:
        servers: Number of servers.
        connections: Number of connections that are kept open to each server.
    """

    def __init__(self, *, servers: int, connections: int) -> None:
        self._pool = urllib3.PoolManager(num_pools=servers, maxsize=connections, block=False)

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, deadline: float, most: int
    ) -> UpstreamResponse:
        """Send a body and return the response.

        Args:
            url: URL of the request.
            headers: Headers of the request.
            body: Body of the request.
            deadline: When the response must be complete, on the monotonic clock in seconds.
            most: Maximum size of the response in bytes.

        Raises:
            Unanswered: There was no response, or not in time.
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
                # The request accepts no encoding, and a small compressed body can expand to any size.
                decode_content=False,
            )
            content = None
            try:
                content = _content(answer, deadline, most)
            finally:
                if content is None:
                    answer.close()  # the rest of the answer is not read
                answer.release_conn()
        except (HTTPError, OSError) as error:
            late = isinstance(error, TimeoutError) and not isinstance(error, NewConnectionError)
            raise Unanswered(late=late) from None  # its message contains the whole URL
        return UpstreamResponse(answer.status, answer.headers.get("Retry-After"), content)


def _content(answer: urllib3.BaseHTTPResponse, deadline: float, most: int) -> bytes | None:
    """Return the body of a response, or None if it is longer than `most`.

    Raises:
        TimeoutError: The body is not complete before the deadline.
    """
    parts, size = [], 0
    while part := answer.read1(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > most:
            return None
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)
