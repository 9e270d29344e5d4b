"""Callers of a development chain: web pages cannot use the operator's keys unless their origin is allowed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cchain_app.accounts.keyring import MNEMONIC
from jsonrpc.dispatch.dialects import GETH
from jsonrpc.dispatch.gate import Gate, GateConfig, HttpConnection, RequestHead
from nodeproject.apps import this_node
from tests.builders.node_settings import updated
from tests.builders.transactions import RECIPIENT
from tests.integration.conftest import Chain, Rpc
from tests.unit.cchain_app.accounts.test_messages import MAIL

pytestmark = pytest.mark.node_settings(profile="embedded")

OTHER = "legal winner thank year wave sausage worth useful legal winner thank yellow"
PAGE = "https://evil.example"
SIGNING = {
    "anvil_reorg",
    "anvil_setChainId",
    "eth_sendTransaction",
    "eth_sendTransactionSync",
    "eth_sendUnsignedTransaction",
    "eth_sign",
    "eth_signTransaction",
    "eth_signTypedData",
    "eth_signTypedData_v3",
    "eth_signTypedData_v4",
    "personal_newAccount",
    "personal_sign",
}
"""Methods that sign with the node's keys, or choose the chain that the next signature is for."""
NAMING = {"anvil_reset", "anvil_setRpcUrl", "hardhat_reset"}
"""Methods that can set the URL of a fork's remote node."""

Ask = Callable[..., Any]


def ask(method: str, *params: Any, peer: str = "127.0.0.1", **headers: str) -> Any:
    """Return the result, or the error message, of a request over HTTP."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    named = {name.encode(): value.encode() for name, value in headers.items()}
    head = RequestHead("POST", named, has_query=False, peer=peer)
    connection = HttpConnection(Gate(GateConfig(), GETH), head)
    dispatcher = this_node().endpoints.cchain.dispatcher
    answer = json.loads(dispatcher.answer(json.dumps(body).encode(), connection) or b"")
    return answer["result"] if "result" in answer else answer["error"]["message"]


@pytest.fixture
def begin(node_settings: Any, db: None, settings: Any, tmp_path: Path) -> Callable[..., str]:
    """Start a chain with a mnemonic; return its first account."""

    def made(mnemonic: str, **values: Any) -> str:
        directory = tmp_path / "own"
        directory.mkdir(exist_ok=True)
        settings.NODE = updated(settings.NODE, data_dir=str(directory), mnemonic=mnemonic, **values)
        Chain()
        account: str = ask("eth_accounts")[0]
        return account

    return made


def uses_of_keys(account: str) -> dict[str, list[Any]]:
    """Return valid calls of the methods that sign."""
    sent = {"from": account, "to": f"0x{RECIPIENT.hex()}", "value": "0x1"}
    return {
        "eth_sign": [account, "0xdeadbeef"],
        "personal_sign": ["0xdeadbeef", account],
        "eth_signTypedData": [account, MAIL],
        "eth_signTypedData_v3": [account, MAIL],
        "eth_signTypedData_v4": [account, MAIL],
        "eth_signTransaction": [sent],
        "eth_sendTransaction": [sent],
        "eth_sendTransactionSync": [sent, 1],
        "eth_sendUnsignedTransaction": [sent],
        "personal_newAccount": [],
        "anvil_setChainId": [1],
        "anvil_reorg": [0, [[sent, 0]]],
    }


def test_guarded_methods_are_those_that_sign_or_name_urls(chain: Chain) -> None:
    registry = this_node().endpoints.interfaces["C"].registry
    assert {method.name for method in registry if method.guard is not None} == SIGNING | NAMING
    assert set(uses_of_keys("")) == SIGNING


def test_private_keys_do_not_sign_for_pages(begin: Callable[..., str]) -> None:
    account = begin(OTHER)
    for method, params in uses_of_keys(account).items():
        refused = ask(method, *params, origin=PAGE)
        assert "do not sign for the web page 'https://evil.example'" in refused, method
        assert "NODE_ALLOWED_ORIGINS" in refused
    assert ask("eth_getTransactionCount", account, "pending") == "0x0"
    assert ask("eth_sign", account, "0x", origin="null").startswith("the keys of NODE_MNEMONIC")


def test_private_keys_sign_for_programs(begin: Callable[..., str]) -> None:
    account = begin(OTHER)
    assert len(ask("eth_sign", account, "0xdeadbeef")) == 2 + 2 * 65
    assert len(ask("eth_sign", account, "0xdeadbeef", peer="203.0.113.9")) == 2 + 2 * 65


def test_private_keys_sign_for_pages_that_are_named(begin: Callable[..., str]) -> None:
    account = begin(OTHER, allowed_origins=("*", PAGE))
    assert len(ask("eth_sign", account, "0xdeadbeef", origin=PAGE)) == 2 + 2 * 65
    refused = ask("eth_sign", account, "0xdeadbeef", origin="https://other.example")
    assert "do not sign" in refused


@pytest.mark.parametrize("mnemonic", [MNEMONIC, f" {MNEMONIC.replace(' ', '  ')} "])
def test_public_keys_sign_for_every_page(begin: Callable[..., str], mnemonic: str) -> None:
    account = begin(mnemonic)
    assert len(ask("eth_sign", account, "0xdeadbeef", origin=PAGE)) == 2 + 2 * 65


def test_pages_may_do_all_else_with_the_chain(begin: Callable[..., str]) -> None:
    account = begin(OTHER)
    assert ask("anvil_setBalance", account, "0x7", origin=PAGE) is None
    assert ask("eth_getBalance", account, "latest", origin=PAGE) == "0x7"
    assert ask("eth_accounts", origin=PAGE)[0] == account


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("anvil_setRpcUrl", ["http://127.0.0.1:1/"]),
        ("anvil_reset", [{"forking": {"jsonRpcUrl": "http://127.0.0.1:1/"}}]),
        ("hardhat_reset", [{"forking": {"jsonRpcUrl": "http://127.0.0.1:1/", "blockNumber": 1}}]),
    ],
)
@pytest.mark.parametrize(
    ("caller", "words"),
    [
        ({"origin": PAGE}, "the web page 'https://evil.example' may not name the URL"),
        ({"origin": "null"}, "the web page 'null' may not name the URL"),
        ({"peer": "203.0.113.9"}, "another machine may not name the URL"),
        ({"x-forwarded-for": "127.0.0.1"}, "another machine may not name the URL"),
    ],
)
def test_programs_on_this_machine_alone_name_urls(
    chain: Chain, method: str, params: list[Any], caller: dict[str, str], words: str
) -> None:
    assert words in ask(method, *params, **caller)
    assert "may not name" not in str(ask(method, *params))


@pytest.mark.node_settings(fork_url_callers="any")
def test_setting_lets_any_caller_name_urls(chain: Chain) -> None:
    for caller in ({"origin": PAGE}, {"peer": "203.0.113.9"}):
        assert ask("anvil_setRpcUrl", "http://127.0.0.1:1/", **caller) is None


def test_a_reset_without_a_url_is_everybodys(chain: Chain, rpc: Rpc) -> None:
    assert ask("anvil_reset", origin=PAGE, peer="203.0.113.9") is None
    assert ask("hardhat_reset", {}, origin=PAGE) is True
    assert "fork" in ask("anvil_reset", {"forking": {"blockNumber": 1}}, origin=PAGE)
