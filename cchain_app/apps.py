"""The C-Chain as a Django app, and the one chain of the process for those whom nobody can give it."""

import threading

from django.apps import AppConfig, apps
from django.conf import settings

from cchain_app.chain import EvmChain
from chaindb.database import Database


class CChainConfig(AppConfig):
    """Name and label of the app, and the C-Chain of this process."""

    name = "cchain_app"
    verbose_name = "C-Chain"

    _chain: EvmChain | None = None
    _making = threading.Lock()

    @property
    def chain(self) -> EvmChain:
        """The C-Chain of the settings, made when it is first asked for."""
        if self._chain is None:
            with self._making:
                if self._chain is None:
                    self._chain = EvmChain(settings.NODE, Database())
        return self._chain

    @chain.setter
    def chain(self, chain: EvmChain | None) -> None:
        self._chain = chain


def evm_chain() -> EvmChain:
    """Return the C-Chain of this process, for where Django or Celery call and nobody passes it on."""
    config = apps.get_app_config("cchain_app")
    assert isinstance(config, CChainConfig)
    return config.chain


def use(chain: EvmChain | None) -> None:
    """Let another chain be the C-Chain of this process; None: the one of the settings, made anew."""
    config = apps.get_app_config("cchain_app")
    assert isinstance(config, CChainConfig)
    config.chain = chain
