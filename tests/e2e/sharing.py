"""Distribute the end-to-end tests over three workers: a test spends a third of its time waiting, without CPU use."""

from pathlib import PurePosixPath

from typing_extensions import override
from xdist.scheduler import LoadScopeScheduling

SHARED = (
    # These tests use nodes of all kinds.
    "test_ethers", "test_flags", "test_health", "test_metrics", "test_platform_conflicts", "test_platform_sdks",
    "test_processes", "test_strangers_admin", "test_viem", "test_web3py_websocket", "test_websocket",
    # These tests do not use the production node, which is stopped before they run.
    "test_admin", "test_chain_paths", "test_api_reference", "test_contract_forms", "test_exchange_sdks",
    "test_platform_keystore", "test_traces", "test_web3py", "test_web3py_traces",
)  # fmt: skip
"""The files that use the shared nodes of `conftest.py`, in the order in which they run."""
FIVE = ("test_local_network_failover", "test_network_voting")
"""Files with networks of five nodes."""
LONG = (
    "five", "network", "shared", "test_explorer", "test_snapshots", "test_verification", "test_foundry", "test_outages",
    "test_wheel", "test_web_machines", "test_viem_test_client", "test_import_chain", "test_platform_staking", "test_hardhat2",
    "test_platform_crash", "test_exchange_crash", "test_backups", "test_mining", "test_hardhat3", "test_development", "test_crash",
)  # fmt: skip
"""The groups that take half a minute or more, longest first, so that the groups that run last are short."""


class WholeFiles(LoadScopeScheduling):
    """Assigns whole groups of files to workers; see `group_of`.

    xdist's own groups (`--dist loadgroup`) have no effect with pytest 9.2, because they rename tests, which is no
    longer possible (pytest-xdist issue 1386).
    """

    @override
    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Return the group of tests that run on one worker: a file, all files of networks, or all that share nodes.

    A machine with two cores cannot run two networks of five nodes, nor one beside the strangers' tests, which
    measure response times. Smaller networks spend most of their time waiting, for silence and for slots. Shared
    nodes are started only once if one worker runs all files that use them.
    """
    name = _name(nodeid)
    if name in SHARED:
        return "shared"
    if name in FIVE or "strangers" in name:
        return "five"
    return "network" if "network" in name else name


def place_of(nodeid: str) -> tuple[int, int]:
    """Return the sort key of a test: long groups first. The tests of a file keep their order."""
    group, name = group_of(nodeid), _name(nodeid)
    return (
        LONG.index(group) if group in LONG else len(LONG),
        SHARED.index(name) if name in SHARED else 0,
    )


def _name(nodeid: str) -> str:
    return PurePosixPath(nodeid.partition("::")[0]).stem
