"""Reads from one web machine and from two, while blocks are made: the processor time of the web processes."""

import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks import workloads_read as reads
from benchmarks.generator import closed_loop
from benchmarks.node import DATA_DIR
from benchmarks.production import PRODUCTION
from benchmarks.production_servers import MACHINES, WEB_MACHINES
from benchmarks.rpc import Client, NotMined, WrongAnswer
from benchmarks.scale import Scale
from benchmarks.scene import Scene
from benchmarks.server import Kind, processor_seconds_of
from benchmarks.signing import account, sign
from benchmarks.wire import Http
from benchmarks.workload import Bar, Measurement, Workload

PAUSE = 0.1
"""Seconds between two blocks."""
TRANSFERS = 2_000
"""Maximum number of transfers, one for each block."""
LEAST_BLOCKS = 0.5
"""Blocks for each transfer that must be made, because on a busy machine a block may have several."""
FOLLOWING_SECONDS = 4.0
"""Duration of the measurement without reads."""
PATIENCE = 120.0
"""Maximum seconds until both machines answer."""
_PRODUCTION = replace(
    PRODUCTION,
    command=lambda _port: [sys.executable, "-m", "benchmarks.production_servers", WEB_MACHINES],
)


class WebServer(NamedTuple):
    """The web server of a machine."""

    http: Http
    pid: int


def with_machines(_scale: Scale) -> Kind:
    """Return the production profile with two web machines."""
    return _PRODUCTION


def prepare(scene: Scene) -> None:
    """Prepare the reads, and wait for the machines."""
    scene.deploy()
    reads.prepare(scene)
    scene.fund([account("machines")])
    listed = Path(scene.server.environment[DATA_DIR]).parent / MACHINES
    deadline = time.perf_counter() + PATIENCE
    while not listed.exists():
        if time.perf_counter() > deadline:
            raise NotMined("the web machines do not answer")
        time.sleep(0.1)
    scene.facts["machines"] = [
        WebServer(Http(replace(scene.server.endpoint, host=host, port=port)), pid)
        for host, port, pid in json.loads(listed.read_text())
    ]


def _twice(scene: Scene) -> Measurement:
    machines: list[WebServer] = scene.facts["machines"]
    with _blocks(scene):
        following = _following(machines)
        one = _cost(scene, machines[:1], following)
        two = _cost(scene, machines, following)
    note = (
        f"{one * 1e6:.1f} µs for an answer on one machine, {two * 1e6:.1f} on two; "
        f"each machine also uses {following * 1e3:.0f} ms a second to follow the blocks"
    )
    return Measurement(len(machines) * one / two, note=note)


def _following(machines: Sequence[WebServer]) -> float:
    """Return the processor seconds that a machine uses each second to follow the blocks."""
    before = _used(machines)
    time.sleep(FOLLOWING_SECONDS)
    return (_used(machines) - before) / len(machines) / FOLLOWING_SECONDS


def _cost(scene: Scene, machines: Sequence[WebServer], following: float) -> float:
    """Return the processor seconds of an answer, all machines loaded together; following the blocks is subtracted."""
    bodies = reads.mixed(scene)
    began, before = time.perf_counter(), _used(machines)
    with ThreadPoolExecutor(len(machines)) as pool:
        speeds = list(
            pool.map(
                lambda machine: closed_loop(
                    machine.http, bodies, reads.CONNECTIONS, scene.scale.pace
                ),
                machines,
            )
        )
    lasted = time.perf_counter() - began
    used = _used(machines) - before - following * lasted * len(machines)
    if any(speed.failed for speed in speeds):
        raise WrongAnswer("answers were errors")
    return used / sum(speed.answers for speed in speeds)


def _used(machines: Sequence[WebServer]) -> float:
    return sum(processor_seconds_of(machine.pid) for machine in machines)


@contextmanager
def _blocks(scene: Scene) -> Iterator[None]:
    """Let another web process mine a transfer at intervals while the body runs, so that heads move.

    Raises:
        RpcFailed: A transfer was refused.
        NotMined: There are fewer blocks than half of the transfers.
    """
    who, over = account("machines"), threading.Event()
    before = scene.client.height()
    first = int(scene.client.call("eth_getTransactionCount", who.text, "latest"), 16)

    def send() -> int:
        with closing(Client(scene.http)) as client:
            for sent in range(TRANSFERS):
                if over.wait(PAUSE):
                    return sent
                raw = sign(who, first + sent, who.address, value=1)
                client.call("eth_sendRawTransaction", raw)
        return TRANSFERS

    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send)
        try:
            yield
        finally:
            over.set()
        transfers, blocks = sending.result(), scene.client.height() - before
    if not transfers or blocks < transfers * LEAST_BLOCKS:
        raise NotMined(f"{blocks} blocks were made of {transfers} transfers")


TWO_MACHINES = Workload(
    "web-machines",
    "mixed reads of two web machines ÷ of one, by processor time",
    "×",
    _twice,
    None,
    Bar(1.8),
)
