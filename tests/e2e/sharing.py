"""How the workers share the end-to-end tests: three, since a third of the time a test waits and needs no processor."""

from pathlib import PurePosixPath

from typing_extensions import override
from xdist.scheduler import LoadScopeScheduling

SHARED = (
    # Of all kinds.
    "test_ethers", "test_flags", "test_health", "test_metrics", "test_platform_conflicts", "test_platform_sdks",
    "test_processes", "test_strangers_admin", "test_viem", "test_web3py_websocket", "test_websocket",
    # Not of the production profile, whose node has ended by then.
    "test_admin", "test_chain_paths", "test_api_reference", "test_contract_forms",
    "test_platform_keystore", "test_traces", "test_web3py", "test_web3py_traces",
)  # fmt: skip
"""The files that use the nodes of `conftest.py`, in their order."""
FIVE = ("test_local_network_failover", "test_network_voting")
"""Networks of five nodes."""
LONG = (
    "five", "network", "shared", "test_explorer", "test_snapshots", "test_verification", "test_foundry", "test_outages",
    "test_wheel", "test_viem_test_client", "test_import_chain", "test_platform_staking", "test_hardhat2",
    "test_platform_crash", "test_backups", "test_mining", "test_hardhat3", "test_development", "test_crash",
)  # fmt: skip
"""The groups that take half a minute or more, longest first: what begins last should be short."""


class WholeFiles(LoadScopeScheduling):
    """Gives each worker whole files, one of them all networks of five, one all others, and one all that share nodes.

    xdist's own groups (`--dist loadgroup`) have no effect with pytest 9.2: they rename tests, which cannot be done
    any more (pytest-xdist issue 1386).
    """

    @override
    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Return what a test is never parted from: its file, or all files of networks, or all that share nodes.

    A machine of two cores has no room for two networks of five nodes, and none for one beside the tests of strangers,
    which time answers. Smaller ones wait most of their time, for silence and for slots. And nodes that all files use
    are started once, if one worker has all these files.
    """
    name = _name(nodeid)
    if name in SHARED:
        return "shared"
    if name in FIVE or "strangers" in name:
        return "five"
    return "network" if "network" in name else name


def place_of(nodeid: str) -> tuple[int, int]:
    """Return what tests are sorted by, so that long groups begin first; in one of a file's tests all is as it was."""
    group, name = group_of(nodeid), _name(nodeid)
    return (
        LONG.index(group) if group in LONG else len(LONG),
        SHARED.index(name) if name in SHARED else 0,
    )


def _name(nodeid: str) -> str:
    return PurePosixPath(nodeid.partition("::")[0]).stem
