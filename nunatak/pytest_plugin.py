"""The pytest plugin: a node for the session, a chain that is restored after each test, accounts, web3.py.

pytest loads it wherever the package is installed. Third-party packages are imported inside the fixtures that need
them, because every run of pytest in that environment imports this module.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nunatak.chain import Chain
from nunatak.node import Node, NodeProcess

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount
    from web3 import Web3


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that selects a running node instead of starting one."""
    group = parser.getgroup("nunatak")
    group.addoption(
        "--nunatak-url",
        metavar="URL",
        help="test against a node that runs already, by the URL of its C-Chain's JSON-RPC",
    )
    group.addoption(
        "--nunatak-token-file",
        metavar="FILE",
        help="file with the token that this node's RPC interfaces need (its NODE_RPC_TOKEN_FILE)",
    )


@pytest.fixture(scope="session")
def nunatak_settings() -> Mapping[str, str]:
    """Settings (`NODE_…`) of the session's node; a conftest.py overrides it to choose others."""
    return {}


@pytest.fixture(scope="session")
def node(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    nunatak_settings: Mapping[str, str],
) -> Iterator[Node]:
    """The session's node: a child process on free ports, or the running node named by --nunatak-url.

    With pytest-xdist each test process has its own node.
    """
    url = request.config.getoption("--nunatak-url")
    with ExitStack() as end:
        if url:
            token_file = request.config.getoption("--nunatak-token-file")
            yield Node(url, Path(token_file) if token_file else None)
        else:
            directory = tmp_path_factory.mktemp("nunatak")
            yield end.enter_context(NodeProcess(directory, nunatak_settings))


@pytest.fixture
def chain(node: Node) -> Iterator[Chain]:
    """The C-Chain; changes are reverted after the test."""
    with Chain(node).isolated() as chain:
        yield chain


@pytest.fixture(scope="session")
def accounts() -> "list[LocalAccount]":
    """Accounts that a local network funds: the ten of the test mnemonic in order, then "ewoq"."""
    from eth_account import Account

    from primitives.keys import DEV_KEYS, EWOQ_KEY

    keys = [key for key in map(_key_bytes, DEV_KEYS.values()) if key != EWOQ_KEY]
    return [Account.from_key(key) for key in (*keys, EWOQ_KEY)]


def _key_bytes(key: str) -> bytes:
    return bytes.fromhex(key.removeprefix("0x"))


@pytest.fixture(scope="session")
def w3(node: Node, accounts: "list[LocalAccount]") -> "Iterator[Web3]":
    """web3.py connected to the session's node; it signs for `accounts` and sends from the first one by default."""
    import requests
    from web3 import HTTPProvider, Web3
    from web3.middleware import SignAndSendRawMiddlewareBuilder

    with requests.Session() as session:
        session.headers.update(node.headers)
        web3 = Web3(HTTPProvider(node.url, session=session))
        web3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(accounts), layer=0)
        web3.eth.default_account = accounts[0].address
        yield web3
