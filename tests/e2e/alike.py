"""Compare the rows of all chains between nodes: nodes with the same blocks must have the same rows.

Some tables differ between nodes and are skipped: the pools, the calls (which are indexed behind the blocks),
the connected peers, the uptimes of other nodes and the reports of the network process. All other tables are
compared with all of their columns.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tests.servers.node import RunningNode

OWN = frozenset(
    {
        "cchain_app_atomicpoolkey", "cchain_app_atomicpooltransaction", "cchain_app_droppedatomictransaction",
        "xchain_app_xmempooltx", "xchain_app_xmempoolinput", "xchain_app_xdroppedtx",
        "cchain_app_pooltransaction", "cchain_app_call", "cchain_app_callprogress", "platform_app_mempooltx", "platform_app_mempoolinput",
        "platform_app_droppedtx", "platform_app_validatoruptime", "platform_app_connectednode",
        "platform_app_uptimetracking", "platform_app_keystoreuser", "platform_app_keystorekey",
        "network_app_peer", "network_app_networkstatus", "network_app_chainsync",
        "network_app_fetchedblock", "network_app_chainconsensus", "network_app_blockdecision",
    }
)  # fmt: skip
"""Tables whose rows differ between nodes."""
NUMBERED = frozenset({"network_app_outerblock", "cchain_app_trienodechange"})
"""Tables whose first column is a number in order of writing, which differs between nodes and is skipped."""
APPS = ("cchain_app_", "platform_app_", "shared_app_", "xchain_app_", "network_app_")
MIN_TABLES = 20
"""Fewer tables than this mean that the chains' tables were not found."""

Rows = dict[str, set[tuple[Any, ...]]]


def differences(nodes: Sequence[RunningNode]) -> list[str]:
    """Return the differences between the first node's rows and those of the other nodes, all on SQLite."""
    first, *others = [rows(node) for node in nodes]
    return [
        f"node {place}: {line}"
        for place, other in enumerate(others, 1)
        for line in _compared(first, other)
    ]


def rows(node: RunningNode) -> Rows:
    """Return the rows of blocks and of everything derived from them, by table, from one database snapshot."""
    with node.database() as ask:
        tables = ask("SELECT name FROM sqlite_master WHERE type = 'table'")
        names = [name for (name,) in tables if name.startswith(APPS) and name not in OWN]
        assert len(names) >= MIN_TABLES, names
        return {
            name: {row[name in NUMBERED :] for row in ask(f"SELECT * FROM {name}")}
            for name in names
        }


def _compared(first: Rows, other: Rows) -> Iterator[str]:
    assert first.keys() == other.keys()
    for name, expected in first.items():
        for words, only in (("lacks", expected - other[name]), ("adds", other[name] - expected)):
            if only:
                sample = min(only, key=repr)
                yield f"{name} {words} {len(only)} of {len(expected)} rows, {sample!r:.300}"
