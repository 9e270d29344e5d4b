"""When the stateful precompiles of a chain begin and end, and with which configs (etna.md 12.5)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cchain_app.precompiles.active import (
    DURANGO_WARP_GAS,
    GRANITE_WARP_GAS,
    NO_STATEFUL,
    StatefulPrecompiles,
    WarpRules,
)
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.fee_config import DEFAULT_FEE_CONFIG, FeeConfig
from primitives.evm import Address
from primitives.hexadecimal import checksum_address
from primitives.warp import QUORUM_DENOMINATOR, QUORUM_NUMERATOR

MIN_QUORUM_NUMERATOR: Final = 33


class PrecompileConfigError(Exception):
    """A config that cannot be used; the message is subnet-evm's, without its prefix."""


class InitialRoles(NamedTuple):
    """The first entries of an allow list."""

    admin: tuple[Address, ...] = ()
    manager: tuple[Address, ...] = ()
    enabled: tuple[Address, ...] = ()


NO_ROLES: Final = InitialRoles()


class InitialRewards(NamedTuple):
    """The recipient of fees when the reward manager begins."""

    allow_fee_recipients: bool = False
    """Whether each validator chooses its recipient."""
    reward_address: Address | None = None
    """The recipient of all fees; None if validators choose their recipients, or if fees are burned."""


@dataclass(frozen=True, slots=True)
class PrecompileConfig:
    """The begin, or the end, of one precompile."""

    key: PrecompileKey
    timestamp: int | None
    """Unix seconds: the first block with this or a later time changes; None: no block does."""
    disable: bool = False
    """Whether the precompile ends."""
    roles: InitialRoles = NO_ROLES
    initial_mint: tuple[tuple[Address, int], ...] = ()
    """Wei by account, for the native minter."""
    initial_fee_config: FeeConfig | None = None
    """For the fee manager; None: the chain's own."""
    initial_rewards: InitialRewards | None = None
    """For the reward manager; None: as the chain's `allowFeeRecipients` says."""
    quorum_numerator: int = 0
    """For warp: how many of 100 parts of the weight must have signed; 0: the usual 67."""
    require_primary_network_signers: bool = False
    """For warp: whether the C-Chain's messages need the Primary Network's signatures, and not those of the subnet."""

    @property
    def numerator(self) -> int:
        """How many of 100 parts of the weight must have signed a message."""
        return self.quorum_numerator or QUORUM_NUMERATOR

    def verify(self, durango: int) -> None:
        """Check the values in subnet-evm's order.

        Args:
            durango: Unix seconds since which there are managers and warp.

        Raises:
            PrecompileConfigError: A value cannot be used.
        """
        early = self.timestamp is not None and self.timestamp < durango
        if self.key == PrecompileKey.WARP:
            self._verify_warp(early=early)
            return
        for account, wei in self.initial_mint:
            if wei < 1:
                raise PrecompileConfigError(
                    f"initial mint cannot contain invalid amount: amount {wei} for address "
                    f"{checksum_address(account)}"
                )
        rewards = self.initial_rewards
        if rewards is not None and rewards.allow_fee_recipients and rewards.reward_address:
            raise PrecompileConfigError(
                "cannot enable both fee recipients and reward address at the same time"
            )
        self._verify_roles(early=early)
        if self.initial_fee_config is not None:
            self.initial_fee_config.verify()

    def _verify_warp(self, *, early: bool) -> None:
        if early:
            raise PrecompileConfigError("warp cannot be activated before Durango")
        ratio = f"invalid warp quorum ratio: cannot specify numerator ({self.quorum_numerator})"
        if self.quorum_numerator > QUORUM_DENOMINATOR:
            raise PrecompileConfigError(f"{ratio} > denominator ({QUORUM_DENOMINATOR})")
        if 0 < self.quorum_numerator < MIN_QUORUM_NUMERATOR:
            raise PrecompileConfigError(f"{ratio} < min numerator ({MIN_QUORUM_NUMERATOR})")

    def _verify_roles(self, *, early: bool) -> None:
        seen: dict[Address, str] = {}
        for role, accounts in (
            ("enabled", self.roles.enabled),
            ("admin", self.roles.admin),
            ("manager", self.roles.manager),
        ):
            if role == "manager" and accounts and early:
                raise PrecompileConfigError("cannot add managers before Durango")
            for account in accounts:
                known, words = seen.get(account), checksum_address(account)
                if known == role:
                    raise PrecompileConfigError(f"duplicate address in {role} list: {words}")
                if known is not None:
                    both = " and ".join(_IN_MESSAGES[frozenset({known, role})])
                    raise PrecompileConfigError(f"cannot set address as both {both}: {words}")
                seen[account] = role


_IN_MESSAGES: Final = {
    frozenset({"admin", "enabled"}): ("admin", "enabled"),
    frozenset({"admin", "manager"}): ("admin", "manager"),
    frozenset({"enabled", "manager"}): ("enabled", "manager"),
}


@dataclass(frozen=True, slots=True)
class PrecompileSchedule:
    """The begin and end of each of a chain's precompiles."""

    configs: tuple[PrecompileConfig, ...] = ()
    """Those of the genesis file, then those of an upgrade file in order of time."""
    fee_config: FeeConfig = DEFAULT_FEE_CONFIG
    """The chain's own fee config."""
    allow_fee_recipients: bool = False
    """Whether validators choose the recipients of fees, if no reward manager does."""
    granite: int = 0
    """Unix seconds since which the warp precompile has the prices of Granite."""

    def __bool__(self) -> bool:
        """Return whether there is any precompile at any time."""
        return bool(self.configs)

    def config_at(self, key: PrecompileKey, timestamp: int) -> PrecompileConfig | None:
        """Return the config of a precompile that is active in a block of this time; None if it is not."""
        last = None
        for config in self.configs:
            if config.key == key and config.timestamp is not None and config.timestamp <= timestamp:
                last = config
        return None if last is None or last.disable else last

    def active_at(
        self,
        timestamp: int,
        *,
        network_id: int,
        blockchain_id: bytes,
        failed: tuple[tuple[bytes, int], ...] = (),
    ) -> StatefulPrecompiles:
        """Return the active precompiles in a block of this time.

        Args:
            timestamp: The block's time in Unix seconds.
            network_id: The network's ID, for warp messages.
            blockchain_id: The chain's ID, for warp messages.
            failed: By transaction, the bits of predicates whose verification failed.
        """
        if not self.configs:
            return NO_STATEFUL

        def is_active(key: PrecompileKey) -> bool:
            return self.config_at(key, timestamp) is not None

        prices = GRANITE_WARP_GAS if timestamp >= self.granite else DURANGO_WARP_GAS
        has_warp = is_active(PrecompileKey.WARP)
        return StatefulPrecompiles(
            deployer_allow_list=is_active(PrecompileKey.DEPLOYER_ALLOW_LIST),
            native_minter=is_active(PrecompileKey.NATIVE_MINTER),
            transaction_allow_list=is_active(PrecompileKey.TRANSACTION_ALLOW_LIST),
            fee_manager=is_active(PrecompileKey.FEE_MANAGER),
            reward_manager=is_active(PrecompileKey.REWARD_MANAGER),
            warp=WarpRules(network_id, blockchain_id, prices, failed) if has_warp else None,
        )

    def between(self, parent: int | None, timestamp: int) -> Iterator[PrecompileConfig]:
        """Yield the configs that begin in a block: by address of the precompile, then by time.

        Args:
            parent: The parent's time in Unix seconds; None: the block is block 0.
            timestamp: The block's time in Unix seconds.
        """
        for key in PrecompileKey:
            for config in self.configs:
                start = config.timestamp
                if config.key != key or start is None or start > timestamp:
                    continue
                if parent is None or parent < start:
                    yield config


NO_PRECOMPILES: Final = PrecompileSchedule()


def verify_upgrades(
    genesis: Sequence[PrecompileConfig], upgrades: Sequence[PrecompileConfig], durango: int
) -> None:
    """Check the configs of an upgrade file together with those of the genesis file.

    Raises:
        PrecompileConfigError: They are out of order, or a precompile begins while active, or ends while inactive.
        FeeConfigError: An initial fee config cannot be used.
    """
    last = {
        config.key: (config.timestamp, False) for config in genesis if config.timestamp is not None
    }
    before = 0
    for place, config in enumerate(upgrades):
        named, time = f"PrecompileUpgrade ({config.key}) at [{place}]", config.timestamp
        if time is None:
            raise PrecompileConfigError(
                f"precompile upgrade block timestamp cannot be nil: {named}"
            )
        if time < before:
            raise PrecompileConfigError(
                "precompile upgrade config block timestamp must be greater than or equal to previous "
                f"timestamp: {named} has timestamp {time}, previous timestamp {before}"
            )
        known = last.get(config.key)
        disabled = known is None or known[1]
        if disabled == config.disable:
            should = "false" if disabled else "true"
            raise PrecompileConfigError(
                f"precompile upgrade disable value is invalid: {named}, disable should be {should}"
            )
        if known is not None and time <= known[0]:
            raise PrecompileConfigError(
                "precompile upgrade config block timestamp for same key must be strictly greater than "
                f"previous timestamp: {named} has timestamp {time}, previous timestamp of same key {known[0]}"
            )
        config.verify(durango)
        last[config.key], before = (time, config.disable), time
