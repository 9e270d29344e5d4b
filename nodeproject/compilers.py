"""Run Solidity compilers for the node's other processes: `python -m nodeproject.compilers` (docs/verification.md).

This process needs neither the node's database nor its data directory, and reads only the settings NODE_SOLC_….
"""

import logging
import os
import signal
import sys
from pathlib import Path

from explorer_app.services.compiler_socket import CompilerServer
from explorer_app.services.compiling import CompilationLimits, NpmCompilers
from nodeproject.settings.given import NODE
from nodeproject.startup.log_format import RepeatFilter, json_formatter, text_formatter


def main() -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        SystemExit: NODE_SOLC_SOCKET is empty or unusable, or a signal arrived.
    """
    if not NODE.explorer.solc_socket:
        raise SystemExit(
            "NODE_SOLC_SOCKET is empty: it must name the socket on which the compilers answer"
        )
    _log_to_stderr()
    os.umask(0o077)
    directory = Path(NODE.explorer.solc_directory) if NODE.explorer.solc_directory else None
    compilers = NpmCompilers(
        directory, CompilationLimits(NODE.explorer.solc_seconds, NODE.explorer.solc_memory)
    )
    try:
        server = CompilerServer(Path(NODE.explorer.solc_socket), compilers)
    except OSError as error:
        raise SystemExit(
            f"NODE_SOLC_SOCKET cannot be used: {NODE.explorer.solc_socket}: {error}"
        ) from error
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit()
    )  # the first process of a container has no default handler
    signal.signal(signal.SIGINT, lambda *_: sys.exit())
    with server:
        server.serve_forever()


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(
        json_formatter() if NODE.log_format == "json" else text_formatter(NODE.color)
    )
    handler.addFilter(RepeatFilter())
    logging.basicConfig(handlers=[handler], level=NODE.logged_level)


if __name__ == "__main__":
    main()
