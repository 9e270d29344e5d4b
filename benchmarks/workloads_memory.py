"""Memory of an idle server, and of one that has answered the other rows of its group."""

from benchmarks.scene import Scene
from benchmarks.workload import Bar, Better, Measurement, Workload

TIMES = 2.5
"""How many times as much as Anvil this node may use."""


def prepare(_scene: Scene) -> None:
    """Prepare nothing: the server is idle."""


def _memory(scene: Scene) -> Measurement:
    scene.server.await_rest()
    return Measurement(scene.server.memory() / 2**20)


IDLE = Workload(
    "memory-idle", "memory of an idle server", "MiB", _memory, None, Bar(100), Better.LESS
)
LOADED = Workload(
    "memory-loaded",
    "memory after the reads",
    "MiB",
    _memory,
    None,
    Bar(peers=("anvil",), times=1 / TIMES),
    Better.LESS,
)
