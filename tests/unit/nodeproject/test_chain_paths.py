"""Paths with a blockchain ID are mapped to paths with a letter."""

from collections.abc import Iterator

import pytest

from jsonrpc.dispatch.workers import Workers
from jsonrpc.limits.client_address import NO_PROXIES
from nodeproject.web.paths import BasePaths, ChainPaths, Letters, SocketPaths, paths_of
from nodeproject.web.rpc_paths import CCHAIN_WEBSOCKETS
from platform_app.chain import NoPlatformGenesis
from primitives.ids import ID, PRIMARY_NETWORK_ID

C, X, OTHER = (str(ID(bytes([number]) * 32)) for number in (3, 24, 15))


class Chains:
    """A reader of chain letters that counts its calls."""

    def __init__(self) -> None:
        self.letters: Letters = {}
        self.asked = 0

    def read(self) -> Letters:
        self.asked += 1
        if not self.letters:
            raise NoPlatformGenesis
        return self.letters


@pytest.fixture
def chains() -> Chains:
    made = Chains()
    made.letters = {C: "C", X: "X"}
    return made


@pytest.fixture
def paths(chains: Chains) -> Iterator[ChainPaths]:
    workers = Workers(threads=1)
    yield ChainPaths(workers, chains.read)
    workers.close()


async def led(paths: ChainPaths, path: str) -> str:
    before = {"type": "http", "path": path, "raw_path": path.encode(), "method": "POST"}
    after = await paths.by_letter(before)
    assert before["path"] == path
    assert after["raw_path"] == after["path"].encode()
    assert after["method"] == "POST"
    found: str = after["path"]
    return found


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"/ext/bc/{C}/rpc", "/ext/bc/C/rpc"),
        (f"/ext/bc/{C}/ws", "/ext/bc/C/ws"),
        (f"/ext/bc/{C}/rpc/", "/ext/bc/C/rpc/"),
        (f"/ext/bc/{X}", "/ext/bc/X"),
        (f"/ext/bc/{X}/", "/ext/bc/X/"),
        (f"/ext/bc/{C}\n/rpc", f"/ext/bc/{C}\n/rpc"),
        (f"/ext/bc/{OTHER}/rpc", f"/ext/bc/{OTHER}/rpc"),
    ],
)
async def test_an_id_becomes_its_letter(paths: ChainPaths, path: str, expected: str) -> None:
    assert await led(paths, path) == expected


@pytest.mark.parametrize(
    "path",
    ["/ext/bc/C/rpc", "/ext/P", f"/ext/bc/{PRIMARY_NETWORK_ID}", f"/ext/{C}/rpc", "/admin/", "/"],
)
async def test_other_paths_cause_no_lookup(paths: ChainPaths, chains: Chains, path: str) -> None:
    assert await led(paths, path) == path
    assert chains.asked == 0


async def test_ids_are_read_once(paths: ChainPaths, chains: Chains) -> None:
    for path in (f"/ext/bc/{C}/rpc", f"/ext/bc/{OTHER}", f"/ext/bc/{X}"):
        await led(paths, path)

    assert chains.asked == 1


async def test_before_there_is_a_genesis_no_chain_has_an_id(
    paths: ChainPaths, chains: Chains
) -> None:
    known, chains.letters = chains.letters, {}
    assert await led(paths, f"/ext/bc/{C}/rpc") == f"/ext/bc/{C}/rpc"
    chains.letters = known
    assert await led(paths, f"/ext/bc/{C}/rpc") == "/ext/bc/C/rpc"


def test_websocket_paths_accept_aliases_and_ids() -> None:
    paths = SocketPaths(CCHAIN_WEBSOCKETS)

    for path in ("/ext/bc/C/ws", "/ext/bc/evm/ws", "/ext/C/ws", "/ext/evm/ws"):
        assert path in paths
    assert f"/ext/bc/{C}/ws" in paths
    assert f"/ext/bc/{C}/rpc" not in paths
    assert "/ext/bc/X/ws" not in paths
    assert "/ext/bc/C/rpc" not in paths
    assert None not in paths


def test_a_chain_has_paths_by_each_of_its_aliases() -> None:
    assert paths_of(("C", "evm"), "/rpc") == (
        "/ext/bc/C/rpc", "/ext/C/rpc", "/ext/bc/evm/rpc", "/ext/evm/rpc",
    )  # fmt: skip
    assert paths_of(("X",)) == ("/ext/bc/X", "/ext/X")


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("/node/ext/bc/C/ws", True),
        (f"/node/ext/bc/{C}/ws", True),
        ("/ext/bc/C/ws", True),
        ("/node/", True),
        ("/nodes/ext/bc/C/ws", False),
        ("/node/node/ext/bc/C/ws", False),
    ],
)
def test_websocket_path_can_have_the_base_path(path: str, *, is_one: bool) -> None:
    base_paths = BasePaths("/node", NO_PROXIES)

    assert (path in SocketPaths(CCHAIN_WEBSOCKETS, base_paths.without)) == is_one
    assert path.startswith("/ext") == (path in SocketPaths(CCHAIN_WEBSOCKETS))
