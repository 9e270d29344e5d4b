"""The P-Chain as a Django app, and the chain of this process: for doors, admin, tasks and commands.

All below them are handed the chain.
"""

from threading import Lock
from typing import TYPE_CHECKING

from django.apps import AppConfig, apps
from django.conf import settings

from primitives.networks import LOCAL

if TYPE_CHECKING:
    from platform_app.chain import PlatformChain


class PlatformAppConfig(AppConfig):
    """Name and label of the app, and its chain."""

    name = "platform_app"
    verbose_name = "P-Chain"

    _chain: "PlatformChain | None" = None
    _lock = Lock()

    @property
    def chain(self) -> "PlatformChain":
        """The chain of this process, made from the settings at its first use."""
        with self._lock:
            if self._chain is None:
                self._chain = _from_settings()
            return self._chain

    def use(self, chain: "PlatformChain | None") -> None:
        """Work on another chain from now on; None: on one made from the settings. For tests."""
        with self._lock:
            self._chain = chain


def platform_chain() -> "PlatformChain":
    """Return the P-Chain of this process."""
    return _config().chain


def use(chain: "PlatformChain | None") -> None:
    """Work on another chain from now on; None: on one made from the settings. For tests."""
    _config().use(chain)


def _config() -> PlatformAppConfig:
    config = apps.get_app_config(PlatformAppConfig.name)
    assert isinstance(config, PlatformAppConfig)
    return config


def _from_settings() -> "PlatformChain":
    # Only here: Django reads this module before models may be imported.
    from chaindb.database import Database
    from platform_app.chain import PlatformChain
    from platform_app.local.renewal import Renewal

    chain = PlatformChain(settings.NODE, Database())
    if chain.node.network_id == LOCAL:
        chain.own = Renewal(chain)
    return chain
