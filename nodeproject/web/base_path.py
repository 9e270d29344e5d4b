"""The base path: the prefix that a proxy puts before the node's pages, such as `/node` in `/node/tx/0x…`.

Links, forms, redirects, scripts and cookies of the pages begin with it. It is NODE_BASE_PATH, or the
`X-Forwarded-Prefix` header of a proxy that is trusted or on this machine. A proxy removes it from the path of a
request; a request that still begins with NODE_BASE_PATH gets the same answer.
"""

from collections.abc import Iterable
from typing import Any, Final

from jsonrpc.dispatch.caller import is_loopback
from jsonrpc.limits.client_address import NO_PROXIES, TrustedProxies, is_proxy
from nodeproject.settings.base_path import read_base_path

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
