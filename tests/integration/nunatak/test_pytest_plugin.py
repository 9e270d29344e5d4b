"""The fixtures in another project, whose pytest runs in a process of its own.

A chain that consists of one number replaces the node; `tests/e2e/test_wheel.py` uses a real node.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.fake_chain import FakeChain, serving

pytestmark = pytest.mark.sqlite_only

ROOT = Path(__file__).parents[3]


@pytest.fixture
def fake() -> FakeChain:
    return FakeChain()


@pytest.fixture
def url(fake: FakeChain) -> Iterator[str]:
    with serving(lambda asked: (200, json.dumps(fake.answer(asked)).encode())) as found:
        yield found


def run(project: Path, *arguments: str) -> tuple[int, str]:
    """Run pytest on a project; return its exit code and its output."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "nunatak.pytest_plugin",
        "-p",
        "no:cacheprovider",
    ]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [*command, "-W", "error", "-q", *arguments],
        cwd=project,
        env={**env, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_each_test_starts_from_the_same_chain(url: str, fake: FakeChain, tmp_path: Path) -> None:
    fake.number = 7
    (tmp_path / "test_sample.py").write_text(
        """
import pytest

@pytest.fixture(scope="module")
def deployed(node):
    node.rpc("test_add", 100)

@pytest.mark.parametrize("number", [1, 2, 3])
def test_adds(deployed, chain, number):
    chain.rpc("test_add", number)
    assert chain.rpc("test_number") == 107 + number

def test_fails(deployed, chain):
    chain.rpc("test_add", 1)
    assert chain.rpc("test_number") == 0

def test_goes_back_by_itself_too(deployed, chain):
    assert chain.rpc("test_number") == 107
    with chain.isolated():
        chain.rpc("test_add", 5)
    taken = chain.snapshot()
    chain.rpc("test_add", 6)
    assert chain.rpc("test_number") == 113
    chain.revert(taken)
    assert chain.rpc("test_number") == 107
"""
    )

    code, said = run(tmp_path, "--nunatak-url", url)

    assert (code, said.splitlines()[-1].partition(" in ")[0]) == (1, "1 failed, 4 passed"), said
    assert fake.number == 107
    assert fake.calls.count("evm_snapshot") == fake.calls.count("evm_revert") == 7


def test_revert_below_the_fixtures_snapshot_is_reported(url: str, tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(
        "def test_too_far(chain):\n    chain.revert('0x1')\n"
        "def test_the_next_one_has_a_snapshot_of_its_own(chain):\n    chain.rpc('test_add', 1)\n"
    )

    code, said = run(tmp_path, "--nunatak-url", url)

    assert code == 1
    assert "SnapshotLost: the node does not have the snapshot 0x1 any more" in said
    assert said.splitlines()[-1].startswith("2 passed, 1 error in ")


def test_node_without_snapshots_is_reported(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text("def test_it(chain):\n    pass\n")
    error = {"error": {"code": -32601, "message": "the method evm_snapshot does not exist"}}

    with serving(lambda _asked: (200, json.dumps(error).encode())) as url:
        code, said = run(tmp_path, "--nunatak-url", url)

    assert code == 1
    assert "RpcError: evm_snapshot: the method evm_snapshot does not exist (-32601)" in said


def test_output_of_a_failed_start_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def nunatak_settings():\n    return {'NODE_NETWORK_ID': 'none'}\n"
    )
    (tmp_path / "test_sample.py").write_text("def test_it(node):\n    pass\n")

    code, said = run(tmp_path)

    assert code == 1
    assert "NodeEnded: the node ended with 1 before it answered:" in said
    assert "NODE_NETWORK_ID is 'none'; it must be a whole number from 1 to 4294967295" in said


def test_accounts_are_the_well_known_ones(url: str, tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(
        """
from eth_account import Account

def test_accounts(accounts, w3):
    Account.enable_unaudited_hdwallet_features()
    mnemonic = "test test test test test test test test test test test junk"
    paths = [f"m/44'/60'/0'/0/{place}" for place in range(10)]
    known = [Account.from_mnemonic(mnemonic, account_path=path) for path in paths]
    assert accounts[:10] == known
    assert accounts[10].address == "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC"
    assert len(accounts) == 11
    assert w3.eth.default_account == accounts[0].address
    assert w3.eth.chain_id == 1
"""
    )

    code, said = run(tmp_path, "--nunatak-url", url)

    assert (code, said.splitlines()[-1].partition(" in ")[0]) == (0, "1 passed"), said


def test_run_without_node_fixtures_starts_no_node(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(
        "import sys\ndef test_it():\n    assert not {'web3', 'eth_account', 'django'} & set(sys.modules)\n"
    )

    code, said = run(tmp_path)

    assert (code, said.splitlines()[-1].partition(" in ")[0]) == (0, "1 passed"), said
