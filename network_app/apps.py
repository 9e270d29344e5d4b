"""The Django app of the network, and this process's `NodeNetwork` for code that does not receive it as argument."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.apps import AppConfig, apps

if TYPE_CHECKING:
    from network_app.node import NodeNetwork


class NetworkAppConfig(AppConfig):
    """The app's configuration, and the network node of this process."""

    name = "network_app"
    verbose_name = "Network"

    find: "Callable[[], NodeNetwork]"
    """Returns the network node. Set when the process is assembled."""


def node_network() -> "NodeNetwork":
    """Return this process's network node, for code that does not receive it as an argument."""
    return _config().find()


def use(find: "Callable[[], NodeNetwork]") -> None:
    """Make the network node that a function returns that of this process from now on."""
    _config().find = find


def _config() -> NetworkAppConfig:
    config = apps.get_app_config(NetworkAppConfig.name)
    assert isinstance(config, NetworkAppConfig)
    return config
