"""Whether the node in this container is ready: exit code 0 if it says so, else 1. For the image's HEALTHCHECK."""

import http.client
import os
import sys

SECONDS = 4.0
"""Less than the image's time-out: the words are seen then."""
PATH = "/ext/health/readiness"


def main() -> int:
    """Ask the node on this machine, and say what it answers."""
    given = os.environ.get("NODE_HTTP_PORT", "").strip()
    port = int(given) if given.isdigit() else 9650  # a service link is not a port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", PATH)
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
