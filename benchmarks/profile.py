"""`python -m benchmarks.profile WORKLOAD`: one workload on this node under py-spy, functions by share.

py-spy is not a dependency of the project: install it (`pip install py-spy`) and have it on the PATH.
"""

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.groups import GROUPS, WORKLOADS
from benchmarks.node import NODE
from benchmarks.scale import FULL, QUICK
from benchmarks.server import running


def main() -> int:
    """Prepare the workload, profile while it runs, print the shares."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("workload", choices=list(WORKLOADS))
    parser.add_argument("--quick", action="store_true", help="measure for a shorter time")
    parser.add_argument(
        "--native",
        action="store_true",
        help="all threads and native code; default: only the thread that holds the interpreter lock",
    )
    parser.add_argument("--lines", type=int, default=40, help="functions in each list")
    options = parser.parse_args()
    profiler = shutil.which("py-spy")
    if profiler is None:
        print("py-spy is not on the PATH", file=sys.stderr)
        return 1
    workload = WORKLOADS[options.workload]
    group = next(group for group in GROUPS if workload in group.workloads)
    scale = QUICK if options.quick else FULL
    kind = group.alone(scale) if group.alone else NODE
    with (
        running(kind) as server,
        tempfile.TemporaryDirectory() as directory,
        group.set_up(server, scale) as scene,
    ):
        stacks = Path(directory) / "stacks"
        command = [
            profiler,
            "record",
            "-p",
            str(server.process.pid),
            "-F",
            "-r",
            "500",
            "-f",
            "raw",
        ]
        extra = ["--native"] if options.native else ["--gil"]
        watcher = subprocess.Popen(
            [*command, *extra, "-o", str(stacks)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(1.0)
        before, started = server.processor_seconds(), time.perf_counter()
        cell = workload.measure(scene)
        seconds = time.perf_counter() - started
        busy = server.processor_seconds() - before
        watcher.send_signal(signal.SIGINT)
        watcher.wait(60)
        samples = stacks.read_text().splitlines()
    print(f"{workload.title}: {cell.value:,.2f} {workload.unit} {cell.note}")
    print(f"The node used {busy:.1f} s of processor in {seconds:.1f} s")
    _print_shares(samples, options.lines)
    return 0


def _print_shares(samples: Iterable[str], lines: int) -> None:
    alone: Counter[str] = Counter()
    with_callees: Counter[str] = Counter()
    for sample in samples:
        stack, _, count = sample.rpartition(" ")
        frames = stack.split(";")
        alone[frames[-1]] += int(count)
        for frame in set(frames):
            with_callees[frame] += int(count)
    total = alone.total()
    for title, counter in (("Itself", alone), ("With what it calls", with_callees)):
        print(f"\n{title} ({total} samples)")
        for frame, seen in counter.most_common(lines):
            print(f"{seen / total:7.1%}  {frame}")


if __name__ == "__main__":
    sys.exit(main())
