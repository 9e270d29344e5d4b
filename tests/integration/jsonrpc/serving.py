"""A real uvicorn server on loopback, with protocols provided by the test."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from tests.integration.patience import SECONDS

JSON = b"Host: localhost\r\nContent-Type: application/json\r\n"


@contextmanager
def serving(application: Any, protocol: type, **options: Any) -> Iterator[int]:
    """Serve an application in a thread of its own; yield the port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(
        application, http=protocol, loop="uvloop", lifespan="off", log_config=None,
        proxy_headers=False, access_log=False,
        **{"ws": "websockets-sansio", "timeout_keep_alive": int(SECONDS), **options},
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        listener.close()
        assert not thread.is_alive(), "a connection held up the server's end"
