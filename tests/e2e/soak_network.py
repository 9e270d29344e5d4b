"""Runs with faults, one after the other, each on a new network of five voting nodes: `make soak-network`.

Each run takes minutes, so `make test` has only one short run (`test_network_voting`).
"""

import argparse
import logging
import shutil
import tempfile
import time
from pathlib import Path

from tests.e2e.faults import Outcome, faulty_run, is_ready
from tests.e2e.network import LocalNetwork, wait_for

RUNS = 50

_log = logging.getLogger(__name__)


def main() -> None:
    """Run all seeds; stop at the first failure and keep its data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first one's seed")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    began = time.monotonic()
    seeds = range(arguments.first, arguments.first + arguments.runs)
    for seed in seeds:
        outcome = run(seed)
        p, x, c = outcome.heights
        print(
            f"seed {seed}: no fork, all rows equal; P-Chain at {p}, X-Chain at {x}, C-Chain at {c},"
            f" {outcome.transactions} transactions, {outcome.seconds:.0f} s",
            flush=True,
        )
    print(f"{len(seeds)} runs in {time.monotonic() - began:.0f} s: no fork, all rows equal")


def run(seed: int) -> Outcome:
    """Run one seed on its own network, and delete the data if nothing was wrong."""
    directory = Path(tempfile.mkdtemp(prefix=f"soak-{seed}-"))
    _log.info("seed %d: data in %s", seed, directory)
    env = {"NODE_CONSENSUS": "snowman"}
    with LocalNetwork(directory, 5, votes=True, env=env) as network:
        network.start()
        wait_for(lambda: all(map(is_ready, network.nodes)), "all are ready")
        outcome = faulty_run(network, seed)
    shutil.rmtree(directory)
    return outcome


if __name__ == "__main__":
    main()
