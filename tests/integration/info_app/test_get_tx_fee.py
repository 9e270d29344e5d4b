"""info.getTxFee, info.getVMs and info.upgrades: constant while a node runs."""

from typing import Any

import pytest

from primitives.ids import ID
from tests.builders.node_settings import updated
from tests.integration.platform_app.conftest import Rpc

pytestmark = pytest.mark.sqlite_only


def test_the_fees_of_the_local_network(rpc: Rpc) -> None:
    assert rpc("info.getTxFee") == {
        "txFee": "1000",
        "createAssetTxFee": "10000",
        "createSubnetTxFee": "100000",
        "transformSubnetTxFee": "10000000",
        "createBlockchainTxFee": "100000",
        "addPrimaryNetworkValidatorFee": "0",
        "addPrimaryNetworkDelegatorFee": "0",
        "addSubnetValidatorFee": "1000",
        "addSubnetDelegatorFee": "1000",
    }


def test_the_virtual_machines(rpc: Rpc) -> None:
    found = rpc("info.getVMs")

    assert found == {
        "vms": {
            "jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq": ["avm"],
            "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6": ["evm"],
            "rWhpuQPF1kb72esV2momhMuTYGkEb1oL29pt2EBXWmSy4kxnT": ["platform"],
            "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy": ["subnetevm"],
        },
        "fxs": {
            str(ID.of_name("nftfx")): "nftfx",
            str(ID.of_name("propertyfx")): "propertyfx",
            str(ID.of_name("secp256k1fx")): "secp256k1fx",
        },
    }


@pytest.mark.parametrize(("network_id", "seconds"), [(12345, 30), (5, 300)])
def test_epoch_duration_equals_that_of_blocks(
    rpc: Rpc, settings: Any, network_id: int, seconds: int
) -> None:
    settings.NODE = updated(settings.NODE, network_id=network_id)

    assert rpc("info.upgrades")["graniteEpochDuration"] == seconds * 1_000_000_000
