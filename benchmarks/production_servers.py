"""`python -m benchmarks.production_servers`: the production profile's servers and processes, until SIGTERM.

tests/servers/node.py defines them; settings (`NODE_…`) come from the environment. PostgreSQL syncs each
commit to disk before it confirms it, as by its defaults and unlike in tests.
"""

import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.node import DATA_DIR, run_command
from tests.servers.node import RunningNode
from tests.servers.postgresql import PostgresqlServer

FILL = "BENCHMARK_FILL"
"""Environment variable: if it is set, the rows of the data directory's SQLite database are moved to PostgreSQL before the start."""


def main() -> None:
    """Start everything, wait for SIGTERM, and stop it."""
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(0))
    settings = {name: value for name, value in os.environ.items() if name.startswith("NODE_")}
    with ExitStack() as ending:
        postgresql = PostgresqlServer(durable=True)
        ending.callback(postgresql.stop)
        directory = Path(settings[DATA_DIR]).parent
        node = RunningNode(
            directory,
            postgresql=postgresql,
            env=settings,
            is_warm=False,
            prepared=FILL not in os.environ,
        )
        ending.enter_context(node)
        if FILL in os.environ:
            url = {"NODE_PROFILE": "production", "NODE_DATABASE_URL": node.database_url}
            run_command("transfer_state", **{**settings, **url})
        node.start()
        signal.pause()


if __name__ == "__main__":
    main()
