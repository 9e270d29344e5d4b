"""avm.getAssetDescription and avm.getTxFee."""

import pytest

from nodeproject.apps import this_node
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain, Rpc, asking, refusal


@pytest.fixture
def avm(pchain: PChain) -> Rpc:
    return asking(this_node().endpoints.xchain.dispatcher)


@pytest.mark.parametrize("asset", ["AVAX", "LUX", "id", None, "nothing"])
def test_the_staking_asset(pchain: PChain, avm: Rpc, asset: str | None) -> None:
    params = {"assetID": str(pchain.asset_id) if asset == "id" else asset}
    if asset == "nothing":
        params = {}

    assert avm("avm.getAssetDescription", **params) == {
        "assetID": str(pchain.asset_id),
        "name": "Avalanche",
        "symbol": "AVAX",
        "denomination": "6",
    }


def test_other_assets(avm: Rpc) -> None:
    assert refusal(avm, "avm.getAssetDescription", assetID="BTC") == "asset 'BTC' not found"
    other = str(platform.OTHER_ASSET_ID)
    assert refusal(avm, "avm.getAssetDescription", assetID=other) == "not found"


def test_the_fees(avm: Rpc) -> None:
    assert avm("avm.getTxFee") == {"txFee": "1000", "createAssetTxFee": "10000"}


def test_nothing_else(avm: Rpc) -> None:
    assert refusal(avm, "avm.getBalance") == 'rpc: can\'t find method "avm.GetBalance"'
    assert refusal(avm, "platform.getHeight") == 'rpc: can\'t find service "platform.GetHeight"'
