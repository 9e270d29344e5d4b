"""Check whether the node in this container is ready: exit code 0 or 1, for the image's HEALTHCHECK."""

import http.client
import os
import sys

SECONDS = 4.0
"""Shorter than the image's timeout, so that the error message is shown."""
PATH = "/ext/health/readiness"
ALL = ("", "*", "::", "0.0.0.0")  # noqa: S104  # nothing is bound here
"""Values of NODE_HTTP_HOST with which the node also listens on 127.0.0.1."""


def address() -> tuple[str, int]:
    """Return the address that the node of this container listens on, from its settings."""
    host = os.environ.get("NODE_HTTP_HOST", "127.0.0.1").strip().strip("[]")
    given = os.environ.get("NODE_HTTP_PORT", "").strip()
    port = int(given) if given.isdigit() else 9650  # Kubernetes may set a URL (service link)
    return ("127.0.0.1" if host in ALL else host), port


def main() -> int:
    """Query the node on this machine, and print its answer."""
    host, port = address()
    connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
    try:
        # An IP address as Host is always allowed (NODE_ALLOWED_HOSTS).
        connection.request("GET", PATH, headers={"Host": "127.0.0.1"})
        answer = connection.getresponse()
        sys.stdout.write(answer.read(65_536).decode(errors="replace"))
    except (OSError, http.client.HTTPException) as error:
        sys.stdout.write(f"the node does not answer: {error}")
        return 1
    finally:
        connection.close()
    return 0 if answer.status == http.client.OK else 1


if __name__ == "__main__":
    sys.exit(main())
