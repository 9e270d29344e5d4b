"""Tokens for RPC, keystore and metrics (NODE_RPC_TOKEN_FILE and its relatives), on each way into a node."""

import asyncio
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest
import requests
from web3 import HTTPProvider, Web3
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from nunatak.node import NodeProcess
from nunatak.rpc import Unreachable, call
from tests.e2e.conftest import node_script
from tests.servers.node import ROOT

RPC, KEYSTORE, METRICS = "rpc-token-of-this-test", "keystore-token-of-this-test", "metrics-token"
OLD = "rpc-token-before-this-test"
HEIGHT = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
USERS = b'{"jsonrpc":"2.0","id":1,"method":"keystore.listUsers","params":{}}'
NODE_ID = b'{"jsonrpc":"2.0","id":1,"method":"info.getNodeID","params":{}}'
C_CHAIN = "/ext/bc/C/rpc"
CHALLENGE = 'Bearer realm="node"'


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module", params=["uvicorn", "daphne"])
def server(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, server: str) -> Iterator[NodeProcess]:
    directory = tmp_path_factory.mktemp("tokens")
    tokens = {
        "NODE_RPC_TOKEN_FILE": f"{RPC}\n{OLD}\n",
        "NODE_KEYSTORE_TOKEN_FILE": KEYSTORE,
        "NODE_METRICS_TOKEN_FILE": METRICS * 2,
    }
    settings = {
        "NODE_SERVER": server,
        "NODE_IPC": str(directory / "node.ipc"),
        "PYTHONPATH": str(ROOT),
    }
    for name, text in tokens.items():
        (directory / name).write_text(text)
        settings[name] = str(directory / name)
    with NodeProcess(directory, settings) as node:
        yield node


@pytest.fixture
def connection(guarded: NodeProcess) -> Iterator[http.client.HTTPConnection]:
    host = guarded.base_url.removeprefix("http://")
    made = http.client.HTTPConnection(host, timeout=60)
    yield made
    made.close()


def asked(
    connection: http.client.HTTPConnection,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, str | None, bytes]:
    """Return status, challenge and body of the response on a connection that stays open."""
    kind = {"Content-Type": "application/json"} if body is not None else {}
    method = "GET" if body is None else "POST"
    connection.request(method, path, body, {**kind, **(headers or {})})
    with connection.getresponse() as response:
        return response.status, response.headers["WWW-Authenticate"], response.read()


def test_each_way_of_answering_needs_the_token(connection: http.client.HTTPConnection) -> None:
    for _ in range(3):  # from the second time on, a head is known and the native code answers it
        status, challenge, body = asked(connection, C_CHAIN, HEIGHT, bearer(RPC))
        assert (status, challenge) == (200, None)
        assert json.loads(body)["result"] == "0x0"
        assert asked(connection, C_CHAIN, HEIGHT)[:2] == (401, CHALLENGE)
        assert asked(connection, C_CHAIN, HEIGHT, bearer(f"{RPC}x"))[:2] == (
            401,
            f'{CHALLENGE}, error="invalid_token"',
        )
    assert asked(connection, C_CHAIN, HEIGHT, bearer(OLD))[0] == 200
    assert asked(connection, "/", HEIGHT)[0] == 401
    assert asked(connection, "/", HEIGHT, bearer(RPC))[0] == 200
    assert asked(connection, "/ext/info", NODE_ID)[0] == 401
    assert asked(connection, "/ext/info", NODE_ID, bearer(RPC))[0] == 200


def test_a_body_that_is_no_json_is_not_parsed_before(
    connection: http.client.HTTPConnection,
) -> None:
    assert asked(connection, C_CHAIN, b"{{{")[:2] == (401, CHALLENGE)
    assert b"-32700" in asked(connection, C_CHAIN, b"{{{", bearer(RPC))[2]


def test_keystore_and_metrics_have_tokens_of_their_own(
    connection: http.client.HTTPConnection,
) -> None:
    assert asked(connection, "/ext/keystore", USERS, bearer(RPC))[0] == 401
    assert asked(connection, "/ext/keystore", USERS, bearer(KEYSTORE))[0] == 200
    assert asked(connection, C_CHAIN, HEIGHT, bearer(KEYSTORE))[0] == 401
    for path in ("/ext/metrics", "/ext/metrics/"):
        assert asked(connection, path)[:2] == (401, CHALLENGE)
        assert asked(connection, path, headers=bearer(RPC))[0] == 401
        assert asked(connection, path, headers=bearer(METRICS * 2))[0] == 200


def test_probes_and_pages_need_none(connection: http.client.HTTPConnection) -> None:
    for path in ("/ext/health/liveness", "/ext/docs", "/", "/admin/login/"):
        assert asked(connection, path)[:2] == (200, None), path


def test_the_explorer_does_not_call_methods_without_the_token(
    connection: http.client.HTTPConnection,
) -> None:
    path = "/api?module=proxy&action=eth_blockNumber"
    assert b"needs a token" in asked(connection, path)[2]
    assert json.loads(asked(connection, path, headers=bearer(RPC))[2])["result"] == "0x0"
    assert b"needs a token" not in asked(connection, "/api?module=stats&action=ethprice")[2]


def test_a_form_of_the_reference_asks_for_the_token_once(guarded: NodeProcess) -> None:
    given = {"base": guarded.base_url, "token": RPC}
    found = node_script("run.mjs", "api_reference", "withToken", json.dumps(given))

    assert found["without"].startswith("401: a token is needed")
    assert json.loads(found["given"])["result"] == "0x0"
    assert json.loads(found["kept"])["result"] == {"networkName": "local"}
    assert found["asked"] == ["The RPC interfaces of this node need a token:"] * 2


async def test_a_websocket_needs_the_header(guarded: NodeProcess, server: str) -> None:
    for headers in ({}, bearer("another-token-of-some-length")):
        with pytest.raises(InvalidStatus) as refused:
            async with connect(guarded.ws_url, additional_headers=headers):
                pass
        # daphne cannot send a response in place of the handshake
        assert refused.value.response.status_code == (401 if server == "uvicorn" else 403)
        if server == "uvicorn":
            assert refused.value.response.headers["WWW-Authenticate"].startswith(CHALLENGE)
    async with connect(guarded.ws_url, additional_headers=guarded.headers) as socket:
        await socket.send(HEIGHT.decode())
        assert json.loads(await asyncio.wait_for(socket.recv(), 60))["result"] == "0x0"


def test_the_unix_socket_of_the_same_user_needs_none(guarded: NodeProcess) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(guarded.directory / "node.ipc"))
        client.sendall(HEIGHT)
        assert json.loads(client.makefile("rb").readline())["result"] == "0x0"


def test_commands_send_the_token(guarded: NodeProcess) -> None:
    def run(*command: str) -> str:
        env = {
            "PATH": "/usr/bin:/bin",
            "NODE_DATA_DIR": str(guarded.directory / "data"),
            "NODE_RPC_TOKEN_FILE": str(guarded.directory / "NODE_RPC_TOKEN_FILE"),
        }
        return subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=env,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    assert "answers in" in " ".join(run("status").split())
    assert run("shell", "-c", "print('height', w3.eth.block_number)").endswith("height 0\n")


def test_the_fixtures_client_sends_it(guarded: NodeProcess) -> None:
    assert guarded.rpc("eth_blockNumber") == "0x0"
    with requests.Session() as session:
        session.headers.update(guarded.headers)
        assert Web3(HTTPProvider(guarded.url, session=session)).eth.block_number == 0
    with pytest.raises(Unreachable, match=r"HTTP Error 401: Unauthorized$"):
        call(guarded.url, "eth_blockNumber")


def test_no_log_has_a_token(guarded: NodeProcess) -> None:
    written = guarded.log.read_text()
    assert "Listening on" in written
    for token in (RPC, OLD, KEYSTORE, METRICS, "another-token-of-some-length"):
        assert token not in written
