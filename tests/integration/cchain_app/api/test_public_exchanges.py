"""The exchanges that ethereum/execution-apis recorded on its chain, replayed on a node that imported it."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from jsonrpc.errors import NO_DATA, JsonRpcError
from tests.integration.cchain_app.services.imported import bring, directory

__all__ = ["directory"]

VECTORS = Path(__file__).parents[3] / "vectors" / "execution_apis"

ENGINE = "part of the interface for consensus clients, which this node does not have"
DIFFERENT = {
    "testing_buildBlockV1/build-block-empty-transactions": ENGINE,
    "testing_buildBlockV1/build-block-from-mempool": ENGINE,
    "testing_buildBlockV1/build-block-invalid-transaction": ENGINE,
    "testing_buildBlockV1/build-block-with-transactions": ENGINE,
}
"""Exchanges that this node answers differently, with the reason."""


def exchanges() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        lzma.decompress((VECTORS / "exchanges.json.xz").read_bytes())
    )
    return found


def answer(rpc: Any, step: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": rpc(step["method"], *step["params"])}
    except JsonRpcError as error:
        data = {} if error.data is NO_DATA else {"data": error.data}
        return {"error": {"code": error.code, "message": error.message, **data}}


def agrees(rpc: Any, exchange: dict[str, Any]) -> bool:
    """Replay all steps in order; `rpc` validates every result against the schema."""
    same = True
    for step in exchange["steps"]:
        want = {name: step[name] for name in ("result", "error") if name in step}
        have = answer(rpc, step)
        same &= have.keys() == want.keys() if exchange["schema_only"] else have == want
    return same


@pytest.mark.node_settings(rpc_gas_cap=50_000_000, mining="manual")
def test_all_exchanges_agree_but_those_with_a_reason(directory: Path, rpc: Any) -> None:
    done = bring((VECTORS / "genesis.json").read_bytes(), (VECTORS / "chain.rlp").read_bytes())
    assert done.blocks == 54

    recorded = exchanges()
    differ = {exchange["name"] for exchange in recorded if not agrees(rpc, exchange)}

    assert len(recorded) == 232
    assert differ == set(DIFFERENT)
