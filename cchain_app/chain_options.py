"""Values that an EVM chain derives from its settings: keys of development accounts, limits of pool, calls and filters."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TypeVar

from django.conf import settings

from cchain_app.accounts.keyring import (
    NO_KEYS,
    Derivation,
    Keyring,
    development_keyring,
    is_public,
)
from cchain_app.config import ChainConfig
from cchain_app.filter_index import FILTERS, FilterIndex, MemoryIndex, redis_index
from cchain_app.forking.origin import ForkOrigin
from cchain_app.pool.entry import PoolLimits
from cchain_app.settings import EvmSettings
from primitives.ids import ID, PRIMARY_NETWORK_ID
from primitives.settings import CommonSettings

WEI = 10**18
"""Wei of one coin."""

GAS_CAP = 50_000_000
"""Gas limit of a call where no setting gives one, as in geth."""

N = TypeVar("N", int, float)


class ChainOptions(ABC):
    """The part of a chain that follows from its settings. Expensive attributes are created on first use."""

    node: CommonSettings
    settings: EvmSettings
    aliases: tuple[str, ...]
    subnet_id: ID

    @property
    @abstractmethod
    def name(self) -> str:
        """Its first alias."""

    @property
    @abstractmethod
    def is_development(self) -> bool:
        """Whether it is a local chain whose blocks this node alone decides."""

    @property
    @abstractmethod
    def has_development_methods(self) -> bool:
        """Whether RPC may change state, clock and blocks, and sign with the node's keys."""

    @property
    @abstractmethod
    def fork(self) -> ForkOrigin | None:
        """The block of another chain from which this one continues; None: it has its own genesis."""

    @cached_property
    @abstractmethod
    def config(self) -> ChainConfig:
        """The chain's current parameters."""

    @property
    def is_of_subnet(self) -> bool:
        """Whether a subnet validates it, and not the Primary Network."""
        return self.subnet_id != PRIMARY_NETWORK_ID

    @property
    def coin_symbol(self) -> str:
        """The symbol of the coin that pays its fees: the network's, or for a chain of a subnet a coin of its own."""
        return self.node.coin_of(self.aliases) if self.is_of_subnet else self.node.coin_symbol

    @property
    def coin_name(self) -> str:
        """The name of that coin; empty if it has none."""
        return "" if self.is_of_subnet else self.node.coin_name

    @property
    def path_name(self) -> str:
        """The alias that URLs of its pages contain: its name where that needs no escaping, else its first alias."""
        names = [alias for alias in self.aliases[1:] if self.is_of_subnet and alias.isalnum()]
        return names[0] if names else self.name

    @property
    def call_seconds(self) -> float:
        """Seconds after which a call is aborted; longer on a fork, where it may wait for the remote node."""
        seconds = self.settings.rpc.call_timeout
        return seconds if self.fork is None else seconds + self.settings.fork.timeout

    @cached_property
    def keyring(self) -> Keyring:
        """The keys of a development chain's accounts, with which its development methods sign; else no keys.

        Raises:
            KeyringError: The settings give no keys.
        """
        if not self.is_development:
            return NO_KEYS
        local = self.settings.local
        return development_keyring(
            local.mnemonic,
            local.accounts,
            local.derivation_path,
        )

    @property
    def has_private_keys(self) -> bool:
        """Whether the node signs with keys of a mnemonic other than the public one."""
        return self.has_development_methods and not is_public(self.settings.local.mnemonic)

    @cached_property
    def derivation(self) -> Derivation:
        """Derives the keys of NODE_MNEMONIC's further accounts, which personal_newAccount creates."""
        return Derivation(self.settings.local.mnemonic, self.settings.local.derivation_path)

    @cached_property
    def pool_limits(self) -> PoolLimits:
        """The limits given by the `NODE_POOL_…` settings and the fee cap."""
        pool = self.settings.pool
        fee_cap = self._chosen(self.settings.rpc.tx_fee_cap, 100.0, 0.0)
        return PoolLimits(
            pending_slots=pool.slots,
            queued_slots=pool.queue,
            account_pending_slots=pool.account_slots,
            account_queued=self._chosen(pool.account_queue, 64, pool.queue),
            queued_lifetime=pool.lifetime,
            minimum_tip=pool.min_tip,
            minimum_fee=self.config.min_base_fee,
            fee_cap=int(fee_cap * WEI) or None,
            unprotected_allowed=pool.unprotected,
            balance_checks=pool.balance_checks,
        )

    def gas_cap(self, block_gas_limit: int) -> int:
        """Return the most gas that one call may use, 0: any (NODE_RPC_GAS_CAP).

        Unspecified: on a development chain it is at least the block gas limit, so that every transaction that can
        be mined can also be called and estimated.

        Args:
            block_gas_limit: Gas limit of the block that the call runs in.
        """
        return self._chosen(self.settings.rpc.gas_cap, GAS_CAP, max(GAS_CAP, block_gas_limit))

    def _chosen(self, given: N, usual: N, to_develop: N) -> N:
        """Return a setting; where it is -1 return its usual value, or its value for a development chain."""
        if given >= 0:
            return given
        return to_develop if self.is_development else usual

    @cached_property
    def filter_index(self) -> FilterIndex:
        """The index of all polled filters: of this process, or, with Redis, of all processes."""
        filters, lifetime = self.settings.filters, self.settings.filter_lifetime
        if self.node.profile != "production":
            return MemoryIndex(filters, lifetime)
        return redis_index(
            settings.CACHES[FILTERS], f"filter-index-{self.name}:", filters, lifetime
        )
