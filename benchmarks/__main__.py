"""`python -m benchmarks`: measures this node and its peers in one run and prints the table."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import peers
from benchmarks.exchanges import Stalled
from benchmarks.generator import GeneratorFailed, program
from benchmarks.groups import GROUPS, WORKLOADS
from benchmarks.machine import allow_many_sockets, description
from benchmarks.node import NODE
from benchmarks.production import PRODUCTION, ServersMissing
from benchmarks.report import KINDS, Results, markdown, number, print_table, put_between
from benchmarks.rpc import NotMined, RpcFailed, WrongAnswer
from benchmarks.scale import FULL, QUICK, Scale
from benchmarks.scene import Scene
from benchmarks.server import StartFailed, running
from benchmarks.wire import Refused
from benchmarks.workload import Group, Workload

FAILURES = (
    GeneratorFailed,
    LookupError,
    NotMined,
    OSError,
    Refused,
    RpcFailed,
    Stalled,
    StartFailed,
    TypeError,
    WrongAnswer,
)
"""Exceptions that leave a cell empty, with the reason below the table; the run continues. Python's own are raised by reading
an answer that has another shape than the row expects."""

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def main() -> int:
    """Run the benchmarks that the command line selects."""
    options = _parse()
    allow_many_sockets()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(1))  # ends the servers too
    servers = [
        *options.peers,
        *([] if options.without_node else [NODE.name]),
        *([PRODUCTION.name] if options.production else []),
    ]
    try:
        program()
        if options.peers:
            peers.install()
        machine = description(options.peers, production=options.production)
    except (GeneratorFailed, peers.PeersMissing, ServersMissing) as error:
        print(error, file=sys.stderr)
        return 1
    results = Results(servers)
    scale = QUICK if options.quick else FULL
    for group in GROUPS:
        wanted = [each for each in group.workloads if each.name in options.only]
        for server in servers if wanted else []:
            if server in group.left_out or (group.alone and server != NODE.name):
                continue
            _measure(results, server, group, wanted, scale)
    print_table(results, machine)
    if options.markdown:
        put_between(options.markdown, markdown(results, machine), BEGIN, END)
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=list(WORKLOADS),
        default=list(WORKLOADS),
        metavar="NAME",
        help=f"workloads to run: {', '.join(WORKLOADS)}",
    )
    parser.add_argument(
        "--peers",
        type=_peers,
        default=list(peers.PEERS),
        help="comma-separated, of anvil, hardhat, ganache; or none (default: all)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="measure a tenth of the work, for a quick impression"
    )
    parser.add_argument("--without-node", action="store_true", help="measure the peers only")
    parser.add_argument(
        "--production", action="store_true", help="measure the production profile too"
    )
    parser.add_argument(
        "--markdown",
        type=Path,
        help=f"put the table into this file, between {BEGIN} and {END}",
    )
    return parser.parse_args()


def _peers(text: str) -> list[str]:
    names = [] if text == "none" else text.split(",")
    for name in names:
        if name not in peers.PEERS:
            raise argparse.ArgumentTypeError(f"no peer is called {name!r}")
    return names


def _measure(
    results: Results, server: str, group: Group, wanted: Sequence[Workload], scale: Scale
) -> None:
    """Start and prepare a server and measure some of its rows; failures become notes."""
    try:
        kind = group.alone(scale) if group.alone else group.kinds.get(server, KINDS[server])
        with running(kind) as started, group.set_up(started, scale) as scene:
            for workload in wanted:
                started.await_rest()
                _take(results, server, workload, scene)
    except FAILURES as error:
        for workload in wanted:
            if (server, workload.name) not in results.cells:
                results.failures.setdefault((server, workload.name), _reason(error))
        _say(f"{server}: {group.name} could not be prepared: {error}")


def _take(results: Results, server: str, workload: Workload, scene: Scene) -> None:
    try:
        cell = workload.measure(scene)
    except FAILURES as error:
        results.failures[server, workload.name] = _reason(error)
        _say(f"{server}: {workload.title}: failed: {error}")
        return
    results.cells[server, workload.name] = cell
    _say(f"{server}: {workload.title}: {number(cell.value)} {workload.unit} {cell.note}")


def _reason(error: Exception) -> str:
    first = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {first[:200]}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
