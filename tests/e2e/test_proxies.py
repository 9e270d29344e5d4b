"""The examples in deploy/proxies: TLS, WebSocket and closed paths in front of a node, with real proxies."""

import json
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import requests
from websockets.sync.client import connect

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, MakeNode
from tests.servers.certificates import Certificate, make_certificate
from tests.servers.ports import free_port
from tests.servers.process import ServerProcess

PROXIES = Path(__file__).resolve().parents[2] / "deploy/proxies"
HOST = "node.example.com"
OPERATORS = "192.0.2.0/24"
"""The network in the examples from which closed paths are open."""
NGINX = """
pid {directory}/nginx.pid;
error_log stderr warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    include {directory}/node.conf;
}}
"""
CADDY = "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n"


class Proxy:
    """A running proxy, reached as its clients reach it."""

    def __init__(self, port: int, certificate: Certificate, process: ServerProcess) -> None:
        self.port, self.process = port, process
        self.url = f"https://127.0.0.1:{port}"
        self.certificate_file = certificate.certificate
        self.session = requests.Session()
        self.session.trust_env = False  # or a bundle of the environment would be used instead
        self.session.verify = str(certificate.certificate)
        self.session.headers["Host"] = HOST

    def is_ready(self) -> bool:
        with suppress(requests.ConnectionError, requests.Timeout):  # the node may be slow at first
            return self.session.get(self.url + "/ext/health/liveness", timeout=5).ok
        return False

    def status(self, path: str) -> int:
        return self.session.get(self.url + path, timeout=60, allow_redirects=False).status_code


@pytest.fixture
def node(make_node: MakeNode) -> CheckedNode:
    """A node with the settings that the examples name."""
    env = {
        "NODE_TRUSTED_PROXIES": "127.0.0.1",
        "NODE_ALLOWED_HOSTS": HOST,
        "NODE_ADMIN_HTTPS": "true",
    }
    made = make_node(env=env)
    made.start()
    return made


def nginx(directory: Path, port: int, node: int, certificate: Certificate, operators: str) -> str:
    """Write the example for nginx with other ports and files; return its configuration."""
    text = (PROXIES / "nginx.conf").read_text()
    for example, own in (
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("listen 443 ssl http2;", f"listen 127.0.0.1:{port} ssl http2;"),
        ("/etc/letsencrypt/live/node.example.com/fullchain.pem", str(certificate.certificate)),
        ("/etc/letsencrypt/live/node.example.com/privkey.pem", str(certificate.key)),
        ("127.0.0.1:9650", f"127.0.0.1:{node}"),
        (OPERATORS, operators),
    ):
        assert example in text
        text = text.replace(example, own)
    (directory / "node.conf").write_text(text)
    return NGINX.format(directory=directory)


def caddy(directory: Path, port: int, node: int, certificate: Certificate, operators: str) -> str:
    """Return the example for Caddy with other ports, and with a certificate of files."""
    text = (PROXIES / "Caddyfile").read_text()
    tls = f"\ttls {certificate.certificate} {certificate.key}\n"
    for example, own in (
        (f"\n{HOST} {{\n", f"\nhttps://{HOST}:{port} {{\n\tbind 127.0.0.1\n{tls}"),
        ("127.0.0.1:9650", f"127.0.0.1:{node}"),
        (OPERATORS, operators),
    ):
        assert example in text
        text = text.replace(example, own)
    return CADDY + text


@pytest.fixture(params=["nginx", "caddy"])
def make_proxy(
    request: pytest.FixtureRequest, node: CheckedNode, tmp_path: Path
) -> Iterator["MakeProxy"]:
    making = MakeProxy(request.param, node, tmp_path)
    yield making
    for process in making.processes:
        process.stop()


class MakeProxy:
    """Starts proxies of one kind in front of a node."""

    def __init__(self, kind: str, node: CheckedNode, directory: Path) -> None:
        self.kind, self.node, self.directory = kind, node, directory
        self.processes: list[ServerProcess] = []
        self.certificate = make_certificate(directory, HOST)

    def __call__(self, operators: str = OPERATORS) -> Proxy:
        directory = self.directory / f"{self.kind}{len(self.processes)}"
        directory.mkdir()
        port, path = free_port(), directory / "proxy.conf"
        write = {"nginx": nginx, "caddy": caddy}[self.kind]
        path.write_text(write(directory, port, self.node.port, self.certificate, operators))
        command = {
            "nginx": ["nginx", "-p", str(directory), "-c", str(path), "-g", "daemon off;"],
            "caddy": ["caddy", "run", "--config", str(path), "--adapter", "caddyfile"],
        }[self.kind]
        env = {
            "PATH": "/usr/sbin:/usr/bin:/bin",
            "HOME": str(directory),
            "XDG_DATA_HOME": str(directory),
        }
        process = ServerProcess(command, directory / "proxy.log", env=env)
        self.processes.append(process)
        proxy = Proxy(port, self.certificate, process)
        process.wait_until(proxy.is_ready)
        return proxy


def test_proxy_passes_public_paths_and_blocks_closed_ones(
    make_proxy: MakeProxy,
) -> None:
    proxy = make_proxy()
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
    for path in ("/", "/ext/bc/C/rpc"):
        answer = proxy.session.post(proxy.url + path, json=call, timeout=60)
        assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": hex(CHAIN_ID)}
    assert "max-age" in answer.headers["Strict-Transport-Security"]

    for path in ("/ext/keystore", "/ext/metrics", "/admin/", "/admin/login/"):
        assert proxy.status(path) == 403, path
    assert proxy.status("/blocks") == 200
    assert proxy.status("/ext/health/liveness") == 200

    context = ssl.create_default_context(cafile=str(proxy.certificate_file))
    with connect(
        f"wss://{HOST}:{proxy.port}/ext/bc/C/ws",
        sock=socket.create_connection(("127.0.0.1", proxy.port)),
        ssl=context,
        proxy=None,
        open_timeout=60,
    ) as connection:
        connection.send(json.dumps(call))
        assert json.loads(connection.recv(60))["result"] == hex(CHAIN_ID)


def test_operators_log_in_through_the_proxy_and_forged_headers_are_ignored(
    make_proxy: MakeProxy,
) -> None:
    proxy = make_proxy(operators="127.0.0.0/8")
    assert "svc_build_info" in proxy.session.get(proxy.url + "/ext/metrics", timeout=60).text

    page = proxy.session.get(
        proxy.url + "/admin/login/", headers={"X-Forwarded-Prefix": "/elsewhere"}, timeout=60
    )
    assert "/elsewhere" not in page.text
    (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text))
    password = (make_proxy.node.directory / "data" / "admin_password").read_text().strip()
    form = {"csrfmiddlewaretoken": token, "username": "admin", "password": password}
    logged_in = proxy.session.post(
        proxy.url + "/admin/login/?next=/admin/",
        data=form,
        headers={"Referer": f"https://{HOST}/admin/login/"},
        timeout=60,
        allow_redirects=False,
    )
    assert (logged_in.status_code, logged_in.headers["Location"]) == (302, "/admin/")
    assert all(cookie.secure for cookie in proxy.session.cookies)
