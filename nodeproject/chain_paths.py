"""Paths of chains by their blockchain IDs, as the reference serves them beside those by letter."""

import re
from collections.abc import Callable, Container, Mapping
from typing import Any, Final

from django.db import DatabaseError
from typing_extensions import override

from jsonrpc.errors import Overloaded
from jsonrpc.workers import Workers
from platform_app.apps import platform_chain
from platform_app.chain import NoGenesis

BY_ID: Final = re.compile(r"/ext/bc/([1-9A-HJ-NP-Za-km-z]{40,52})((?:/.*)?)", re.DOTALL)
"""A path that may name a chain by its ID: 32 bytes and a checksum in base58."""

_SECONDS: Final = 5.0


class SocketPaths(Container[str]):
    """Where a WebSocket may be opened: at a path, and where that may be meant by a blockchain ID.

    Which ID is which chain's is asked behind it (`ChainPaths`).
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._end = path[path.rindex("/") :]

    @override
    def __contains__(self, path: object) -> bool:
        found = BY_ID.fullmatch(path) if isinstance(path, str) else None
        return path == self._path or (found is not None and found[2] == self._end)


Letters = Mapping[str, str]
"""Of each chain its letter, by its ID as text."""


def read_letters() -> Letters:
    """Return what the chains are called that this node's P-Chain began with.

    The P-Chain's own ID is the same everywhere, and one of its fixed paths.

    Raises:
        NoGenesis: There is no P-Chain yet.
    """
    network = platform_chain().network()
    return {str(network.x_chain_id): "X", str(network.c_chain_id): "C"}


class ChainPaths:
    """Leads `/ext/bc/<blockchain ID>` to where `/ext/bc/<letter>` leads.

    The IDs come with the P-Chain's genesis, which a node that follows others may not have yet; from
    then on they never change.
    """

    def __init__(self, workers: Workers, read: Callable[[], Letters] = read_letters) -> None:
        self._workers = workers
        self._read = read
        self._letters: Letters = {}

    async def by_letter(self, scope: Any) -> Any:
        """Return an ASGI scope with the path by letter; as it is where no chain has the ID."""
        found = BY_ID.fullmatch(scope["path"])
        if found is None:
            return scope
        letter = (await self._known()).get(found[1])
        if letter is None:
            return scope
        path = f"/ext/bc/{letter}{found[2]}"
        return {**scope, "path": path, "raw_path": path.encode()}

    async def _known(self) -> Letters:
        if not self._letters:
            try:
                self._letters = await self._workers.run(_SECONDS, self._read)
            except (NoGenesis, DatabaseError, Overloaded, TimeoutError):
                return {}
        return self._letters
