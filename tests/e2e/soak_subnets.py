"""Many chains of subnets on one node under load, and kills at random: `make soak-subnets`.

Prints how much memory and processor time the idle node takes for each chain, before the load.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from tests.e2e.subnets import SubnetLoad
from tests.servers.node import RunningNode

CHAINS, KILLS = 50, 20
IDLE_SECONDS = 30.0
SETTLING_SECONDS = 15.0
"""Seconds after a start until caches are filled and modules compiled."""


def main() -> None:
    """Load the chains; keep the data of a run that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", type=int, default=CHAINS, help="how many")
    parser.add_argument("--kills", type=int, default=KILLS, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the kills and transactions")
    parser.add_argument("--idle", type=float, default=IDLE_SECONDS, help="seconds to measure")
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="soak-subnets-"))
    print(f"data in {directory}", flush=True)
    began = time.monotonic()
    with RunningNode(directory / "node") as node:
        node.start()
        load = SubnetLoad(node, given.seed)
        load.create(1)
        node.restart()
        one = idle(node, given.idle)
        load.create(given.chains - 1)
        node.restart()
        memory, busy = (
            (after - before) / (given.chains - 1)
            for before, after in zip(one, idle(node, given.idle), strict=True)
        )
        print(
            f"{memory / 2**20:.1f} MiB and {busy:.2%} of a processor for each of {given.chains} idle chains beyond "
            f"the first, with which the node has {one[0] / 2**20:.0f} MiB and takes {one[1]:.2%}",
            flush=True,
        )
        load.kill_at_random(given.kills)
        load.check()
    shutil.rmtree(directory)
    print(
        f"{load.total} transactions on {given.chains} chains, {given.kills} kills, nothing lost, metrics right, "
        f"{time.monotonic() - began:.0f} s"
    )


def idle(node: RunningNode, seconds: float) -> tuple[float, float]:
    """Return the memory of an idle node in bytes, and its share of a processor."""
    time.sleep(SETTLING_SECONDS)
    before = _processor_seconds(node.pid)
    time.sleep(seconds)
    return _memory(node.pid), (_processor_seconds(node.pid) - before) / seconds


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process from /proc, in which the fields after its name are separated by spaces."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _memory(pid: int) -> int:
    """Return the memory that a process has to itself, in bytes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Private_"))


if __name__ == "__main__":
    main()
