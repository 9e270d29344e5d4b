"""The C-Chain as a Django app, and the one chain of the process for those whom nobody can give it."""

from django.apps import AppConfig, apps

from cchain_app.chain import EvmChain


class CChainConfig(AppConfig):
    """Name and label of the app, and the C-Chain of this process."""

    name = "cchain_app"
    verbose_name = "C-Chain"

    chain: EvmChain
    """Set by who puts the process together."""


def evm_chain() -> EvmChain:
    """Return the C-Chain of this process, for where Django or Celery call and nobody passes it on."""
    return _config().chain


def find_evm_chain(name: str) -> EvmChain | None:
    """Return the chain of this process that a name means, an alias or a blockchain ID; None: there is none."""
    chain = evm_chain()
    return chain if chain.is_named(name) else None


def use(chain: EvmChain) -> None:
    """Let a chain be the C-Chain of this process from now on."""
    _config().chain = chain


def _config() -> CChainConfig:
    config = apps.get_app_config(CChainConfig.name)
    assert isinstance(config, CChainConfig)
    return config
