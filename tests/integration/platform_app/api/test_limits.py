"""The work that a single call can cause: lists are limited, and invalid texts are shortened in errors."""

from typing import Any

import pytest

from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from platform_app.api import keystore, registry
from tests.integration.platform_app.api.conftest import EWOQ_TEXT
from tests.integration.platform_app.conftest import PChain, Rpc, asking, refusal

LONG = "&" * 5000
SHORT = "&" * 100 + "..."


@pytest.mark.parametrize(
    ("method", "name", "what"),
    [
        ("getCurrentValidators", "nodeIDs", "node IDs"),
        ("getPendingValidators", "nodeIDs", "node IDs"),
        ("getSubnets", "ids", "IDs"),
        ("createSubnet", "controlKeys", "control keys"),
        ("createBlockchain", "fxIDs", "fx IDs"),
        *(
            (method, "from", "addresses")
            for method in (
                "addValidator", "addDelegator", "addSubnetValidator", "createSubnet",
                "createBlockchain", "exportAVAX", "importAVAX",
            )
        ),
    ],
)  # fmt: skip
def test_a_list_has_an_end(pchain: PChain, rpc: Rpc, method: str, name: str, what: str) -> None:
    assert refusal(rpc, f"platform.{method}", **{name: ["x"] * 1025}) == (
        f"number of {what} given, 1025, exceeds maximum, 1024"
    )


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        (
            "getBalance",
            {"address": LONG},
            f'couldn\'t parse address "{SHORT}": no separator found in address',
        ),
        (
            "getBalance",
            {"address": f"{LONG}-{EWOQ_TEXT[2:]}"},
            f'couldn\'t parse address "{SHORT}": there is no ID with alias: {SHORT}',
        ),
        (
            "getUTXOs",
            {"addresses": [EWOQ_TEXT], "sourceChain": LONG},
            f'problem parsing source chainID "{SHORT}": there is no ID with alias: {SHORT}',
        ),
        (
            "exportKey",
            {"address": LONG},
            f"couldn't parse {SHORT} to address: couldn't parse address \"{SHORT}\": "
            "no separator found in address",
        ),
        (
            "createBlockchain",
            {"name": "x", "genesisData": "0x7852b855", "vmID": LONG},
            f"no VM with ID '{SHORT}' found",
        ),
        (
            "createBlockchain",
            {"name": "x", "genesisData": "0x7852b855", "vmID": "avm", "fxIDs": [LONG]},
            f"no FX with ID '{SHORT}' found",
        ),
    ],
)
def test_long_text_is_shortened_in_the_error(
    pchain: PChain, rpc: Rpc, method: str, params: dict[str, Any], words: str
) -> None:
    assert refusal(rpc, f"platform.{method}", **params) == words


def test_long_asset_name_is_shortened_in_the_error(pchain: PChain) -> None:
    avm = asking(this_node().endpoints.xchain.dispatcher)
    assert refusal(avm, "avm.getAssetDescription", assetID=LONG) == f"asset '{SHORT}' not found"


@pytest.mark.parametrize("api", ["platform", "keystore"])
def test_error_messages_are_short_for_long_parameters(pchain: PChain, api: str) -> None:
    """However long a text parameter is, the response stays short."""
    endpoints = this_node().endpoints
    endpoint = {"platform": endpoints.platform, "keystore": endpoints.keystore}[api]
    ask = asking(endpoint.dispatcher)
    table = {"platform": registry, "keystore": keystore.registry}[api]
    told = []
    for method in table(this_node().platform_rpc):
        for param in method.params:
            for value in (LONG, [LONG], {"address": LONG, "utxo": LONG}):
                try:
                    ask(method.name, **{param.name: value})
                except JsonRpcError as error:
                    told.append(len(error.message))
    assert len(told) > 20
    assert max(told) < 500
