"""The network of nodes as a Django app, and this process's node as its network knows it, for the edge."""

from typing import TYPE_CHECKING

from django.apps import AppConfig, apps

if TYPE_CHECKING:
    from network_app.node import NodeNetwork


class NetworkAppConfig(AppConfig):
    """Name and label of the app, and the node of this process."""

    name = "network_app"
    verbose_name = "Network"

    network: "NodeNetwork"
    """Set by who puts the process together."""


def node_network() -> "NodeNetwork":
    """Return this process's node as its network knows it, for where nobody passes it on."""
    return _config().network


def use(network: "NodeNetwork") -> None:
    """Let this process be a node's from now on."""
    _config().network = network


def _config() -> NetworkAppConfig:
    config = apps.get_app_config(NetworkAppConfig.name)
    assert isinstance(config, NetworkAppConfig)
    return config
