"""The X-Chain as a Django app, and the chain of this process for the admin, tasks and commands.

The layers below receive the chain as an argument.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.apps import AppConfig, apps

if TYPE_CHECKING:
    from xchain_app.services.runtime import AvmRuntime


class XChainAppConfig(AppConfig):
    """Name and label of the app, and its chain."""

    name = "xchain_app"
    verbose_name = "X-Chain"

    find: "Callable[[], AvmRuntime]"
    """Returns the running chain. Set by the code that assembles the process."""


def avm_runtime() -> "AvmRuntime":
    """Return the running X-Chain of this process."""
    return _config().find()


def use(find: "Callable[[], AvmRuntime]") -> None:
    """Make the running chain that a function returns the X-Chain of this process from now on."""
    _config().find = find


def _config() -> XChainAppConfig:
    config = apps.get_app_config(XChainAppConfig.name)
    assert isinstance(config, XChainAppConfig)
    return config
