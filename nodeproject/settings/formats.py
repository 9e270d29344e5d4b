"""The formats of NODE_BASE_PATH and NODE_REDIS_URL, and the same Redis server and TLS options for Celery's broker.

redis-py parses the URL itself, for the cache, the channel layer and the rate limit. Kombu has another syntax for
sockets, ignores `?db=`, and does not verify certificates by default.
"""

import re
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from primitives.settings import FormError, TextFormat

FIRST_PARTS: Final = frozenset(
    {
        "accounts", "address", "admin", "api", "atomic", "block", "blocks", "blocks.csv", "chain", "chains", "charts", "charts.json",
        "check-all-by-addresses", "connect", "contracts", "eth", "ext", "faucet", "gas", "gas.json", "p", "pool", "repo-ui",
        "search", "server", "solcversions", "static", "suggest", "token", "tokens", "tx", "txs", "txs.csv", "v2", "x",
    }
)  # fmt: skip
"""First segments of the node's own paths."""

_FORM: Final = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
"""Non-empty segments without a leading dot. Such a path never leads to another host and needs no escaping in HTML."""
_MAX_LENGTH: Final = 128


def read_base_path(text: str) -> str:
    """Return a path without its trailing slash; the root becomes an empty text.

    Raises:
        FormError: The text is not a path of plain segments, such as `/node` or `/chains/local`.
    """
    path = text.removesuffix("/")
    if path and (len(path) > _MAX_LENGTH or not _FORM.fullmatch(path)):
        raise FormError("letters, digits and - _ ~ . between slashes")
    return path


def _read_setting(text: str) -> str:
    path = read_base_path(text)
    if path.split("/")[1:2] and path.split("/")[1] in FIRST_PARTS:
        raise FormError("the node has pages of its own there")
    return path


BASE_PATH: Final = TextFormat("a path like /node", _read_setting)


_TLS: Final = (
    "ssl_ca_certs",
    "ssl_ca_path",
    "ssl_cert_reqs",
    "ssl_certfile",
    "ssl_check_hostname",
    "ssl_keyfile",
    "ssl_password",
)
_PARAMETERS: Final = {"redis": ("db",), "rediss": ("db", *_TLS), "unix": ("db",)}
_CHOICES: Final = {
    "ssl_cert_reqs": ("required", "none"),
    "ssl_check_hostname": ("true", "false"),
}


class Broker(NamedTuple):
    """The broker's address and TLS options for Celery."""

    url: str
    tls: dict[str, Any] | None
    """Options of redis-py's connections; None without TLS."""


def broker_of(url: str) -> Broker:
    """Return the server of a Redis URL in Kombu's form.

    Raises:
        FormError: The URL is malformed, or has a part that would be ignored.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise FormError("its host or port cannot be read") from None
    if parts.scheme not in _PARAMETERS or not url.startswith(f"{parts.scheme}://"):
        raise FormError("it must begin with redis://, rediss:// or unix://")
    if parts.fragment or port == 0:
        raise FormError("its host or port cannot be read")
    given = _parameters(parts)
    if parts.scheme == "unix":
        return Broker(_socket(parts, _number(given.get("db", "0"))), None)
    if not parts.hostname:
        raise FormError("the host is missing")
    in_path = unquote(parts.path).strip("/")
    if in_path and "db" in given:
        raise FormError("it has two database numbers")
    number = _number(in_path or given.pop("db", "0"))
    given.pop("db", None)
    user, at, host = parts.netloc.rpartition("@")
    server = f"{parts.scheme}://{_quoted(user)}{at}{host}/{number}"
    return Broker(server, _tls(given) if parts.scheme == "rediss" else None)


def _socket(parts: SplitResult, number: int) -> str:
    user, at, host = parts.netloc.rpartition("@")
    if host or not parts.path.strip("/"):
        raise FormError("a socket's path begins with a slash: unix:///run/redis/redis.sock")
    return f"redis+socket://{_quoted(user)}{at}{quote(unquote(parts.path))}?virtual_host={number}"


def _quoted(user: str) -> str:
    """Return a name and a password with quoted semicolons, at which Kombu would split the URL."""
    return ":".join(quote(unquote(part), safe="") for part in user.split(":", 1))


def _parameters(parts: SplitResult) -> dict[str, str]:
    try:
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise FormError("its parameters cannot be read") from None
    given = dict(pairs)
    allowed = _PARAMETERS[parts.scheme]
    for name, value in pairs:
        if name not in allowed:
            raise FormError(f"{parts.scheme}:// has no parameter but {', '.join(allowed)}")
        choices = _CHOICES.get(name)
        if not value or (choices is not None and value not in choices):
            may_be = " or ".join(choices) if choices else "given"
            raise FormError(f"the parameter {name} must be {may_be}")
    if len(given) < len(pairs):
        raise FormError("it has a parameter twice")
    return given


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise FormError("the database must be a number, as in redis://HOST:6379/0")
    return int(text)


def _tls(given: dict[str, str]) -> dict[str, Any]:
    """Return redis-py's interpretation of the URL's parameters, with explicit defaults because Kombu's differ."""
    tls: dict[str, Any] = {"ssl_cert_reqs": "required", **given}
    tls["ssl_check_hostname"] = given.get("ssl_check_hostname", "true") == "true"
    return tls


REDIS_URL: Final = TextFormat(
    "a URL like redis://HOST:6379/0, rediss://HOST:6379/0 or unix:///PATH", broker_of
)
