"""The settings of this process: the only place where the node reads the environment.

Whoever imports this has decided on them: the start command's flags are in the environment by then (`cli`).
"""

from dataclasses import replace

from nodeproject.settings.flags import BadSetting, read
from nodeproject.settings.node import NodeSettings


def with_platform(given: NodeSettings) -> NodeSettings:
    """Return settings of a node that takes part in the P-Chain, as every node does.

    Raises:
        BadSetting: NODE_CHAINS leaves it out.
    """
    if "P" not in given.chains:
        raise BadSetting(
            f"NODE_CHAINS is {','.join(given.chains)!r}; every node takes part in the P-Chain: it "
            "must be P or P,C"
        )
    return given


GIVEN = with_platform(read(NodeSettings))
"""As the environment has it."""
NODE = replace(
    GIVEN, bootstrap=tuple(text for text in GIVEN.bootstrap if text not in GIVEN.own_bootstrap)
)
"""A node does not follow itself: one that is told to is like one that is told nothing."""
