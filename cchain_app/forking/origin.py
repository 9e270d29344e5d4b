"""Of which block of which chain a chain is a fork, and how that is written in settings and calls."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from cchain_app.forking.errors import MalformedForkSetting
from primitives.evm import Hash

_TOKEN: Final = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_PINNED: Final = re.compile(r"(?P<url>.+)@(?P<block>-?(0x[0-9a-fA-F]+|[0-9]+))")
_SCHEMES: Final = ("http", "https")
_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_LATEST: Final = "latest"


_PORTS: Final = {"http": 80, "https": 443}
_AUTHORITY: Final = re.compile(
    r"(?P<host>[^\s\\\[\]@:/?#]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{0,5}))?", re.ASCII
)
"""Host and port of a URL, where they are plain."""


class UpstreamServer(NamedTuple):
    """A server that is asked over HTTP, apart from the path."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Fork:
    """The block from which a chain goes on: the pin."""

    url: str
    """Scheme and host of who told of it: what stands behind may be a key."""
    number: int
    """The pin's height: that of the first block of the chain's rows."""
    hash: Hash
    chain_id: int
    """That of the chain here: upstream's, unless settings name another."""
    gas_limit: int
    """The pin's, which own blocks keep."""
    block: Mapping[str, Any]
    """The pin as upstream told it, with its transactions' hashes."""
    transaction: Hash | None = None
    """The last transaction of the block after the pin that was replayed; None: nothing was."""

    @property
    def begun_number(self) -> int:
        """The height at which the fork began: the pin's, or that of the block that was replayed."""
        return self.number if self.transaction is None else self.number + 1


class Wanted(NamedTuple):
    """Which fork settings or a call ask for."""

    urls: tuple[str, ...]
    number: int | None
    """The pin's height; negative: so many before the last block; None: the last block."""
    transaction: Hash | None = None
    """The pin is the block before this one's, which is replayed up to and with it; None: nothing is."""


def read_wanted(urls: Sequence[str], block: str = "", transaction: str = "") -> Wanted:
    """Read URLs, of which one may end in @BLOCK, and the height or a transaction from settings of their own.

    Raises:
        MalformedForkSetting: One is none, or they name two heights, or a height and a transaction.
    """
    found: list[str] = []
    numbers = {_number(block)} if block else set()
    for text in urls:
        match = _PINNED.fullmatch(text)
        if match is not None:
            numbers.add(_number(match["block"]))
        found.append(match["url"] if match is not None else text)
    for url in found:
        verify_url(url)
    if len(numbers) > 1:
        raise MalformedForkSetting("NODE_FORK_URL and NODE_FORK_BLOCK_NUMBER name two blocks")
    if numbers and transaction:
        raise MalformedForkSetting(
            "NODE_FORK_TRANSACTION_HASH names the block to go on from, and so does NODE_FORK_BLOCK_NUMBER or "
            "URL@BLOCK: leave one of them out"
        )
    wanted = read_hash(transaction) if transaction else None
    return Wanted(tuple(found), next(iter(numbers), None), wanted)


def read_hash(text: str) -> Hash:
    """Read a transaction's hash.

    Raises:
        MalformedForkSetting: It is none.
    """
    if not _HASH.fullmatch(text):
        raise MalformedForkSetting(
            "NODE_FORK_TRANSACTION_HASH must be a transaction's hash, 0x and 64 hexadecimal digits"
        )
    return Hash(bytes.fromhex(text[2:]))


def verify_url(url: str) -> None:
    """See that a text is a URL that can be asked.

    Raises:
        MalformedForkSetting: It is none.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in _SCHEMES and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        good = False
    if not good:
        raise MalformedForkSetting(
            "NODE_FORK_URL must be a URL like https://HOST/PATH, or URL@BLOCK"
        )


def server_of(url: str) -> UpstreamServer | None:
    """Return the server of a URL; None where readers of URLs could differ about it."""
    parts = urlsplit(url)
    match = _AUTHORITY.fullmatch(parts.netloc.rpartition("@")[2])
    if match is None:
        return None
    port = int(match["port"]) if match["port"] else _PORTS.get(parts.scheme, 0)
    return UpstreamServer(parts.scheme, match["host"].lower(), port)


def servers_of(urls: Sequence[str]) -> frozenset[UpstreamServer]:
    """Return the servers of some URLs."""
    return frozenset(server for url in urls if (server := server_of(url)) is not None)


def _number(text: str) -> int | None:
    if text == _LATEST:
        return None
    try:
        return int(text, 0)
    except ValueError:
        raise MalformedForkSetting("NODE_FORK_BLOCK_NUMBER must be a whole number") from None


def read_headers(texts: Sequence[str]) -> dict[str, str]:
    """Read headers, each `NAME: VALUE`.

    Raises:
        MalformedForkSetting: One is none.
    """
    found = {}
    for text in texts:
        name, colon, value = text.partition(":")
        name, value = name.strip(), value.strip()
        if not (colon and _TOKEN.fullmatch(name) and value.isprintable()):
            raise MalformedForkSetting("NODE_FORK_HEADERS must be headers like NAME: VALUE")
        found[name] = value
    return found


def shown(url: str) -> str:
    """Return of a URL what may be shown: scheme, host and port. Path, query and user may be keys."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the upstream"
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"
