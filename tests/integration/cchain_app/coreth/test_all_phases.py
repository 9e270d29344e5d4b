"""A chain through all phases from the launch to Granite in the database, with accounts that hold other assets."""

import json
from pathlib import Path
from typing import Final

import pytest

from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.chain import EvmChain
from cchain_app.evm.coreth import MULTI_COIN_SLOT, is_of_asset
from cchain_app.models import AtomicTransaction, StorageSlot
from cchain_app.selectors import blocks
from cchain_app.selectors.rebuilding import verify_state
from primitives.ids import ID, P_CHAIN_ID
from primitives.upgrades import parse_upgrades
from tests.conformance.coreth_vectors import data, document
from tests.integration.cchain_app.coreth.follower import Follower, chain_of

pytestmark = pytest.mark.django_db(transaction=True)

_GIVEN: Final = document("phases_chain")
_BLOCKS: Final = _GIVEN["blocks"]
_PARAMETERS: Final = AtomicParameters(
    _GIVEN["networkID"],
    ID(data(_GIVEN["blockchainID"])),
    frozenset({P_CHAIN_ID, ID(data(_GIVEN["xChainID"]))}),
    ID(data(_GIVEN["assetID"])),
    10**9,
)


def _genesis() -> bytes:
    """Return the recorded genesis file with the keys by which one of avalanchego is known; its times are not used."""
    given = json.loads(_GIVEN["genesisJSON"])
    given["config"] |= {"apricotPhase1BlockTimestamp": 0, "eip150Hash": "0x" + "0" * 64}
    return json.dumps(given).encode()


def _follower() -> Follower:
    upgrades = parse_upgrades(_GIVEN["upgrades"])
    return Follower(chain_of(_genesis(), parameters=_PARAMETERS, upgrades=upgrades))


def _holders(chain: EvmChain) -> dict[bytes, dict[bytes, int]]:
    """Return the balances of other assets, and the mark of the accounts that ever held one."""
    found: dict[bytes, dict[bytes, int]] = {}
    for row in chain.db.objects(StorageSlot).all():
        key = bytes(row.key)
        if is_of_asset(key[20:]):
            found.setdefault(key[:20], {})[key[20:]] = int.from_bytes(bytes(row.value), "big")
    return found


def test_all_phases_are_followed_and_answered(tmp_path: Path) -> None:
    follower = _follower()
    assert follower.genesis.hash == data(_BLOCKS[0]["hash"])
    for first in range(1, len(_BLOCKS), 9):
        follower.follow(_BLOCKS[first : first + 9])

    # As another process has it: everything is read from the rows.
    again = _follower()
    chain = again.chain
    assert blocks.head(chain).hash == data(_BLOCKS[-1]["hash"])
    holders = _holders(chain)
    assert holders
    assert all(slots[bytes(MULTI_COIN_SLOT)] == 1 for slots in holders.values())
    assert all(len(slots) > 1 for slots in holders.values())
    verify_state(chain.db, chain.new_trie(cached=False), tmp_path)
    gas = [int(one["gasUsed"]) for entry in _BLOCKS for one in entry["atomicTxs"] or ()]
    rows = chain.db.objects(AtomicTransaction).order_by("position")
    assert [row.gas for row in rows] == gas

    (holder, *_) = holders
    for entry in _BLOCKS:
        number = hex(int(entry["number"]))
        proof = again.ask("eth_getProof", "0x" + holder.hex(), [], number)
        assert "accountProof" in proof, (number, proof)
        if number == "0x0":
            continue  # the first block cannot be traced
        traces = again.ask("debug_traceBlockByNumber", number, {"tracer": "callTracer"})
        used = [int(trace["result"]["gasUsed"], 16) for trace in traces]
        assert sum(used) == int(entry["header"]["gasUsed"])
    shown = again.ask(
        "debug_storageRangeAt", _BLOCKS[-1]["hash"], 0, "0x" + holder.hex(), "0x", 100
    )
    keys = [slot["key"] for slot in shown["storage"].values()]
    assert "0x" + MULTI_COIN_SLOT.hex() not in keys
