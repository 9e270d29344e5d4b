"""Why this process does not answer requests for some chains: the messages for their paths.

NODE_CHAINS leaves out chains of the primary network. A chain of a subnet may not be tracked, may be refused, or may have
ended because the P-Chain went back to a state before its creation.

Unspecified: the reference knows no paths of such chains, and answers 404 without a reason; the reason is added here.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from typing_extensions import override

from primitives.ids import ID

MOST_REASON: Final = 300
"""Characters of a reason in an answer; a stranger's genesis file can make a reason of any length."""
MOST_CHAINS: Final = 10_000
"""Chains whose reasons are kept; the first ones are forgotten first."""

_PATH: Final = re.compile(r"/ext/bc/([^/]{1,128})/(?:rpc|ws|validators|proposervm)")


class AbsentChains(Mapping[str, str]):
    """The messages for paths of chains that do not run, by path. Threads may change it while others read it."""

    def __init__(self) -> None:
        self.fixed: Mapping[str, str] = {}
        """Those of chains of the primary network."""
        self._reasons: dict[str, tuple[ID, str]] = {}
        """The ID and the reason of a chain of a subnet, by its ID as text and by its name."""

    def note(self, blockchain_id: ID, names: Collection[str], reason: str) -> None:
        """Keep the reason why a chain of a subnet does not run, for the paths with its ID or one of its names."""
        for name in {str(blockchain_id), *names} - {""}:
            self._reasons.pop(name, None)  # the last place
            self._reasons[name] = blockchain_id, reason[:MOST_REASON]
        while len(self._reasons) > MOST_CHAINS:
            self._reasons.pop(next(iter(self._reasons)), None)

    def forget(self, blockchain_id: ID) -> None:
        """Forget a chain, which runs now."""
        if str(blockchain_id) in self._reasons:
            for name, (known, _) in tuple(self._reasons.items()):
                if known == blockchain_id:
                    self._reasons.pop(name, None)

    def clear(self) -> None:
        """Forget all chains of subnets."""
        self._reasons.clear()

    @override
    def __getitem__(self, path: str) -> str:
        if path in self.fixed:
            return self.fixed[path]
        found = _PATH.fullmatch(path)
        if found is None:
            raise KeyError(path)
        blockchain_id, reason = self._reasons[found[1]]
        return f"chain {blockchain_id} does not run on this node: {reason}"

    @override
    def __iter__(self) -> Iterator[str]:
        ways = ("rpc", "ws", "validators", "proposervm")
        yield from self.fixed
        yield from (f"/ext/bc/{name}/{way}" for name in tuple(self._reasons) for way in ways)

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)
