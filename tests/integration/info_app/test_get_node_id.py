"""info.getNodeID."""

from typing import Any

import pytest

from nodeproject.apps import this_node
from primitives import bls
from tests.builders.node_settings import updated
from tests.integration.platform_app.conftest import PChain, Rpc, asking, refusal

pytestmark = pytest.mark.sqlite_only


def test_node_id_and_proof_match_the_identity_files(pchain: PChain, rpc: Rpc) -> None:
    found = rpc("info.getNodeID")

    assert set(found) == {"nodeID", "nodePOP"}
    assert found["nodeID"] == str(pchain.node_id)
    assert set(found["nodePOP"]) == {"publicKey", "proofOfPossession"}
    key, proof = (
        bytes.fromhex(found["nodePOP"][name].removeprefix("0x"))
        for name in ("publicKey", "proofOfPossession")
    )
    assert (len(key), len(proof)) == (48, 96)
    assert bls.verify_possession(key, proof)


@pytest.mark.parametrize("setting", ["staking_cert_file", "signer_key_file"])
def test_missing_identity_files_are_reported(pchain: PChain, settings: Any, setting: str) -> None:
    settings.NODE = updated(settings.NODE, **{setting: "/nowhere/key"})
    rpc = asking(this_node().endpoints.info.dispatcher)

    assert refusal(rpc, "info.getNodeID") == (
        "this node has no identity yet: run init_node to create its keys"
    )
