"""Response times of small requests while other clients send the heaviest permitted calls."""

import statistics
import time
from collections.abc import Callable
from contextlib import closing

from benchmarks.generator import loaded
from benchmarks.node import NODE
from benchmarks.rpc import Client, batch, body
from benchmarks.scale import Scale
from benchmarks.scene import Scene
from benchmarks.server import Kind
from benchmarks.wire import Pages
from benchmarks.workload import Bar, Better, Measurement, Workload

CONNECTIONS = 16
SECONDS = 5.0
"""Seconds of a run. The load generator's own runs are shorter, but the worst of many answers needs time."""
PATIENCE = 60.0
"""Seconds after which a server that never answers fails the row, as Ganache does."""
PAUSE = 0.002
"""Seconds between two requests of the measuring client."""

_GAS = hex(50_000_000)
_LOOP_OF_HASHES = "0x5b6210000060002050600056"
"""KECCAK256 over a megabyte, in an endless loop."""
_LOOP = "0x5b600056"
_OPERANDS = f"{2048:064x}{250:064x}{2048:064x}" + "ff" * (2048 + 250 + 2048)


def prepare(_scene: Scene) -> None:
    """Use the server as it is, because the calls include their code."""


def alone(_scale: Scale) -> Kind:
    """Return this node with its defaults; peers have no liveness page."""
    return NODE


def _heavy() -> list[bytes]:
    """Return the mix; each body would block a server that answers requests sequentially."""
    modexp = {"to": f"0x{5:040x}", "data": "0x" + _OPERANDS, "gas": _GAS}
    pairing = {"to": f"0x{8:040x}", "data": "0x" + "00" * (192 * 300), "gas": _GAS}
    rounds = {"to": f"0x{9:040x}", "data": f"0x{30_000_000:08x}" + "00" * 208 + "01", "gas": _GAS}
    hashes, loop = ({"data": code, "gas": _GAS} for code in (_LOOP_OF_HASHES, _LOOP))
    return [
        batch("eth_call", [[hashes, "latest"]] * 16),
        body("eth_call", hashes, "latest"),
        body("eth_call", modexp, "latest"),
        body("eth_call", pairing, "latest"),
        body("eth_call", rounds, "latest"),
        body("eth_estimateGas", loop),
        body("eth_call", loop, "latest"),
        body("eth_blockNumber"),
    ]


def _beside_heavy_calls(scene: Scene) -> Measurement:
    """Measure the slowest eth_blockNumber beside the mix."""
    with closing(Client(scene.http, patience=PATIENCE)) as client:
        return _beside(scene, lambda: client.call("eth_blockNumber"))


def _liveness_beside_heavy_calls(scene: Scene) -> Measurement:
    """Measure the slowest liveness probe beside the mix."""
    with closing(Client(Pages(scene.server.endpoint), patience=PATIENCE)) as client:
        return _beside(scene, lambda: client.ask_raw(b"/ext/health/liveness"))


def _beside(scene: Scene, ask: Callable[[], object]) -> Measurement:
    """Send requests repeatedly while the mix runs; the longest wait counts."""
    with loaded(scene.http, _heavy(), CONNECTIONS):
        times = _timed(ask)
    ordered = sorted(times)
    return Measurement(
        ordered[-1] * 1e3, statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
    )


def _timed(ask: Callable[[], object]) -> list[float]:
    times = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
        time.sleep(PAUSE)
    return times


BESIDE_HEAVY_CALLS = Workload(
    "beside-heavy-calls",
    "worst eth_blockNumber beside heavy calls, 16 connections",
    "ms",
    _beside_heavy_calls,
    None,
    Bar(100),
    Better.LESS,
)

LIVENESS_BESIDE_HEAVY_CALLS = Workload(
    "liveness-beside-heavy-calls",
    "worst liveness probe beside heavy calls, 16 connections",
    "ms",
    _liveness_beside_heavy_calls,
    None,
    Bar(100),
    Better.LESS,
)
