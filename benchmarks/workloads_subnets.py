"""Chains of subnets: what ten idle ones take from the C-Chain, and transfers on one of them."""

import json
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.node import NODE, run_command
from benchmarks.rpc import Client, RpcFailed
from benchmarks.scale import Scale
from benchmarks.scene import ALLOWANCE, Scene
from benchmarks.server import Kind
from benchmarks.signing import Account
from benchmarks.wire import Http
from benchmarks.workload import Bar, Better, Measurement, Workload
from benchmarks.workloads_read import read_balance
from benchmarks.workloads_write import send_singles, senders

CHAINS = 10
FIRST_CHAIN_ID = 20_000
MANAGER = "0x0feedc0de0000000000000000000000000000000"
"""An address without a contract: the rows are about chains, not about their validators."""
NAME = "bench"
"""The beginning of the chains' names; a number follows."""
IDLE_SECONDS = 10.0
MIB = 2**20
_GAS_LIMIT = 30_000_000
_FEES = {
    "gasLimit": _GAS_LIMIT,
    "targetBlockRate": 2,
    "minBaseFee": 1_000_000_000,
    "targetGas": 10**12,  # no load of a row raises the fees
    "baseFeeChangeDenominator": 36,
    "minBlockGasCost": 0,
    "maxBlockGasCost": 0,
    "blockGasCostStep": 0,
}


def alone(_scale: Scale) -> Kind:
    """Return the node, without peers beside it."""
    return NODE


def prepare(scene: Scene) -> None:
    """Measure the C-Chain and the idle node, create the chains, and measure both again."""
    scene.deploy()
    for purpose in ("beside none", "beside ten"):
        scene.fund(senders(purpose))
    # The load fills caches, so memory is compared between the two loads.
    before = _loaded(scene, "beside none")
    _create(scene, range(1))  # the node imports the modules that all chains share
    before |= _idle(scene)
    _create(scene, range(1, CHAINS))
    after = _idle(scene) | _loaded(scene, "beside ten")
    scene.facts |= {"before": before, "after": after}


def _loaded(scene: Scene, purpose: str) -> dict[str, float]:
    return {
        "reads": read_balance(scene).value,
        "transfers": send_singles(scene, purpose).value,
    }


def _idle(scene: Scene) -> dict[str, float]:
    scene.server.await_rest()
    used = scene.server.processor_seconds()
    time.sleep(IDLE_SECONDS)
    used = scene.server.processor_seconds() - used
    return {"memory": scene.server.memory() / MIB, "processor": 100 * used / IDLE_SECONDS}


def _create(scene: Scene, places: Iterable[int]) -> None:
    """Create chains, each of an L1 of its own, on which the senders of the third row have coins.

    Raises:
        StartFailed: A command failed.
    """
    settings = {
        name: value for name, value in scene.server.environment.items() if name.startswith("NODE_")
    }
    with TemporaryDirectory(prefix="bench-genesis-") as directory:
        for place in places:
            path = Path(directory) / f"{place}.json"
            path.write_text(_genesis(FIRST_CHAIN_ID + place, senders("on a subnet")))
            manager = f"--manager={MANAGER}"
            run_command("l1", "create", f"{NAME}{place}", f"--genesis={path}", manager, **settings)


def _genesis(chain_id: int, rich: Sequence[Account]) -> str:
    return json.dumps(
        {
            "config": {"chainId": chain_id, "feeConfig": _FEES},
            "gasLimit": hex(_GAS_LIMIT),
            "difficulty": "0x0",
            "timestamp": hex(int(time.time()) - 60),
            "alloc": {account.address.hex(): {"balance": hex(ALLOWANCE)} for account in rich},
        }
    )


def _times(scene: Scene, name: str) -> Measurement:
    before, after = scene.facts["before"][name], scene.facts["after"][name]
    return Measurement(after / before, note=f"{after:,.0f} beside {before:,.0f} a second")


def _each(scene: Scene, name: str) -> Measurement:
    before, after = scene.facts["before"][name], scene.facts["after"][name]
    return Measurement((after - before) / (CHAINS - 1))


def _reads(scene: Scene) -> Measurement:
    return _times(scene, "reads")


def _transfers(scene: Scene) -> Measurement:
    return _times(scene, "transfers")


def _on_a_subnet(scene: Scene) -> Measurement:
    """Send the same transfers on a chain of a subnet, and compare with the C-Chain beside the same chains."""
    endpoint = replace(scene.server.endpoint, http_path=f"/ext/bc/{NAME}0/rpc")
    with closing(Client(Http(endpoint))) as client:
        if client.call("eth_chainId") != hex(FIRST_CHAIN_ID):
            raise RpcFailed("the chain has another ID")
    there = Scene(replace(scene.server, endpoint=endpoint), scene.scale)
    found = send_singles(there, "on a subnet", FIRST_CHAIN_ID)
    own = scene.facts["after"]["transfers"]
    rates = f"{found.value:,.0f} beside {own:,.0f} a second"
    return Measurement(found.value / own, note="; ".join(filter(None, (rates, found.note))))


def _memory(scene: Scene) -> Measurement:
    return _each(scene, "memory")


def _processor(scene: Scene) -> Measurement:
    return _each(scene, "processor")


SUBNETS = (
    Workload(
        "subnets-balance",
        f"eth_getBalance, 16, beside {CHAINS} idle chains of subnets ÷ none",
        "times",
        _reads,
        None,
        Bar(0.95),
    ),
    Workload(
        "subnets-transfers",
        f"transfers, 32 connections, beside {CHAINS} idle chains of subnets ÷ none",
        "times",
        _transfers,
        None,
        Bar(0.95),
    ),
    Workload(
        "subnet-transfers",
        "transfers, 32 connections, on a chain of a subnet ÷ the C-Chain",
        "times",
        _on_a_subnet,
        None,
        Bar(0.95),
    ),
    Workload(
        "subnet-memory",
        "memory of each idle chain of a subnet beyond the first",
        "MiB",
        _memory,
        None,
        Bar(8.0),
        Better.LESS,
    ),
    Workload(
        "subnet-processor",
        "processor time of each idle chain of a subnet beyond the first",
        "%",
        _processor,
        None,
        Bar(0.2),
        Better.LESS,
    ),
)
