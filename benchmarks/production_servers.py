"""`python -m benchmarks.production_servers`: the production profile's servers and processes, until SIGTERM.

tests/servers/node.py defines them; settings (`NODE_…`) come from the environment. PostgreSQL syncs each
commit to disk before it confirms it, as by its defaults and unlike in tests.
"""

import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.node import DATA_DIR
from tests.servers.node import RunningNode
from tests.servers.postgresql import PostgresqlServer


def main() -> None:
    """Start everything, wait for SIGTERM, and stop it."""
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(0))
    settings = {name: value for name, value in os.environ.items() if name.startswith("NODE_")}
    with ExitStack() as ending:
        postgresql = PostgresqlServer(durable=True)
        ending.callback(postgresql.stop)
        directory = Path(settings[DATA_DIR]).parent
        node = RunningNode(directory, postgresql=postgresql, env=settings, is_warm=False)
        ending.enter_context(node)
        node.start()
        signal.pause()


if __name__ == "__main__":
    main()
