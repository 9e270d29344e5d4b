"""The P-Chain as a Django app, and the chain of this process for the API, the admin, tasks and commands.

The layers below receive the chain as an argument.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.apps import AppConfig, apps

if TYPE_CHECKING:
    from platform_app.chain import PlatformChain
    from platform_app.services.runtime import PlatformRuntime


class PlatformAppConfig(AppConfig):
    """Name and label of the app, and its chain."""

    name = "platform_app"
    verbose_name = "P-Chain"

    find: "Callable[[], PlatformRuntime]"
    """Returns the running chain. Set by the code that assembles the process."""


def platform_chain() -> "PlatformChain":
    """Return the P-Chain of this process."""
    return platform_runtime().chain


def platform_runtime() -> "PlatformRuntime":
    """Return the running P-Chain of this process."""
    return _config().find()


def use(find: "Callable[[], PlatformRuntime]") -> None:
    """Make the running chain that a function returns the P-Chain of this process from now on."""
    _config().find = find


def _config() -> PlatformAppConfig:
    config = apps.get_app_config(PlatformAppConfig.name)
    assert isinstance(config, PlatformAppConfig)
    return config
