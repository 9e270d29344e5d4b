"""The block and the chain from which a chain is forked, and their notation in settings and calls."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from cchain_app.forking.errors import ForkReason, MalformedForkSetting
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
"""Host and port of a URL without unusual characters."""


class UpstreamServer(NamedTuple):
    """A server for HTTP requests: a URL without its path."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ForkOrigin:
    """The block from which a chain continues: the pin, or fork block."""

    url: str
    """Scheme and host of the node that sent it; the rest of the URL may be a key."""
    number: int
    """The pin's height, which is that of the first stored block."""
    hash: Hash
    chain_id: int
    """Chain ID of this chain: upstream's, unless settings give another."""
    gas_limit: int
    """The pin's gas limit, which the fork's own blocks keep."""
    block: Mapping[str, Any]
    """The pin as upstream sent it, with its transactions' hashes."""
    transaction: Hash | None = None
    """The last replayed transaction of the block after the pin; None: no replay."""

    @property
    def begun_number(self) -> int:
        """The height at which the fork began: the pin's, or that of the replayed block."""
        return self.number if self.transaction is None else self.number + 1


class ForkPoint(NamedTuple):
    """The fork that settings or a call request."""

    urls: tuple[str, ...]
    number: int | None
    """The pin's height; negative: this many before the latest block; None: the latest block."""
    transaction: Hash | None = None
    """The pin is the parent of this transaction's block, which is replayed up to and including it; None: no replay."""


def read_wanted(urls: Sequence[str], block: str = "", transaction: str = "") -> ForkPoint:
    """Read URLs, one of which may end in @BLOCK, and the separate settings for height and transaction.

    Raises:
        MalformedForkSetting: One is malformed, or they name two heights, or a height and a transaction.
    """
    plain_urls: list[str] = []
    numbers = {_number(block)} if block else set()
    for text in urls:
        match = _PINNED.fullmatch(text)
        if match is not None:
            numbers.add(_number(match["block"]))
        plain_urls.append(match["url"] if match is not None else text)
    for url in plain_urls:
        verify_url(url)
    if len(numbers) > 1:
        raise MalformedForkSetting(ForkReason.TWO_BLOCKS)
    if numbers and transaction:
        raise MalformedForkSetting(ForkReason.BLOCK_AND_TRANSACTION)
    wanted = read_hash(transaction) if transaction else None
    return ForkPoint(tuple(plain_urls), next(iter(numbers), None), wanted)


def read_hash(text: str) -> Hash:
    """Read a transaction's hash.

    Raises:
        MalformedForkSetting: It is not a hash.
    """
    if not _HASH.fullmatch(text):
        raise MalformedForkSetting(ForkReason.TRANSACTION_HASH)
    return Hash(bytes.fromhex(text[2:]))


def verify_url(url: str) -> None:
    """Check that a text is a URL for requests.

    Raises:
        MalformedForkSetting: It is not such a URL.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in _SCHEMES and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        good = False
    if not good:
        raise MalformedForkSetting(ForkReason.URL)


def server_of(url: str) -> UpstreamServer | None:
    """Return the server of a URL; None if URL parsers could disagree about it."""
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
        raise MalformedForkSetting(ForkReason.BLOCK_NUMBER) from None


def read_headers(texts: Sequence[str]) -> dict[str, str]:
    """Read headers, each `NAME: VALUE`.

    Raises:
        MalformedForkSetting: One has another form.
    """
    headers = {}
    for text in texts:
        name, colon, value = text.partition(":")
        name, value = name.strip(), value.strip()
        if not (colon and _TOKEN.fullmatch(name) and value.isprintable()):
            raise MalformedForkSetting(ForkReason.HEADERS)
        headers[name] = value
    return headers


def shown(url: str) -> str:
    """Return the part of a URL that may be shown: scheme, host and port. Path, query and user may be keys."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the upstream"
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"
