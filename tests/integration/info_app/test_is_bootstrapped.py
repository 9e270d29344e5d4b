"""info.isBootstrapped."""

from typing import Any

import pytest

from network_app.models import SyncPhase
from tests.builders import network_rows
from tests.builders.node_settings import updated
from tests.integration.info_app.conftest import AskBare
from tests.integration.platform_app.conftest import PChain, Rpc, refusal

pytestmark = pytest.mark.sqlite_only

ALIASES = ["P", "platform", "X", "avm", "C", "evm"]


@pytest.mark.parametrize("alias", ALIASES)
def test_node_without_bootstrappers_is_bootstrapped(rpc: Rpc, alias: str) -> None:
    assert rpc("info.isBootstrapped", chain=alias) == {"isBootstrapped": True}


def test_chain_can_be_named_by_its_id(pchain: PChain, rpc: Rpc, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, bootstrap=("127.0.0.1:9651",))
    network_rows.report()
    network_rows.sync("P")
    network_rows.sync("C", phase=SyncPhase.BOOTSTRAPPING)

    shown = {
        name: rpc("info.isBootstrapped", chain=name)["isBootstrapped"]
        for name in (
            "P", "11111111111111111111111111111111LpoYY", "C", str(pchain.network.c_chain_id),
            str(pchain.network.x_chain_id),
        )
    }  # fmt: skip

    assert list(shown.values()) == [True, True, False, False, False]
    network_rows.sync("X")
    assert rpc("info.isBootstrapped", chain="X") == {"isBootstrapped": True}


@pytest.mark.node_settings(bootstrap=("127.0.0.1:9651",))
def test_follower_before_bootstrapping_is_not_bootstrapped(rpc: Rpc) -> None:
    assert rpc("info.isBootstrapped", chain="P") == {"isBootstrapped": False}

    network_rows.report()
    network_rows.sync("P")
    assert rpc("info.isBootstrapped", chain="P") == {"isBootstrapped": True}


@pytest.mark.parametrize("params", [{}, {"chain": ""}, {"chain": None}])
def test_missing_chain_is_refused(rpc: Rpc, params: dict[str, Any]) -> None:
    assert refusal(rpc, "info.isBootstrapped", **params) == "argument 'chain' not given"


def test_missing_params_count_as_missing_chain(bare: AskBare) -> None:
    error = bare("info.isBootstrapped")["error"]
    assert error == {"code": -32000, "message": "argument 'chain' not given", "data": None}


@pytest.mark.parametrize("name", ["Q", "p", "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe"])
def test_unknown_chain_is_refused(rpc: Rpc, name: str) -> None:
    message = refusal(rpc, "info.isBootstrapped", chain=name)
    assert message == f"there is no chain with alias/ID '{name}'"


def test_a_long_name_is_not_repeated(rpc: Rpc) -> None:
    message = refusal(rpc, "info.isBootstrapped", chain="x" * 100_000)
    assert message == f"there is no chain with alias/ID '{'x' * 100}...'"


@pytest.mark.parametrize("chain", [7, True, ["P"], {"alias": "P"}])
def test_chain_that_is_no_string_is_refused(rpc: Rpc, chain: object) -> None:
    assert refusal(rpc, "info.isBootstrapped", chain=chain).startswith(
        "couldn't unmarshal an argument."
    )
