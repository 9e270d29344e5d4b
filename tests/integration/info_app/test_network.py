"""info.getNetworkID and info.getNetworkName."""

from typing import Any

import pytest

from tests.builders.node_settings import updated
from tests.integration.info_app.conftest import AskBare
from tests.integration.platform_app.conftest import Rpc

pytestmark = pytest.mark.sqlite_only


def test_the_local_network(rpc: Rpc) -> None:
    assert rpc("info.getNetworkID") == {"networkID": "12345"}
    assert rpc("info.getNetworkName") == {"networkName": "local"}


@pytest.mark.parametrize(("number", "name"), [(1, "mainnet"), (5, "testnet"), (77, "network-77")])
def test_names_of_public_networks(rpc: Rpc, settings: Any, number: int, name: str) -> None:
    settings.NODE = updated(settings.NODE, network_id=number)

    assert rpc("info.getNetworkID") == {"networkID": str(number)}
    assert rpc("info.getNetworkName") == {"networkName": name}


@pytest.mark.parametrize("method", ["getNetworkID", "getNetworkName", "getNodeID", "getTxFee"])
def test_params_can_be_omitted(bare: AskBare, method: str) -> None:
    answer = bare(f"info.{method}")

    assert list(answer) == ["jsonrpc", "result", "id"]
