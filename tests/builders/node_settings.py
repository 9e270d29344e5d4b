"""The settings of a node with other values."""

from typing import Any

from nodeproject.settings.flags import with_values
from nodeproject.settings.node import NodeSettings


def updated(settings: NodeSettings, **values: Any) -> NodeSettings:
    """Return the settings with other values, each by the name of its variable: `pool_slots` for NODE_POOL_SLOTS."""
    return with_values(settings, values)
