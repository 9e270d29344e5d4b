"""The parameters that differ between networks, and the environment of execution. Values only, no rules.

Amounts are in the smallest unit (specification 1: microunits), durations in seconds, shares in
millionths. There are two scales (design.md 9): the specification's with 6 decimals (gaps.md 2), and the
reference implementation's with 9 (pchain.md 5.4.2, 6.1).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from primitives.ids import ID
from primitives.networks import REFERENCE_UNIT, SPECIFICATION_UNIT, hrp_of
from primitives.upgrades import FUJI, MAINNET, OWN_NETWORK, UpgradeTimes
from primitives.warp import CanonicalSet

DAY = 24 * 60 * 60
MILLION = 1_000_000
UNIT = SPECIFICATION_UNIT


@dataclass(frozen=True, slots=True)
class StaticFees:
    """Fees by kind of transaction (gaps.md 2; pchain.md 6.1), as info.getTxFee lists them."""

    tx: int
    create_asset: int
    create_subnet: int
    transform_subnet: int
    create_blockchain: int
    add_primary_network_validator: int
    add_primary_network_delegator: int
    add_subnet_validator: int
    add_subnet_delegator: int


@dataclass(frozen=True, slots=True)
class GasConfig:
    """Dynamic fees (pchain.md 6.3). The weights are for bandwidth, reads, writes and compute."""

    weights: tuple[int, int, int, int] = (1, 1000, 1000, 4)
    max_capacity: int = 1_000_000
    max_per_second: int = 100_000
    target_per_second: int = 50_000
    min_price: int = 1
    excess_conversion: int = 2_164_043


@dataclass(frozen=True, slots=True)
class ValidatorFeeConfig:
    """The continuous fee of L1 validators (pchain.md 11.2), shown by getValidatorFeeConfig."""

    capacity: int = 20_000
    target: int = 10_000
    min_price: int = 1
    excess_conversion: int = 865_617


@dataclass(frozen=True, slots=True)
class RewardConfig:
    """Staking rewards (pchain.md 7.1). Rates are in millionths per minting period."""

    max_consumption_rate: int = 120_000
    min_consumption_rate: int = 100_000
    minting_period: int = 365 * DAY
    supply_cap: int = 2_000_000_000_000 * UNIT


@dataclass(frozen=True, slots=True)
class PlatformConfig:
    """The parameters of one network."""

    network_id: int
    hrp: str
    fees: StaticFees
    unit: int = UNIT
    min_validator_stake: int = 2_000 * UNIT
    max_validator_stake: int = 3_000_000 * UNIT
    min_delegator_stake: int = 25 * UNIT
    min_delegation_fee: int = 20_000
    min_stake_duration: int = DAY
    helicon_min_stake_duration: int = 60 * 60
    """Of validators of the Primary Network since Helicon (ACP-273); delegators and subnets keep the other one."""
    max_stake_duration: int = 365 * DAY
    max_weight_factor: int = 5
    max_start_ahead: int = 14 * DAY
    synchrony_bound: int = 10
    uptime_requirement: int = 800_000
    helicon_uptime_requirement: int = 900_000
    """Of validators of the Primary Network that start at or after Helicon (ACP-267)."""
    durango: bool = False
    """Whether the reference's rules since its Durango upgrade apply: stakers start at chain time, whatever
    their transactions say, AddValidatorTx and AddDelegatorTx are rejected, and memos are empty."""
    gas_fees_only: bool = False
    """Whether only dynamic fees count, and the gas capacity limits blocks (ACP-103). Otherwise the smaller one of the
    static and the dynamic fee suffices, and blocks may exceed the capacity."""
    upgrades: UpgradeTimes = OWN_NETWORK
    rewards: RewardConfig = field(default_factory=RewardConfig)
    gas: GasConfig = field(default_factory=GasConfig)
    validator_fees: ValidatorFeeConfig = field(default_factory=ValidatorFeeConfig)

    @property
    def decimals(self) -> int:
        """The number of decimals of a coin."""
        return len(str(self.unit)) - 1


def _fees(unit: int, *, create: int, transform: int, create_asset: int) -> StaticFees:
    """Return a fee schedule; the arguments are in thousandths of a coin."""
    milli = unit // 1000
    return StaticFees(
        tx=milli,
        create_asset=create_asset * milli,
        create_subnet=create * milli,
        transform_subnet=transform * milli,
        create_blockchain=create * milli,
        add_primary_network_validator=0,
        add_primary_network_delegator=0,
        add_subnet_validator=milli,
        add_subnet_delegator=milli,
    )


def specification_config(network_id: int) -> PlatformConfig:
    """Return the parameters of a network at the specification's scale (gaps.md 2)."""
    mainnet, is_public = network_id == 1, network_id in {1, 5}
    return PlatformConfig(
        network_id=network_id,
        hrp=hrp_of(network_id),
        upgrades=replace(OWN_NETWORK, granite_epoch_duration=300) if is_public else OWN_NETWORK,
        fees=_fees(UNIT, create=1000 if mainnet else 100, transform=10_000, create_asset=10),
        min_stake_duration=14 * DAY if mainnet else DAY,
        helicon_min_stake_duration=_helicon_min_stake_duration(network_id),
    )


def _helicon_min_stake_duration(network_id: int) -> int:
    """Return the minimum of ACP-273: 48 hours on mainnet, 12 on fuji, one on other networks."""
    return {1: 48, 5: 12}.get(network_id, 1) * 60 * 60


_REFERENCE_HRPS = {1: "avax", 2: "cascade", 3: "denali", 4: "everest", 5: "fuji", 10: "testing"}


def reference_config(network_id: int) -> PlatformConfig:
    """Return the reference implementation's own parameters (pchain.md 5.4.2, 6.1, 11.2).

    Unspecified: its current rules apply from the first block on, as on all its networks except mainnet and
    fuji. On those two networks, blocks from before Durango are rejected, as are the ones from before Banff.
    """
    coin = REFERENCE_UNIT
    mainnet, fuji = network_id == 1, network_id == 5
    config = PlatformConfig(
        network_id=network_id,
        hrp=_REFERENCE_HRPS.get(network_id, hrp_of(network_id)),
        fees=_fees(
            coin,
            create=1000 if mainnet else 100,
            transform=10_000 if mainnet else 1000 if fuji else 100,
            create_asset=10 if mainnet or fuji else 1,
        ),
        unit=coin,
        min_validator_stake=(1 if fuji else 2_000) * coin,
        max_validator_stake=3_000_000 * coin,
        min_delegator_stake=(1 if fuji else 25) * coin,
        min_stake_duration=14 * DAY if mainnet else DAY,
        helicon_min_stake_duration=_helicon_min_stake_duration(network_id),
        durango=True,
        gas_fees_only=True,
        upgrades=MAINNET if mainnet else FUJI if fuji else OWN_NETWORK,
        rewards=RewardConfig(supply_cap=720_000_000 * coin),
    )
    if mainnet:
        return replace(
            config,
            validator_fees=ValidatorFeeConfig(min_price=512, excess_conversion=1_246_488_515),
        )
    if fuji:
        return replace(
            config, validator_fees=ValidatorFeeConfig(min_price=512, excess_conversion=51_937_021)
        )
    return config


Signers = Callable[[ID, int | None], CanonicalSet]
"""Returns the validators of a subnet at a P-Chain height; None means the last accepted one."""


@dataclass(frozen=True, slots=True)
class Env:
    """The environment in which transactions and blocks are executed."""

    config: PlatformConfig
    asset_id: ID
    """The Primary Network's staking asset, in which fees are paid."""
    now: int
    """The node's clock in Unix seconds: no block may be far ahead of it."""
    x_chain_id: ID
    c_chain_id: ID
    p_chain_height: int | None = None
    """The P-Chain height whose validators sign warp messages (p2p.md 11.4); None outside of a block that has one."""
    signers: Signers | None = None
    """The validators that sign warp messages; None: their signatures are not checked, as while bootstrapping."""
    decided: bool = False
    """Whether the network has accepted the block already, which may import outputs before their export arrives."""
