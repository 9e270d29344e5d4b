"""The settings of this process: the only module that reads the node's environment.

Importing this module fixes the settings: the start command's flags must be in the environment by then (`cli`).
"""

from nodeproject.settings.flags import BadSetting, read, with_values
from nodeproject.settings.node import NodeSettings


def with_platform(given: NodeSettings) -> NodeSettings:
    """Verify that the settings include the P-Chain, in which every node takes part, and return them.

    Raises:
        BadSetting: NODE_CHAINS does not include the P-Chain.
    """
    if "P" not in given.common.chains:
        raise BadSetting(
            f"NODE_CHAINS is {','.join(given.common.chains)!r}; every node takes part in the P-Chain: it "
            "must be P or P,C"
        )
    return given


GIVEN = with_platform(read(NodeSettings))
"""The settings of the environment."""
NODE = with_values(
    GIVEN,
    {
        "bootstrap": tuple(
            text for text in GIVEN.common.bootstrap if text not in GIVEN.own_bootstrap
        )
    },
)
"""The settings in use. A node does not follow itself, so its own addresses are removed from `bootstrap`."""
