"""Storage reads: calls that read a thousand slots each, and single slots."""

from dataclasses import replace
from typing import Any

from benchmarks.contracts import call_data
from benchmarks.node import NODE
from benchmarks.rpc import body
from benchmarks.scale import Scale
from benchmarks.scene import Scene
from benchmarks.server import Kind
from benchmarks.workload import AS_EMBEDDED, Bar, Measurement, Workload
from benchmarks.workloads_read import ANVIL, CONNECTIONS, repeat

READ = 1_000
"""Slots that one call reads."""
FILLED = 1_100
"""Filled slots; each has its number plus one."""
FILLED_AT_ONCE = 550
"""Slots that one transaction fills, for twelve million gas."""
STEP = 10
"""Slots between the first ones of two calls, so that the calls differ."""
AT_ONCE = 4


def _filled(scene: Scene) -> str:
    """Return the address of the contract, whose slots are filled once."""
    contract = scene.contract("Slots")
    if "slots" not in scene.facts:
        for first in range(0, FILLED, FILLED_AT_ONCE):
            data = call_data("fill(uint256,uint256)", first, first + FILLED_AT_ONCE)
            scene.from_funder(contract, data=data)
        scene.facts["slots"] = "0x" + contract.hex()
    found: str = scene.facts["slots"]
    return found


def alone(_scale: Scale) -> Kind:
    """Return this node with its defaults, without peers beside it."""
    return NODE


def prepare(scene: Scene) -> None:
    """Deploy the contracts."""
    scene.deploy()


def _sums(scene: Scene, connections: int) -> Measurement:
    """Measure calls that sum `READ` slots, each starting at another slot."""
    contract = _filled(scene)
    bodies, expected = [], set()
    for first in range(0, FILLED - READ, STEP):
        data = "0x" + call_data("sum(uint256,uint256)", first, first + READ).hex()
        bodies.append(body("eth_call", {"to": contract, "data": data}, "latest"))
        expected.add(sum(range(first + 1, first + READ + 1)))
    return repeat(
        scene, bodies, lambda result: int(result, 16) in expected, connections=connections
    )


def _sum(scene: Scene) -> Measurement:
    return _sums(scene, 1)


def _sums_at_once(scene: Scene) -> Measurement:
    return _sums(scene, AT_ONCE)


def _times_one_connection(scene: Scene) -> Measurement:
    """Return the rate on many connections relative to the rate on one: the gain by all cores of the machine."""
    many, single = (_sums(scene, connections).value for connections in (CONNECTIONS, 1))
    return Measurement(many / single, note=f"{many:,.0f} and {single:,.0f} calls a second")


def _slot(scene: Scene) -> Measurement:
    contract = _filled(scene)
    bodies = [
        body("eth_getStorageAt", contract, hex(slot), "latest") for slot in range(0, FILLED, STEP)
    ]
    return repeat(scene, bodies, _is_filled, connections=CONNECTIONS)


def _is_filled(result: Any) -> bool:
    return 1 <= int(result, 16) <= FILLED


SLOT = Workload("storage-at", "eth_getStorageAt, 16", "req/s", _slot, None, ANVIL)
SUM = Workload("call-slots", "eth_call of 1,000 slots, 1", "req/s", _sum, None, ANVIL)
SUMS = Workload("call-slots-4", "eth_call of 1,000 slots, 4", "req/s", _sums_at_once, None, ANVIL)
ALL_CORES = Workload(
    "call-slots-cores",
    f"eth_call of 1,000 slots, {CONNECTIONS} connections ÷ 1",
    "times",
    _times_one_connection,
    None,
    Bar(1.6),
)
SLOTS = tuple(replace(row, production=AS_EMBEDDED) for row in (SLOT, SUM, SUMS))
