"""`import_chain` and `export_chain` as operators use them, and a node that runs on the imported chain."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import rlp

from cchain_app.foreign.files import read_blocks
from tests.builders.transactions import signed
from tests.e2e.conftest import MakeNode
from tests.e2e.transactions import wait_for_receipts
from tests.servers.node import ROOT, RunningNode
from tests.servers.process import ServerProcess
from tests.servers.tables import give_tables

VECTORS = ROOT / "tests" / "vectors" / "tracing"
GENESIS, CHAIN = VECTORS / "genesis.json", VECTORS / "chain.rlp"
HEAD = json.loads((VECTORS / "head.json").read_text())
SECONDS = 300

Command = Callable[..., subprocess.Popen[bytes]]
"""Starts a command on the data directory, with its output and input as pipes."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory whose database has only its tables."""
    give_tables(tmp_path / "data")
    return tmp_path / "data"


@contextmanager
def commands(data: Path) -> Iterator[Command]:
    """Yield a function that starts commands; kill the commands that still run at the end."""
    with ExitStack() as end:

        def start(*arguments: object) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, "manage.py", *map(str, arguments)],
                cwd=ROOT,
                env=environment(data),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            end.enter_context(process)
            end.callback(process.kill)
            return process

        yield start


def environment(data: Path) -> dict[str, str]:
    """Return the environment variables of a command on a data directory."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("NODE_")}
    inherited.pop("DJANGO_SETTINGS_MODULE", None)
    return {**inherited, "NODE_DATA_DIR": str(data), "PYTHONUNBUFFERED": "1"}


def ended(data: Path, *arguments: object) -> tuple[int, str]:
    """Run a command without input on a data directory; return its exit code and its output."""
    log = data.parent / "command.log"
    log.unlink(missing_ok=True)
    command = [sys.executable, "manage.py", *map(str, arguments)]
    process = ServerProcess(command, log, env=environment(data), cwd=ROOT, is_warm=True)
    return process.ending(SECONDS), log.read_text()


def run(process: subprocess.Popen[bytes], given: bytes = b"") -> tuple[int, str, str]:
    """Return the exit code and the output of a command."""
    out, err = process.communicate(given, timeout=SECONDS)
    return process.returncode, out.decode(), err.decode()


def split(*places: int) -> list[bytes]:
    """Return the chain's file split after certain blocks."""
    with CHAIN.open("rb") as stream:
        raws = list(read_blocks(stream))
    starts = [0, *places]
    return [
        b"".join(raws[start:stop]) for start, stop in zip(starts, [*places, len(raws)], strict=True)
    ]


class Imported(NamedTuple):
    """A data directory with the whole chain, and the result of its import."""

    data: Path
    code: int
    printed: str


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """The chain, imported from three files."""
    directory = tmp_path_factory.mktemp("imported")
    data = directory / "data"
    give_tables(data)
    parts = split(30, 60)
    (directory / "one.rlp").write_bytes(parts[0])
    (directory / "two.rlp.gz").write_bytes(gzip.compress(parts[1]))
    files = (directory / "one.rlp", directory / "two.rlp.gz", "-")
    with commands(data) as start:
        code, printed, _ = run(start("import_chain", GENESIS, *files), parts[2])
    return Imported(data, code, printed)


def test_files_are_imported_in_order_and_from_standard_input(imported: Imported) -> None:
    assert imported.code == 0
    assert "one.rlp: 30 blocks with 36 transactions" in imported.printed
    assert "one.rlp: 30 blocks with 36 transactions" in imported.printed
    assert imported.printed.splitlines()[-1] == f"The chain is at block 90, {HEAD['hash']}."


def test_a_node_runs_on_an_imported_chain_and_makes_no_blocks(
    imported: Imported, tmp_path: Path
) -> None:
    shutil.copytree(imported.data, tmp_path / "node" / "data")
    with RunningNode(tmp_path / "node") as node:
        node.start()
        with node.client() as client:
            for tag in ("latest", "safe", "finalized"):
                found = client.call("eth_getBlockByNumber", tag, False)
                assert (found["hash"], found["stateRoot"]) == (HEAD["hash"], HEAD["stateRoot"])
            first = client.call("eth_getBlockByNumber", "0x0", False)
            assert (first["hash"], first["stateRoot"]) == (
                HEAD["genesisHash"],
                HEAD["genesisStateRoot"],
            )
            sender = f"0x{signed().sender.hex()}"
            nonce = int(client.call("eth_getTransactionCount", sender, "latest"), 16)
            raw = f"0x{signed(nonce=nonce).raw.hex()}"
            sent = client.call("eth_sendRawTransaction", raw)
        assert "imported" in node.manage("produce_block")
        assert node.rpc("eth_blockNumber") == HEAD["number"]
        node.stop()

        node.manage("import_chain", str(GENESIS), "--produce")
        node.start()
        node.manage("produce_block")
        with node.client() as client:
            (receipt,) = wait_for_receipts(client, [sent])
        assert receipt["blockNumber"] == hex(91)


def test_imported_chain_is_exported_unchanged(imported: Imported, tmp_path: Path) -> None:
    out, packed = tmp_path / "out.rlp", tmp_path / "out.rlp.gz"

    assert ended(imported.data, "export_chain", out)[0] == 0
    assert out.read_bytes() == CHAIN.read_bytes()
    assert ended(imported.data, "export_chain", packed, 11, 80)[0] == 0
    assert gzip.decompress(packed.read_bytes()) == split(10, 80)[1]
    code, words = ended(imported.data, "export_chain", out, 80, 91)
    assert (code, "the chain is at 90" in words) == (1, True)
    assert out.read_bytes() == CHAIN.read_bytes()


def test_own_chain_is_imported_by_another_node(
    data: Path, make_node: MakeNode, tmp_path: Path
) -> None:
    node = make_node()
    node.start()
    sent = [node.rpc("eth_sendRawTransaction", f"0x{signed(nonce=n).raw.hex()}") for n in range(3)]
    with node.client() as client:
        wait_for_receipts(client, sent)
    head = node.rpc("eth_getBlockByNumber", "latest", False)
    genesis, file = tmp_path / "genesis.json", tmp_path / "own.rlp"
    node.manage("export_chain", str(file), f"--genesis={genesis}")

    code, printed = ended(data, "import_chain", genesis, file)

    assert code == 0
    assert f"The chain is at block {int(head['number'], 16)}, {head['hash']}." in printed


def test_killed_import_continues(data: Path, tmp_path: Path) -> None:
    parts = split(30, 60)
    (tmp_path / "one.rlp").write_bytes(parts[0])
    (tmp_path / "two.rlp").write_bytes(parts[1])
    with commands(data) as start:
        killed = start("import_chain", GENESIS, tmp_path / "one.rlp", "-")
        assert killed.stdout is not None
        assert killed.stdin is not None
        assert b"30 blocks" in killed.stdout.readline()
        killed.stdin.write(parts[1][: len(parts[1]) // 2])
        killed.stdin.flush()
        killed.send_signal(signal.SIGKILL)
        killed.wait(SECONDS)

    files = (tmp_path / "one.rlp", tmp_path / "two.rlp")
    code, printed = ended(data, "import_chain", GENESIS, *files)

    assert code == 0
    assert "30 blocks" in printed
    assert "30 existed already" in printed
    assert "The chain is at block 60, " in printed


def test_invalid_block_stops_the_import_with_a_message(data: Path, tmp_path: Path) -> None:
    first, one, _ = split(19, 20)
    root = rlp.decode(one)[0][3]
    bad = one.replace(root, bytes(32))
    assert bad != one
    (tmp_path / "bad.rlp").write_bytes(first + bad)
    (tmp_path / "good.rlp").write_bytes(first + one)

    code, words = ended(data, "import_chain", GENESIS, tmp_path / "bad.rlp")

    assert code == 1
    expected = f"invalid stateRoot: have 0x{'00' * 32}, want 0x{root.hex()}"
    assert f"Block 20 is refused: {expected}" in words
    assert "Traceback" not in words
    code, printed = ended(data, "import_chain", GENESIS, tmp_path / "good.rlp")
    assert (code, "1 block with" in printed, "19 existed already" in printed) == (0, True, True)


def test_malformed_file_is_refused_with_a_message(data: Path, tmp_path: Path) -> None:
    (tmp_path / "none.rlp").write_bytes(b"\xf9\xff\xff\x00")

    code, words = ended(data, "import_chain", GENESIS, tmp_path / "none.rlp")

    assert code == 1
    assert "at byte 0: the file ends within a block" in words
    assert "Traceback" not in words
