"""Calls of 10 M gas: arithmetic, hashing, and a mix, over one connection and over four."""

from collections.abc import Callable

from benchmarks.scene import Scene
from benchmarks.workload import Measurement, Workload
from benchmarks.workloads_read import ANVIL, burn

AT_ONCE = 4

_CALLS = {
    "arithmetic": ("Burner", "0x44df8e70"),
    "hashing": ("Loops", "0x"),
    "mixed": ("Loops", "0x01"),
}
"""The contract of each kind of call, and the data."""


def _row(kind: str, connections: int) -> Workload:
    contract, data = _CALLS[kind]

    def measure(scene: Scene) -> Measurement:
        call = {"to": "0x" + scene.contract(contract).hex(), "data": data}
        return burn(scene, call, connections=connections)

    title = f"eth_call of 10 M gas, {kind}, {connections}"
    row: Callable[[Scene], Measurement] = measure
    return Workload(f"long-call-{kind}-{connections}", title, "Mgas/s", row, None, ANVIL)


LONG_CALLS = (_row("hashing", 1), *(_row(kind, AT_ONCE) for kind in _CALLS))
