"""The image's steps, run in an empty folder: the copied files are sufficient, and have no faults."""

import json
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from nodeproject.settings.node import NodeSettings
from nodeproject.startup.identity import make_identity
from nunatak.rpc import call
from tests.builders.node_settings import updated
from tests.integration.jsonrpc.guarded import until
from tests.integration.patience import SECONDS
from tests.repository import deployed
from tests.repository.deployed import ROOT
from tests.servers.ports import free_ports, has_ipv6

pytestmark = pytest.mark.sqlite_only

ENVIRONMENT = Path(sys.executable).parent.parent


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder /opt/node of the image, with the Python environment of the tests."""
    made = tmp_path_factory.mktemp("image")
    (made / ".venv").symlink_to(ENVIRONMENT)
    for source, target in deployed.copied():
        found, place = ROOT / source, made / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if found.is_dir():
            shutil.copytree(found, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(found, place)
    return made


def run(image: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the image in its folder, without the environment variables of the tests."""
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=image,
        env={"PATH": f"{ENVIRONMENT}/bin:/usr/bin:/bin", "HOME": str(image), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_copied_files_compile_and_pass_the_deployment_check(image: Path, tmp_path: Path) -> None:
    steps = [rest for word, rest in deployed.dockerfile() if word == "RUN"]
    (compiling,) = [step for step in steps if "compileall" in step]
    # The Python environment belongs to the tests, and other processes use it.
    compiled = run(image, compiling.replace(".venv/lib ", ""))
    assert (compiled.returncode, compiled.stdout + compiled.stderr) == (0, "")
    assert list(image.glob("nodeproject/__pycache__/node.*.pyc"))

    data = tmp_path / "data"
    data.mkdir()
    make_identity(updated(NodeSettings(), data_dir=str(data)), 1_700_000_000)
    (web,) = [item for item in deployed.composed() if item.name == "web"]
    settings = {
        **web.environment,
        "NODE_DATABASE_URL": "postgres://node:secret@127.0.0.1:1/node",
        "NODE_PUBLIC_IP": "203.0.113.7",
        "NODE_DATA_DIR": str(data),
        "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics"),
        "NODE_HTTP_HOST": "::",
        "NODE_STAKING_HOST": "0.0.0.0",
    }
    checked = run(image, "python manage.py check --deploy --fail-level INFO", **settings)
    assert checked.returncode == 0, checked.stderr
    assert "System check identified no issues" in checked.stdout

    open_to_all = {**settings, "NODE_ADMIN_HTTPS": "false"}
    warned = run(image, "python manage.py check --deploy --fail-level WARNING", **open_to_all)
    assert warned.returncode != 0
    assert "SESSION_COOKIE_SECURE" in warned.stderr


def test_the_developers_image_is_a_chain_at_anvils_port(image: Path, tmp_path: Path) -> None:
    here = tmp_path / "image"
    shutil.copytree(image, here, symlinks=True)
    steps = deployed.stage("developer")
    for word, rest in steps:
        if word == "COPY":
            source, target = rest.split()
            (here / target).mkdir()
            shutil.copy(ROOT / source, here / target)
        elif word == "RUN":
            prepared = run(here, rest)
            assert prepared.returncode == 0, prepared.stderr
    assert list(here.glob("nodeproject/startup/empty-*.sqlite3"))

    variables = deployed.image_environment() | deployed.environment("developer")
    assert variables["NODE_HTTP_PORT"] == "8545"
    assert ("EXPOSE", "8545") in steps
    (entry,) = [json.loads(rest) for word, rest in steps if word == "ENTRYPOINT"]
    port, staking_port = free_ports(2)
    flags = ["--port", str(port), "--staking-port", str(staking_port), "--block-time", "3600"]
    kept = {name: text for name, text in variables.items() if name not in {"PATH", "NODE_DATA_DIR"}}
    with subprocess.Popen(
        [*entry, *flags],
        cwd=here,
        env={
            **kept,
            "PATH": f"{ENVIRONMENT}/bin:/usr/bin:/bin",
            "NODE_DATA_DIR": str(tmp_path / "data"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = ""
        try:
            for line in process.stdout:
                said += line
                if line.startswith("Listening on"):
                    break
            assert "Listening on [::]:" in said, said
            url = f"http://127.0.0.1:{port}"
            assert call(url, "eth_chainId") == hex(31337)
            assert call(url, "anvil_getIntervalMining") == 3600
        finally:
            process.terminate()
            process.communicate(timeout=SECONDS)


_COMPILE = """
import json, time
from explorer_app.apps import explorer
found = explorer().compilers
source = {"Empty.sol": {"content": "contract Empty {}"}}
text = json.dumps({"language": "Solidity", "sources": source, "settings": {"outputSelection": {"*": {"*": ["abi"]}}}})
for version in found.versions():
    made = found.compile(version, text.encode(), until=time.monotonic() + 60)
    print(made.version.long, json.dumps(made.output["contracts"]))
"""


@pytest.fixture
def compilers(tmp_path: Path) -> Path:
    """The volume of the compilers, with one compiler in it."""
    place = tmp_path / "compilers"
    (place / "node_modules").mkdir(parents=True)
    (place / "node_modules/solc").symlink_to(ROOT / "tests/clients/node_modules/solc-0.8.28")
    return place


@contextmanager
def compiling(image: Path, compilers: Path, socket: Path) -> Iterator[None]:
    """Run the container of the compilers, with only its own settings."""
    process = subprocess.Popen(
        [f"{ENVIRONMENT}/bin/python", "-m", "nodeproject.compilers"],
        cwd=image,
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "NODE_SOLC_DIRECTORY": str(compilers),
            "NODE_SOLC_SOCKET": str(socket),
        },
        stderr=subprocess.PIPE,
    )
    try:
        until(lambda: socket.exists() or process.poll() is not None)
        yield
    finally:
        process.terminate()
        _, words = process.communicate(timeout=SECONDS)
    assert (process.returncode, words) == (0, b"")


def test_compiler_container_compiles_for_the_other_containers(
    image: Path, compilers: Path, tmp_path: Path
) -> None:
    socket = tmp_path / "socket"
    settings = {"NODE_DATA_DIR": str(tmp_path / "data"), "NODE_SOLC_SOCKET": str(socket)}

    with compiling(image, compilers, socket):
        done = run(image, f"python manage.py shell -c {shlex.quote(_COMPILE)}", **settings)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == (
        '0.8.28+commit.7893614a {"Empty.sol": {"Empty": {"abi": []}}}'
    )


class _Answer(BaseHTTPRequestHandler):
    """Answers readiness requests with the server's `status`."""

    def do_GET(self) -> None:
        known = self.path == "/ext/health/readiness"
        self.send_response(self.server.status if known else 404)  # type: ignore[attr-defined]
        self.end_headers()
        self.wfile.write(b'{"healthy":true}')

    @override
    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class _Server(HTTPServer):
    def __init__(self, address: str) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, 0), _Answer)


@pytest.fixture(params=["127.0.0.1", "::1"])
def answering(request: pytest.FixtureRequest) -> Iterator[HTTPServer]:
    """A web server that answers readiness requests."""
    if ":" in request.param and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    with _Server(request.param) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_health_check_passes_only_when_the_node_is_ready(
    image: Path, answering: HTTPServer
) -> None:
    (health,) = [rest for word, rest in deployed.dockerfile() if word == "HEALTHCHECK"]
    command = shlex.join(json.loads(health.partition("CMD ")[2]))
    place = {"NODE_HTTP_PORT": str(answering.server_port)}
    is_ipv6 = answering.address_family == socket.AF_INET6
    for host in ("::1", "[::1]") if is_ipv6 else ("127.0.0.1", "0.0.0.0", "::", "*", ""):
        place["NODE_HTTP_HOST"] = host
        for status, code in ((200, 0), (503, 1)):
            answering.status = status  # type: ignore[attr-defined]
            found = run(image, command, **place)
            assert (found.returncode, found.stdout) == (code, '{"healthy":true}'), host
    answering.server_close()
    found = run(image, command, **place)
    assert found.returncode == 1
    assert "the node does not answer" in found.stdout
