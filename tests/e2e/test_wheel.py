"""The wheel in an empty environment outside this repository: one command runs a node, and pytest has its fixtures."""

import os
import re
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from eth_account import Account

from primitives.keys import DEV_KEYS
from primitives.product import NAME, VERSION
from scripts.pure_wheel import write_pure
from tests.e2e.conftest import CHAIN_ID
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers.client import RpcClient, RpcUnreachable
from tests.servers.node import START_SECONDS
from tests.servers.ports import free_ports
from tests.servers.process import ServerProcess

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"][
    "python-packages"
]
EMPTY_DATABASE = r"nodeproject/startup/empty-[0-9a-f]{16}\.sqlite3"
BESIDE_PYTHON = Path(sys.executable).parent

SAMPLE = '''
"""A project's tests with the fixtures, and nothing in a conftest.py."""

import pytest

# PUSH1 42, PUSH0, SSTORE, and an empty contract is left
INIT_CODE = "0x602a5f555f5ff3"
STRANGER = "0x000000000000000000000000000000000000dEaD"


def send(w3, **fields):
    return w3.eth.wait_for_transaction_receipt(w3.eth.send_transaction(fields), poll_latency=0.02)


def test_the_node_is_one_of_its_own(node, w3):
    assert w3.client_version.startswith("anvil/v1.7.1/nunatak/v")
    assert w3.eth.chain_id == int(node.rpc("eth_chainId"), 16) == 43112


def test_every_account_has_coins_and_signs(w3, accounts):
    for one in accounts:
        receipt = send(w3, **{"from": one.address, "to": STRANGER, "value": 1})
        assert (receipt["status"], receipt["from"]) == (1, one.address)


@pytest.fixture(scope="module")
def contract(w3):
    return send(w3, data=INIT_CODE)["contractAddress"]


def test_a_contract_is_there_for_the_module(w3, contract):
    assert int.from_bytes(w3.eth.get_storage_at(contract, 0)) == 42


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_each_test_finds_the_chain_as_it_was(chain, w3, contract, turn):
    fresh = "0x" + "12" * 20
    assert w3.eth.get_balance(fresh) == 0
    send(w3, to=fresh, value=turn)
    assert w3.eth.get_balance(fresh) == turn
    assert int.from_bytes(w3.eth.get_storage_at(contract, 0)) == 42


def test_blocks_clock_and_balances_are_the_tests(chain, w3):
    before = w3.eth.get_block("latest")
    chain.increase_time(86_400)
    chain.mine(2)
    chain.set_balance(STRANGER, 10**24)
    after = w3.eth.get_block("latest")
    assert after["number"] >= before["number"] + 2
    assert after["timestamp"] >= before["timestamp"] + 86_400
    assert w3.eth.get_balance(STRANGER) == 10**24
'''
ISOLATED = ("test_each_test_finds_the_chain", "test_blocks_clock_and_balances")
"""The tests that use the node's development methods."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the library that `make native` has compiled."""
    if subprocess.run(["scripts/native_toolchain.sh"], cwd=ROOT, check=False).returncode:
        pytest.skip("without a Rust toolchain there is no engine to pack")
    target = tmp_path_factory.mktemp("wheel")
    here = os.path.relpath(sys.executable, ROOT)
    subprocess.run(["scripts/build_wheel.sh", here, str(target)], cwd=ROOT, check=True)
    (built,) = target.glob("*.whl")
    return built


def make_environment(place: Path) -> Path:
    """Create an empty environment; return its programs."""
    subprocess.run(
        [BESIDE_PYTHON / "uv", "venv", "--quiet", "--python", sys.executable, place], check=True
    )
    return place / "bin"


def install(programs: Path, *given: str) -> None:
    """Install packages into an environment."""
    # Without the hashes, the lock file constrains the versions to those of the other tests.
    constraints = ["--constraint", str(ROOT / "requirements/dev.lock")]
    uv = str(BESIDE_PYTHON / "uv")
    subprocess.run(
        [uv, "pip", "install", "--quiet", "--python", str(programs.parent), *constraints, *given],
        check=True,
        cwd=programs.parent.parent,
    )


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that contains only the wheel, its dependencies and pytest."""
    made = make_environment(tmp_path_factory.mktemp("environment") / "venv")
    install(made, str(wheel), "pytest")
    return made


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """The environment of a new user: a home directory, and no variables for the node or Python."""
    ours = ("NODE_", "PYTHON", "PYTEST", "DJANGO", "XDG_", "VIRTUAL_ENV", "COV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    (tmp_path / "home").mkdir()
    return {**kept, "HOME": str(tmp_path / "home"), "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The empty working directory of the user."""
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, check=True, capture_output=True, text=True
    )
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    packed = set(zipfile.ZipFile(wheel).namelist())

    assert len([name for name in packed if re.fullmatch(EMPTY_DATABASE, name)]) == 1
    assert len(tracked) > 500
    assert tracked <= packed
    assert {name.partition("/")[0] for name in packed} == {
        *PACKAGES, "cchain_native", f"nunatak-{VERSION}.dist-info",
    }  # fmt: skip


class Installed(NamedTuple):
    """A node that runs in that environment."""

    client: RpcClient
    port: int


@pytest.fixture
def installed(
    programs: Path, environment: Mapping[str, str], project: Path, tmp_path: Path
) -> Iterator[Installed]:
    """The node that `nunatak` starts in an empty directory."""
    with running(programs, environment, project, tmp_path / "nunatak.log") as node:
        yield node


@contextmanager
def running(
    programs: Path, environment: Mapping[str, str], project: Path, log: Path
) -> Iterator[Installed]:
    """Run the installed node."""
    port, staking_port = free_ports(2)
    env = {**environment, "NODE_HTTP_PORT": str(port), "NODE_STAKING_PORT": str(staking_port)}
    process = ServerProcess([str(programs / "nunatak")], log, env=env, cwd=project)

    def answers() -> bool:
        try:
            with RpcClient(port) as client:
                client.call("eth_chainId")
        except RpcUnreachable:
            return False
        return True

    try:
        process.wait_until(answers, START_SECONDS)
        with RpcClient(port) as client:
            yield Installed(client, port)
        process.stop()
    finally:
        process.kill()


def test_one_command_in_an_empty_directory_starts_a_node(
    installed: Installed,
    programs: Path,
    environment: Mapping[str, str],
    project: Path,
    tmp_path: Path,
) -> None:
    client = installed.client
    said = (tmp_path / "nunatak.log").read_text()
    sender = Sender(Account.from_key(next(iter(DEV_KEYS.values()))), CHAIN_ID)

    sent = client.call("eth_sendRawTransaction", sender.transfer("0x" + "12" * 20, 5))
    (receipt,) = wait_for_receipts(client, [sent])

    assert receipt["status"] == "0x1"
    assert client.call("eth_getBalance", "0x" + "12" * 20, "latest") == "0x5"
    assert f"/{NAME.lower()}/v{VERSION}/" in client.call("web3_clientVersion")
    assert f"{NAME} {VERSION}" in said
    assert "Engine     revm" in said
    data = Path(environment["HOME"]) / ".local/share/nunatak/network-12345"
    assert str(data / "admin_password") in said
    assert (data / "node.sqlite3").exists()
    assert not list(project.iterdir())

    command = [str(programs / "nunatak"), "node_status"]
    status = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=True
    )
    assert "1, 2,000,000 AVAX staked" in status.stdout
    with urllib.request.urlopen(f"http://127.0.0.1:{installed.port}/admin/login/") as page:
        assert NAME in page.read().decode()


def test_installed_node_imports_nothing_from_this_repository(
    programs: Path, environment: Mapping[str, str], project: Path
) -> None:
    line = (
        "import sys, importlib; "
        f"print(*sys.path, *(importlib.import_module(one).__file__ for one in {PACKAGES}))"
    )
    command = [str(programs / "nunatak"), "shell", "--no-imports", "-c", line]
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=True
    )

    assert str(programs.parent) in done.stdout
    assert str(ROOT) not in done.stdout


def test_pure_wheel_runs_the_reference_engine(
    wheel: Path, environment: Mapping[str, str], project: Path, tmp_path: Path
) -> None:
    pure = write_pure(wheel, tmp_path)
    assert pure.name == f"nunatak-{VERSION}-py3-none-any.whl"
    programs = make_environment(tmp_path / "venv")
    install(programs, f"nunatak[reference] @ {pure.as_uri()}")

    without = subprocess.run(
        [programs / "nunatak"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert without.returncode == 1
    assert "the reference engine is not installed: pip install 'nunatak[reference]'" in (
        without.stderr
    )
    assert "Traceback" not in without.stderr

    install(programs, "--no-deps", "ethereum-execution==2.20.0")
    with running(programs, environment, project, tmp_path / "log") as node:
        sender = Sender(Account.from_key(next(iter(DEV_KEYS.values()))), CHAIN_ID)
        sent = node.client.call("eth_sendRawTransaction", sender.transfer("0x" + "12" * 20, 5))
        (receipt,) = wait_for_receipts(node.client, [sent])
        assert receipt["status"] == "0x1"
    assert "Engine     " in (tmp_path / "log").read_text()
    assert "a thousand times slower" in (tmp_path / "log").read_text()


@pytest.fixture(scope="module")
def outcomes(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The outcome of each test of the sample project: an empty string if it passed, else its error."""
    directory = tmp_path_factory.mktemp("sample")
    (directory / "test_sample.py").write_text(SAMPLE)
    report = directory / "report.xml"
    ours = ("NODE_", "PYTHON", "PYTEST", "DJANGO", "COV_")
    subprocess.run(
        [programs / "pytest", "-W", "error", "--junit-xml", report, f"--basetemp={directory}/tmp"],
        cwd=directory,
        env={name: value for name, value in os.environ.items() if not name.startswith(ours)},
        check=False,
    )
    cases = ElementTree.parse(report).iter("testcase")
    return {str(case.get("name")): " ".join(map(_words, case)) for case in cases}


def _words(failure: ElementTree.Element) -> str:
    return f"{failure.get('message')}\n{failure.text}"


def test_a_project_has_a_node_accounts_and_a_client(outcomes: Mapping[str, str]) -> None:
    found = {name: said for name, said in outcomes.items() if not name.startswith(ISOLATED)}

    assert found == dict.fromkeys(
        (
            "test_the_node_is_one_of_its_own",
            "test_every_account_has_coins_and_signs",
            "test_a_contract_is_there_for_the_module",
        ),
        "",
    )


def test_fixtures_isolate_the_tests_of_a_project(outcomes: Mapping[str, str]) -> None:
    found = {name: said for name, said in outcomes.items() if name.startswith(ISOLATED)}

    assert len(found) == 4
    assert set(found.values()) == {""}
