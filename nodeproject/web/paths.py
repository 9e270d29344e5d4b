"""The paths of the node: its address, the base path, and the paths of chains by alias and by blockchain ID.

The base path is the prefix that a proxy puts before the node's pages, such as `/node` in `/node/tx/0x…`. Links, forms,
redirects, scripts and cookies of the pages begin with it. It is NODE_BASE_PATH, or the `X-Forwarded-Prefix` header of a
proxy that is trusted or on this machine. A proxy removes it from the path of a request; a request that still begins with
NODE_BASE_PATH gets the same answer. Chains have the paths of the reference.
"""

import json
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.db import DatabaseError
from typing_extensions import override

from cchain_app.chain import EvmChain
from jsonrpc.dispatch.caller import is_loopback
from jsonrpc.dispatch.workers import Workers
from jsonrpc.errors import Overloaded
from jsonrpc.limits.client_address import NO_PROXIES, TrustedProxies, is_proxy
from nodeproject.settings.formats import read_base_path
from nodeproject.settings.node import NodeSettings
from primitives.networks import XCHAIN_ALIASES
from primitives.sockets import is_dual_stack, unbracketed

if TYPE_CHECKING:
    from platform_app.chain import PlatformChain


def base_url(settings: NodeSettings) -> str:
    """Return the base of a node's URLs."""
    return f"http://{reachable(settings.http_host)}:{settings.http_port}"


def running_url(settings: NodeSettings) -> str:
    """Return the base of the URLs of the node that runs on the settings' data directory.

    Unspecified: a node that was killed leaves its last address; where no address was left, the settings' is returned.
    """
    try:
        host, port = json.loads(address_file(settings).read_bytes())
        return f"http://{reachable(str(host))}:{int(port)}"
    except (OSError, ValueError, TypeError):
        return base_url(settings)


def address_file(settings: NodeSettings) -> Path:
    """Return the file with the address and port on which the running node of a data directory listens, as JSON."""
    return settings.common.directory / "http_address.json"


def reachable(host: str) -> str:
    """Return the address at which a browser on this machine reaches a server that listens on a host."""
    if host == "0.0.0.0" or is_dual_stack(host):  # noqa: S104  # it is replaced
        return "127.0.0.1"
    ip = unbracketed(host)
    return f"[{ip}]" if ":" in ip else ip


HEADER: Final = b"x-forwarded-prefix"


class BasePaths:
    """The base path of each request.

    Unspecified: NODE_BASE_PATH wins over the header, which a careless proxy may pass on from its client. A header
    that is malformed, or sent twice, is ignored. A proxy on this machine is trusted with this header without being in
    NODE_TRUSTED_PROXIES, because a base path changes nothing but the links of the page that is returned to it.

    Args:
        setting: NODE_BASE_PATH.
        proxies: The proxies whose header is trusted.
    """

    def __init__(self, setting: str, proxies: TrustedProxies) -> None:
        self._fixed = read_base_path(setting)
        self._proxies = proxies

    def of(self, scope: Any) -> str:
        """Return the base path of an ASGI scope, empty for the root."""
        if self._fixed:
            return self._fixed
        given = [value for name, value in scope["headers"] if name == HEADER]
        peer = (scope.get("client") or ("",))[0]
        is_trusted = is_loopback(peer) or is_proxy(peer, self._proxies)
        return self._forwarded(given) if given and is_trusted else ""

    def without(self, path: str) -> str:
        """Return a request's path without NODE_BASE_PATH."""
        if self._fixed and (path == self._fixed or path.startswith(f"{self._fixed}/")):
            return path.removeprefix(self._fixed) or "/"
        return path

    def stripped(self, scope: Any) -> Any:
        """Return an ASGI scope whose path does not contain NODE_BASE_PATH."""
        path = self.without(scope["path"])
        if path == scope["path"]:
            return scope
        return {**scope, "path": path, "raw_path": path.encode()}

    def _forwarded(self, given: Iterable[bytes]) -> str:
        try:
            (value,) = given
            return read_base_path(value.decode("latin-1"))
        except ValueError:
            return ""


NO_BASE_PATHS: Final = BasePaths("", NO_PROXIES)


class BelowBasePath:
    """An ASGI application before Django, which reads the base path from the scope's `root_path`."""

    def __init__(self, application: Any, base_paths: BasePaths) -> None:
        self._application = application
        self._base_paths = base_paths

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, whose path does not contain the base path."""
        base = self._base_paths.of(scope)
        # In ASGI `path` includes `root_path`, which daphne would take from a header of any client.
        below = {**scope, "root_path": base, "path": base + scope["path"]}
        await self._application(below, receive, send)


BY_ID: Final = re.compile(r"/ext/bc/([1-9A-HJ-NP-Za-km-z]{40,52})((?:/.*)?)", re.DOTALL)
"""A path that may name a chain by its ID: 32 bytes and a checksum in base58."""

_SECONDS: Final = 5.0


def paths_of(aliases: Iterable[str], end: str = "") -> tuple[str, ...]:
    """Return the paths of a chain by its aliases: below /ext/bc and directly below /ext, as in the reference.

    Args:
        aliases: The chain's aliases.
        end: The end of the path, which names one of the chain's interfaces, such as `/rpc`.
    """
    return tuple(f"{base}/{alias}{end}" for alias in aliases for base in ("/ext/bc", "/ext"))


class SocketPaths(Container[str]):
    """The paths of WebSockets: some fixed paths, and the same paths with a blockchain ID as the alias.

    Which chain an ID belongs to is determined later (`ChainPaths`).

    Args:
        paths: Paths by alias, all with the same end; `/` may be among them.
        without_base: Removes the base path from a path.
    """

    def __init__(
        self, paths: Collection[str], without_base: Callable[[str], str] = lambda path: path
    ) -> None:
        self._without_base = without_base
        self._paths = set(paths)
        self._ends = {path[path.rindex("/") :] for path in paths} - {"/"}

    def add(self, *paths: str) -> None:
        """Add paths by alias."""
        self._paths.update(paths)

    @override
    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        path = self._without_base(path)
        found = BY_ID.fullmatch(path)
        return path in self._paths or (found is not None and found[2] in self._ends)


Letters = Mapping[str, str]
"""The first alias of each chain by the chain's ID as text."""


def letters_of(platform: "PlatformChain", evms: Iterable[EvmChain]) -> Letters:
    """Return the first aliases of the chains that a P-Chain knows.

    The P-Chain's own ID is the same everywhere, and one of its fixed paths.

    Raises:
        NoPlatformGenesis: There is no P-Chain yet.
    """
    x_chain_id = platform.network().x_chain_id
    return {str(x_chain_id): XCHAIN_ALIASES[0]} | {str(evm.blockchain_id): evm.name for evm in evms}


class ChainPaths:
    """Rewrites `/ext/bc/<blockchain ID>` to `/ext/bc/<letter>`.

    The IDs are part of the P-Chain's genesis, which a node that follows others may not have yet; once
    known, they never change.
    """

    def __init__(self, workers: Workers, read: Callable[[], Letters]) -> None:
        self._workers = workers
        self._read = read
        self._letters: Letters = {}

    async def by_letter(self, scope: Any) -> Any:
        """Return an ASGI scope with the path by letter; the scope unchanged if no chain has the ID."""
        found = BY_ID.fullmatch(scope["path"])
        if found is None:
            return scope
        letter = (await self._known()).get(found[1])
        if letter is None:
            return scope
        path = f"/ext/bc/{letter}{found[2]}"
        return {**scope, "path": path, "raw_path": path.encode()}

    async def _known(self) -> Letters:
        from platform_app.chain import NoPlatformGenesis

        if not self._letters:
            try:
                self._letters = await self._workers.run(_SECONDS, self._read)
            except (NoPlatformGenesis, DatabaseError, Overloaded, TimeoutError):
                return {}
        return self._letters
