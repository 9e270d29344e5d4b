"""A call returns the node's result, or raises one of two kinds of errors."""

from pathlib import Path

import pytest

from nunatak.node import Node
from nunatak.rpc import NotListening, RpcError, Unreachable, call
from tests.builders.fake_chain import serving
from tests.servers.ports import free_port

pytestmark = pytest.mark.sqlite_only


def test_node_has_urls_of_its_other_endpoints() -> None:
    node = Node("http://127.0.0.1:9650/ext/bc/C/rpc")

    assert node.base_url == "http://127.0.0.1:9650"
    assert node.ws_url == "ws://127.0.0.1:9650/ext/bc/C/ws"
    assert node.platform_url == "http://127.0.0.1:9650/ext/bc/P"
    assert Node("https://example.org").ws_url == "wss://example.org/ext/bc/C/ws"


def test_token_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("the-first-of-the-tokens\nthe-second-of-the-tokens\n")

    node = Node("http://127.0.0.1:9650", file)

    assert node.headers == {"Authorization": "Bearer the-first-of-the-tokens"}
    assert Node("http://127.0.0.1:9650").headers == {}


def test_null_is_a_result() -> None:
    with serving(lambda _asked: (200, b'{"result": null}')) as url:
        assert call(url, "eth_getTransactionReceipt", "0x00") is None


@pytest.mark.parametrize("status", [200, 400, 404])
def test_error_has_code_message_and_data(status: int) -> None:
    body = b'{"error": {"code": 3, "message": "execution reverted", "data": "0x01"}}'

    with (
        serving(lambda _asked: (status, body)) as url,
        pytest.raises(RpcError, match=r"^eth_call: execution reverted \(3\)$") as failed,
    ):
        call(url, "eth_call")
    error = failed.value
    assert (error.method, error.code, error.message, error.data) == (
        "eth_call", 3, "execution reverted", "0x01",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (503, b'{"error": {"code": -32000, "message": "starting"}}'),
        (200, b"<html>"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"error": "busy"}'),
        (200, b'{"error": {"code": -32000}}'),
    ],
)
def test_response_that_is_no_json_rpc_is_an_error(status: int, body: bytes) -> None:
    with (
        serving(lambda _asked: (status, body)) as url,
        pytest.raises(Unreachable, match=f"^no answer to eth_chainId from {url}: "),
    ):
        call(url, "eth_chainId")


def test_refused_connection_is_an_error() -> None:
    with pytest.raises(NotListening, match="Connection refused"):
        call(f"http://127.0.0.1:{free_port()}", "eth_chainId")
