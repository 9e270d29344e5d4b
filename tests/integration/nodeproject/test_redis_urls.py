"""Cache, channel layer, rate limit and Celery's broker use the same Redis, with TLS and over sockets."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.certificates import make_certificate
from tests.servers.node import ROOT
from tests.servers.ports import free_port
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.sqlite_only

SECONDS = 120.0
CLIENTS = ("cache", "filters", "channels", "limit", "broker")
USER = "alice:a,b;c"

ASK = """
import asyncio, json, django
django.setup()
from channels.layers import get_channel_layer
from django.core.cache import cache
from nodeproject.apps import this_node
from nodeproject.celery import app

def ask_cache():
    cache.set("key", "value")
    assert cache.get("key") == "value"

def ask_filters():
    this_node().evm_chain.filter_index.remove("client", 1)

def ask_broker():
    with app.connection_for_write() as connection:
        connection.default_channel.client.ping()

async def ask_limit():
    throttle = this_node().endpoints.cchain.throttle
    await throttle._redis.ping()
    await throttle.close()

clients = {
    "cache": ask_cache,
    "filters": ask_filters,
    "channels": lambda: asyncio.run(get_channel_layer().group_send("group", {"type": "x"})),
    "limit": lambda: asyncio.run(ask_limit()),
    "broker": ask_broker,
}
found = {}
for name, ask in clients.items():
    try:
        ask()
        found[name] = "answered"
    except Exception as error:
        found[name] = str(error)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("redis")


@pytest.fixture(scope="module")
def tls_port(directory: Path) -> Iterator[int]:
    """The port of a server with TLS, and a socket beside it: `directory` contains both and the CA certificate."""
    files, port = make_certificate(directory), free_port()
    server = RedisServer(
        "--unixsocket", str(directory / "redis.sock"), "--tls-port", str(port),
        "--tls-cert-file", str(files.certificate), "--tls-key-file", str(files.key),
        "--tls-ca-cert-file", str(files.certificate), "--tls-auth-clients", "no",
        "--user", "alice", "on", ">a,b;c", "~*", "&*", "+@all",
    )  # fmt: skip
    yield port
    server.stop()


def answers(url: str, data: Path) -> dict[str, str]:
    """Return the answer that each user of NODE_REDIS_URL gets in a process of the production profile."""
    own = {
        "DJANGO_SETTINGS_MODULE": "nodeproject.settings.production",
        "NODE_PROFILE": "production",
        "NODE_DATABASE_URL": "postgres://node@127.0.0.1:9/node",
        "NODE_DATA_DIR": str(data),
        "NODE_RATE_LIMIT": "1000",
        "NODE_REDIS_URL": url,
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=ROOT,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "url",
    [
        "rediss://127.0.0.1:{port}/1?ssl_ca_certs={directory}/server.crt",
        "rediss://localhost:{port}/1?ssl_ca_certs={directory}/server.crt&ssl_check_hostname=false",
        f"rediss://{USER}@127.0.0.1:{{port}}/1?ssl_cert_reqs=none",
        f"unix://{USER}@{{directory}}/redis.sock?db=1",
    ],
)
def test_all_are_answered(url: str, tls_port: int, directory: Path, tmp_path: Path) -> None:
    found = answers(url.format(port=tls_port, directory=directory), tmp_path)

    assert found == dict.fromkeys(CLIENTS, "answered")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("rediss://127.0.0.1:{port}/1", "CERTIFICATE_VERIFY_FAILED"),
        (
            "rediss://localhost:{port}/1?ssl_ca_certs={directory}/server.crt",
            "CERTIFICATE_VERIFY_FAILED",
        ),
        ("rediss://127.0.0.1:{port}/1?ssl_ca_certs=/absent.pem", "No such file or directory"),
    ],
)
def test_unverifiable_certificate_is_refused_by_all_clients(
    url: str, reason: str, tls_port: int, directory: Path, tmp_path: Path
) -> None:
    found = answers(url.format(port=tls_port, directory=directory), tmp_path)

    assert set(found) == set(CLIENTS)
    for client, message in found.items():
        assert reason in message, client
