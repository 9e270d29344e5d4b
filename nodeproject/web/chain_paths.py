"""Paths of chains by their aliases and by their blockchain IDs, as in the reference."""

import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import Any, Final

from django.db import DatabaseError
from typing_extensions import override

from cchain_app.chain import EvmChain
from jsonrpc.dispatch.workers import Workers
from jsonrpc.errors import Overloaded
from platform_app.chain import NoPlatformGenesis, PlatformChain
from primitives.networks import XCHAIN_ALIASES

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
        self._paths = frozenset(paths)
        self._ends = {path[path.rindex("/") :] for path in paths} - {"/"}

    @override
    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        path = self._without_base(path)
        found = BY_ID.fullmatch(path)
        return path in self._paths or (found is not None and found[2] in self._ends)


Letters = Mapping[str, str]
"""The first alias of each chain by the chain's ID as text."""


def letters_of(platform: PlatformChain, evms: Iterable[EvmChain]) -> Letters:
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
        if not self._letters:
            try:
                self._letters = await self._workers.run(_SECONDS, self._read)
            except (NoPlatformGenesis, DatabaseError, Overloaded, TimeoutError):
                return {}
        return self._letters
