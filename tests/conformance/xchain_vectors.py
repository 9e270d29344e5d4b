"""The golden vectors of the X-Chain (tests/vectors/xchain, whose README describes the files), and their world."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from primitives.ids import ID, P_CHAIN_ID, PRIMARY_NETWORK_ID
from utxo.components import UTXO
from xchain_app.config import AvmConfig, AvmEnv
from xchain_app.txs.base import AvmTx
from xchain_app.txs.codec import CODEC, parse_stored

VECTORS = Path(__file__).parents[1] / "vectors" / "xchain"


def document(name: str) -> dict[str, Any]:
    """Return a file of vectors."""
    found: dict[str, Any] = json.loads((VECTORS / f"{name}.json").read_text())
    return found


def cases(*names: str) -> list[Any]:
    """Return the cases of files as parameters named by their ids."""
    return [
        pytest.param(case, id=f"{case['id']} {case.get('name', '')}")
        for name in names
        for case in document(name)["cases"]
    ]


def raw_bytes(value: str | dict[str, Any]) -> bytes:
    """Return bytes of the vectors, which may be followed by many zeros."""
    if isinstance(value, str):
        return bytes.fromhex(value.removeprefix("0x"))
    return raw_bytes(value["prefix"]) + bytes(value["zeros"])


@dataclass
class MemoryAvmState:
    """A state in memory."""

    utxos: dict[ID, UTXO] = field(default_factory=dict)
    txs: dict[ID, AvmTx] = field(default_factory=dict)
    shared_utxos: dict[tuple[ID, ID], UTXO] = field(default_factory=dict)
    time: int = 0

    def utxo(self, utxo_id: ID) -> UTXO | None:
        """Return an unspent output."""
        return self.utxos.get(utxo_id)

    def tx(self, tx_id: ID) -> AvmTx | None:
        """Return an accepted transaction."""
        return self.txs.get(tx_id)

    def shared(self, source_chain: ID, utxo_id: ID) -> UTXO | None:
        """Return an output that another chain has exported."""
        return self.shared_utxos.get((source_chain, utxo_id))

    def timestamp(self) -> int:
        """Return the time."""
        return self.time


@dataclass(frozen=True)
class World:
    """The state against which the cases are judged."""

    state: MemoryAvmState
    env: AvmEnv
    clock: int

    def bootstrapping(self) -> "World":
        """Return the same world for a node that is not bootstrapped."""
        return replace(self, env=replace(self.env, bootstrapped=False))


def world() -> World:
    """Return the world that the files have in common."""
    given = document("transactions")["world"]
    other = given["chainOfAnotherSubnet"]
    subnets = {
        P_CHAIN_ID: PRIMARY_NETWORK_ID,
        ID.parse(given["cChainID"]): PRIMARY_NETWORK_ID,
        ID.parse(other["chain"]): ID.parse(other["subnet"]),
    }
    state = MemoryAvmState()
    for accepted in given["acceptedTxs"]:
        tx = parse_stored(raw_bytes(accepted["bytes"]))
        assert str(tx.tx_id) == accepted["txID"]
        state.txs[tx.tx_id] = tx
    for one in given["utxos"]:
        utxo = CODEC.unmarshal(UTXO, raw_bytes(one["bytes"]))
        assert str(utxo.utxo_id) == one["utxoID"]
        state.utxos[utxo.utxo_id] = utxo
    for one in given["sharedMemory"]:
        utxo = CODEC.unmarshal(UTXO, raw_bytes(one["bytes"]))
        state.shared_utxos[ID.parse(one["source"]), utxo.utxo_id] = utxo
    config = AvmConfig(
        network_id=given["networkID"],
        hrp="local",
        tx_fee=given["txFee"],
        create_asset_tx_fee=given["createAssetTxFee"],
    )
    env = AvmEnv(
        config=config,
        chain_id=ID.parse(given["chainID"]),
        fee_asset_id=ID.parse(given["feeAssetID"]),
        subnet_of=subnets.get,
        subnet_id=PRIMARY_NETWORK_ID,
    )
    return World(state, env, given["clock"])
