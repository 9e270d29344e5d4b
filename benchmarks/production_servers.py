"""`python -m benchmarks.production_servers`: the production profile's servers and processes, until SIGTERM.

With `--web-machines` two web servers run on machines of their own too (tests/servers/machines.py), and `MACHINES` in the
directory of the data directory lists them. tests/servers/node.py defines the processes; settings (`NODE_…`) come from the environment. PostgreSQL syncs each
commit to disk before it confirms it, as by its defaults and unlike in tests.
"""

import json
import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.node import DATA_DIR, run_command
from tests.servers.machines import Machines
from tests.servers.node import RunningNode
from tests.servers.postgresql import PostgresqlServer
from tests.servers.web_machines import WebMachine

WEB_MACHINES = "--web-machines"
MACHINES = "machines.json"

FILL = "BENCHMARK_FILL"
"""Environment variable: if it is set, the rows of the data directory's SQLite database are moved to PostgreSQL before the start."""


def main() -> None:
    """Start everything, wait for SIGTERM, and stop it."""
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(0))
    settings = {name: value for name, value in os.environ.items() if name.startswith("NODE_")}
    directory = Path(settings[DATA_DIR]).parent
    with ExitStack() as ending:
        machines = None
        redis_options: list[str] = []
        if WEB_MACHINES in sys.argv[1:]:
            machines = ending.enter_context(Machines(directory))
            redis_options = ["--bind", "127.0.0.1", *machines.gateways, "--protected-mode", "no"]
        postgresql = PostgresqlServer(
            durable=True, addresses=machines.gateways if machines is not None else ()
        )
        ending.callback(postgresql.stop)
        node = RunningNode(
            directory,
            postgresql=postgresql,
            env=settings,
            is_warm=False,
            prepared=FILL not in os.environ,
            redis_options=redis_options,
        )
        ending.enter_context(node)
        if FILL in os.environ:
            url = {"NODE_PROFILE": "production", "NODE_DATABASE_URL": node.database_url}
            run_command("transfer_state", **{**settings, **url})
        node.start()
        if machines is not None:
            _start_web(ending, node, machines, directory)
        signal.pause()


def _start_web(ending: ExitStack, node: RunningNode, machines: Machines, directory: Path) -> None:
    """Start the web machines, and write their addresses, ports and process IDs when they answer."""
    found = []
    for place, machine in enumerate(machines.all):
        # One process, whose processor time is that of the machine.
        web = WebMachine(node, machine, directory / f"web{place}", NODE_WEB_WORKERS="1")
        ending.callback(web.kill)
        web.start()
        assert web.process is not None
        found.append([machine.address, web.port, web.process.pid])
    whole = directory / f".{MACHINES}"
    whole.write_text(json.dumps(found))
    whole.rename(directory / MACHINES)


if __name__ == "__main__":
    main()
