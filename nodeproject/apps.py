"""The project as a Django app: its system checks, and this process's node for code that cannot be passed one.

Also the apps of Daphne and of the admin, which are loaded only in processes that serve them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks
from typing_extensions import override

from adminkit.loading import load_admins
from cchain_app.apps import add as add_evm_chain
from cchain_app.apps import remove as remove_evm_chain
from cchain_app.apps import use as use_evm_chain
from cchain_app.apps import use_names
from explorer_app.apps import use as use_explorer
from network_app.apps import use as use_network
from platform_app.apps import use as use_platform_chain
from xchain_app.apps import use as use_avm_chain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cchain_app.chain import EvmChain
    from cchain_app.services.runtime import EvmRuntime
    from nodeproject.node import Node
    from primitives.evm import Address


class DaphneConfig(AppConfig):
    """Daphne's app without its own configuration, which loads all of Twisted at each start.

    Only `NODE_SERVER=daphne` and `runserver` need Twisted, and they load it themselves.
    """

    name = "daphne"
    verbose_name = "Daphne"
    default = False


class ThemeConfig(AppConfig):
    """The admin's theme without its own configuration, which loads its forms at startup; `AdminConfig` names its site."""

    name = "unfold"
    verbose_name = "Theme"
    default = False


class AdminConfig(SimpleAdminConfig):
    """Django's admin, whose pages are loaded with the URLs (`urls.py`): few of the node's processes show any."""

    default = False
    default_site = "unfold.sites.UnfoldAdminSite"

    @override
    def ready(self) -> None:
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(check_pages, checks.Tags.admin)


def check_pages(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Run Django's check of all admin pages, once they are loaded."""
    load_admins()
    return check_admin_app(app_configs, **kwargs)


class NodeConfig(AppConfig):
    """Name and label of the project's own commands, and the node of this process."""

    name = "nodeproject"
    verbose_name = "Node"
    default = True

    node: "Node"

    @override
    def ready(self) -> None:
        # Imported here because Django reads this module before models may be imported.
        from nodeproject.node import Node, processes_in

        node = Node(settings.NODE, processes_in(settings.METRICS_DIRECTORY))
        node.connect_consensus()
        use(node)
        import_module("nodeproject.startup.checks")


def this_node() -> "Node":
    """Return the node of this process, for calls from Django, Celery or a server, which cannot pass it on."""
    return _config().node


def use(node: "Node") -> None:
    """Make a node, with its chains, network and explorer, the node of this process."""
    config = _config()
    config.node = node
    if not node.on_chain:  # its first use

        def begun(runtime: "EvmRuntime") -> None:
            if config.node is node:
                add_evm_chain(runtime)

        def ended(runtime: "EvmRuntime") -> None:
            if config.node is node:
                remove_evm_chain(runtime)

        node.on_chain.append(begun)
        node.on_chain_ended.append(ended)
    use_evm_chain(*node.evm_runtimes.values(), find_chains=node.find_chains)
    use_platform_chain(lambda: node.platform_runtime)
    use_avm_chain(lambda: node.avm_runtime)
    use_network(lambda: node.network)
    use_explorer(lambda: node.explorer)
    use_names(_names)


def _names(chain: "EvmChain", addresses: "Collection[Address]") -> "Mapping[Address, str]":
    from explorer_app.selectors.labels import plain_names  # with the first list

    return plain_names(chain, addresses)


def _config() -> NodeConfig:
    config = apps.get_app_config(NodeConfig.name)
    assert isinstance(config, NodeConfig)
    return config
