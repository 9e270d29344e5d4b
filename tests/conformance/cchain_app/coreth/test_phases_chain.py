"""The blocks of a chain through all phases, from the launch to Granite, executed to their roots."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from cchain_app.atomic.fees import gas_used
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import CODEC, read_payload
from cchain_app.blocks.receipt import encode_receipt
from cchain_app.rules.coreth.block import atomic_transactions
from cchain_app.rules.coreth.gas_state import GasState
from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.rules.coreth.min_delay import delay_of
from cchain_app.rules.coreth.phases import CorethPhase, phase_at
from cchain_app.rules.coreth.verification import predicate_results
from chainvm.port import BlockContext
from primitives import bls
from primitives.ids import ID, P_CHAIN_ID
from primitives.upgrades import parse_upgrades
from primitives.warp import CanonicalSet, canonical_set
from tests.builders.coreth import MemoryCoreth
from tests.conformance.coreth_vectors import data, document
from utxo.components import UTXO

_GIVEN = document("phases_chain")
UPGRADES = parse_upgrades(_GIVEN["upgrades"])
_BLOCKS = _GIVEN["blocks"]
_PARAMETERS = AtomicParameters(
    _GIVEN["networkID"],
    ID(data(_GIVEN["blockchainID"])),
    frozenset({P_CHAIN_ID, ID(data(_GIVEN["xChainID"]))}),
    ID(data(_GIVEN["assetID"])),
    10**9,
)


def _exported(source: ID, utxo_ids: Collection[ID]) -> Mapping[ID, UTXO]:
    return {
        ID(data(seed["utxoID"])): CODEC.unmarshal(UTXO, data(seed["bytes"]))
        for seed in _GIVEN["sharedMemorySeeds"]
        if ID(data(seed["sourceChain"])) == source and ID(data(seed["utxoID"])) in utxo_ids
    }


def _signers(source: ID, p_chain_height: int | None, *, primary_network: bool) -> CanonicalSet:
    del source, primary_network
    assert p_chain_height == 0
    keys = [bls.public_key(scalar.to_bytes(32, "big")) for scalar in (3, 4, 5)]
    return canonical_set((key, 1) for key in keys)


def _context(entry: dict[str, Any]) -> BlockContext:
    """Return a context in which nothing of a block is taken for granted."""
    return BlockContext(int(entry["header"]["timestamp"]), p_chain_height=0)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_blocks_of_all_phases_are_executed_to_their_roots(engine: str) -> None:
    chain = MemoryCoreth(
        _GIVEN["genesisJSON"],
        UPGRADES,
        _PARAMETERS,
        exported=_exported,
        signers=_signers,
        engine_name=engine,
    )
    assert chain.blocks[0].hash == data(_BLOCKS[0]["hash"])
    for entry in _BLOCKS[1:]:
        made = chain.accept(data(entry["rlp"]), _context(entry)).block
        assert made.hash == data(entry["hash"])
        assert made.raw == data(entry["rlp"])
        receipts = [encode_receipt(receipt) for receipt in made.receipts]
        assert receipts == [data(receipt["bytes"]) for receipt in entry["receipts"] or ()]
        header = made.header
        assert isinstance(header, CorethHeader)
        phase = phase_at(UPGRADES, header.timestamp)
        if "feeState" in entry:
            assert GasState.read(header.extra_data).raw == data(entry["feeState"]["bytes"])
            assert predicate_results(header, phase) == data(entry["predicateBytes"])
        delay = entry.get("minDelayMilliseconds")
        if delay is not None:
            assert header.min_delay_excess is not None
            assert delay_of(header.min_delay_excess) == int(delay)


@pytest.mark.parametrize("entry", _BLOCKS, ids=lambda entry: entry["number"])
def test_atomic_transactions_of_all_phases(entry: dict[str, Any]) -> None:
    phase = phase_at(UPGRADES, int(entry["header"]["timestamp"]))
    txs = atomic_transactions(data(entry["extData"]), phase)
    wanted = entry["atomicTxs"] or ()
    assert [tx.raw for tx in txs] == [data(one["signedBytes"]) for one in wanted]
    assert read_payload(data(entry["extData"])) == txs if txs else not wanted
    for tx, one in zip(txs, wanted, strict=True):
        assert tx.tx_id == data(one["txID"])
        assert gas_used(tx, has_fixed_gas=phase >= CorethPhase.APRICOT_5) == int(one["gasUsed"])
        assert tx.requests.peer == data(one["peerChain"])
        assert [bytes(removed) for removed in tx.requests.remove] == [
            data(removed) for removed in one["remove"] or ()
        ]
        assert [put.utxo_id for put in tx.requests.put] == [
            data(put["key"]) for put in one["put"] or ()
        ]


def test_the_chain_has_blocks_of_every_phase() -> None:
    found = {phase_at(UPGRADES, int(entry["header"]["timestamp"])) for entry in _BLOCKS}
    assert found == set(CorethPhase) - {CorethPhase.HELICON}
