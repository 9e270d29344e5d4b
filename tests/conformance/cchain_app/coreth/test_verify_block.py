"""Changed forms of a block against the reference's errors, from parsing to the execution."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import pytest

from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import CODEC
from chainvm.errors import InvalidBlock
from chainvm.port import BlockContext
from primitives import bls
from primitives.ids import ID, P_CHAIN_ID
from primitives.upgrades import OWN_NETWORK
from primitives.warp import CanonicalSet, canonical_set
from tests.builders.coreth import MemoryCoreth
from tests.conformance.coreth_vectors import cases, data, document
from utxo.components import UTXO

_GIVEN = document("verify_block")


def _signers(source: ID, p_chain_height: int | None, *, primary_network: bool) -> CanonicalSet:
    del source, primary_network
    assert p_chain_height == 0
    keys = [bls.public_key(scalar.to_bytes(32, "big")) for scalar in (3, 4, 5)]
    return canonical_set((key, 1) for key in keys)


def _exported(source: ID, utxo_ids: Collection[ID]) -> Mapping[ID, UTXO]:
    return {
        ID(data(seed["utxoID"])): CODEC.unmarshal(UTXO, data(seed["bytes"]))
        for seed in _GIVEN["sharedMemorySeeds"]
        if ID(data(seed["sourceChain"])) == source and ID(data(seed["utxoID"])) in utxo_ids
    }


_PARAMETERS = AtomicParameters(
    _GIVEN["networkID"],
    ID(data(_GIVEN["blockchainID"])),
    frozenset({P_CHAIN_ID, ID(data(_GIVEN["xChainID"]))}),
    ID(data(_GIVEN["assetID"])),
    10**9,
)
_CONTEXT = BlockContext(_GIVEN["nowMilliseconds"] // 1_000, p_chain_height=0)


@pytest.fixture(scope="module", params=["reference", "native"])
def chain(request: pytest.FixtureRequest) -> MemoryCoreth:
    """The chain up to the parent of the block."""
    made = MemoryCoreth(
        _GIVEN["genesisJSON"],
        OWN_NETWORK,
        _PARAMETERS,
        exported=_exported,
        signers=_signers,
        engine_name=request.param,
    )
    for entry in _GIVEN["chain"][:2]:
        made.accept(data(entry["rlp"]), _CONTEXT)
    return made


@pytest.mark.parametrize("case", cases("verify_block"))
def test_block(case: dict[str, Any], chain: MemoryCoreth) -> None:
    raw = data(case["rlp"])
    wanted = case["parseError"] or case["verifyError"]
    if case["valid"]:
        made = chain.verify(raw, _CONTEXT)
        assert made.block.hash == data(case["hash"])
        assert made.block.raw == raw
        return
    with pytest.raises(InvalidBlock) as caught:
        (
            chain.format.parse_block
            if case["parseError"]
            else partial(chain.verify, context=_CONTEXT)
        )(raw)
    assert str(caught.value) == wanted
