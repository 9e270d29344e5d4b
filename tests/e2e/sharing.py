"""How two workers share the end-to-end tests."""

from pathlib import PurePosixPath

from typing_extensions import override
from xdist.scheduler import LoadScopeScheduling


class WholeFiles(LoadScopeScheduling):
    """Gives each worker whole files, and one of them all the networks.

    xdist's own groups (`--dist loadgroup`) have no effect with pytest 9.2: they rename tests, which cannot be done
    any more (pytest-xdist issue 1386).
    """

    @override
    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Return what a test is never parted from: its file, or all files of networks and of strangers.

    A machine of two cores has no room for two networks of several nodes, and none for a network beside the tests of
    strangers, which time answers.
    """
    name = PurePosixPath(nodeid.partition("::")[0]).stem
    return "network" if "network" in name or "strangers" in name else name
