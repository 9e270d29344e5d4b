"""The fee config of subnet-evm: eight numbers of the genesis file or of the fee manager (etna.md 12.3)."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from primitives import uint64

MAX_GAS_LIMIT: Final = 2**63 - 1
"""The greatest gas limit for which rows have room. A block's may be wider if a fee manager has set it."""
MAX_BASE_FEE: Final = 2**256 - 1
"""Wei; the greatest base fee of a header, as in go-ethereum."""


class FeeConfigError(Exception):
    """A fee config that cannot be used; the message is subnet-evm's."""


class FeeConfig(NamedTuple):
    """The parameters of a chain's fees, in the order of the fee manager's slots and arguments."""

    gas_limit: int
    """Gas limit of each block."""
    target_block_rate: int
    """Seconds between blocks."""
    min_base_fee: int
    """Wei per gas."""
    target_gas: int
    """Gas that the blocks of ten seconds use while the base fee does not change."""
    base_fee_change_denominator: int
    min_block_gas_cost: int
    max_block_gas_cost: int
    block_gas_cost_step: int

    def verify(self) -> None:
        """Check the numbers in subnet-evm's order.

        Raises:
            FeeConfigError: One of them is out of its range.
        """
        for name in ("gas_limit", "target_block_rate", "min_base_fee", "target_gas",
                     "base_fee_change_denominator", "min_block_gas_cost"):  # fmt: skip
            self._verify_least(name, 0 if name in {"min_base_fee", "min_block_gas_cost"} else 1)
        if self.min_block_gas_cost > self.max_block_gas_cost:
            raise FeeConfigError(
                "minBlockGasCost cannot be greater than maxBlockGasCost: "
                f"minBlockGasCost = {self.min_block_gas_cost}, maxBlockGasCost = {self.max_block_gas_cost}"
            )
        self._verify_least("block_gas_cost_step", 0)
        if self.max_block_gas_cost > uint64.MAX:
            raise FeeConfigError(
                f"maxBlockGasCost is not a valid uint64: maxBlockGasCost = {self.max_block_gas_cost}"
            )
        for name, value in zip(self._fields, self, strict=True):
            if value >> 256:
                raise FeeConfigError(f"{_KEYS[name]} exceeds hash length: 32 bytes")

    def verify_fits(self) -> None:
        """Check that rows of this node have room for the gas limit of a file.

        Unspecified: subnet-evm takes a gas limit of 64 bits.

        Raises:
            FeeConfigError: It is too wide.
        """
        if self.gas_limit > MAX_GAS_LIMIT:
            limit = f"gasLimit cannot be greater than {MAX_GAS_LIMIT}"
            raise FeeConfigError(f"{limit}: gasLimit = {self.gas_limit}")

    def _verify_least(self, name: str, least: int) -> None:
        value, key = getattr(self, name), _KEYS[name]
        if value < least:
            bound = "less than or equal to 0" if least else "less than 0"
            raise FeeConfigError(f"{key} cannot be {bound}: {key} = {value}")


_KEYS: Final = {
    "gas_limit": "gasLimit",
    "target_block_rate": "targetBlockRate",
    "min_base_fee": "minBaseFee",
    "target_gas": "targetGas",
    "base_fee_change_denominator": "baseFeeChangeDenominator",
    "min_block_gas_cost": "minBlockGasCost",
    "max_block_gas_cost": "maxBlockGasCost",
    "block_gas_cost_step": "blockGasCostStep",
}

DEFAULT_FEE_CONFIG: Final = FeeConfig(
    gas_limit=8_000_000,
    target_block_rate=2,
    min_base_fee=25 * 10**9,
    target_gas=15_000_000,
    base_fee_change_denominator=36,
    min_block_gas_cost=0,
    max_block_gas_cost=1_000_000,
    block_gas_cost_step=200_000,
)
"""The fee config of a genesis file without one."""


def parse_fee_config(document: Mapping[str, Any]) -> FeeConfig:
    """Return the fee config of a decoded JSON object. Numbers may be negative here, so that `verify` names them.

    Unspecified: a missing gas limit beside other numbers crashes subnet-evm; it is refused here.

    Raises:
        FeeConfigError: A number is missing, is not a whole number, or is out of its range.
    """
    given: dict[str, int] = {}
    for name, key in _KEYS.items():
        value = document.get(key)
        # subnet-evm reads the rate into a plain integer, where a missing number is 0.
        if value is None and name == "target_block_rate":
            value = 0
        if value is None:
            raise FeeConfigError(f"{key} cannot be nil")
        if isinstance(value, bool) or not isinstance(value, int):
            raise FeeConfigError(f"{key}: not a whole number")
        given[name] = value
    config = FeeConfig(**given)
    config.verify()
    config.verify_fits()
    return config


def render_fee_config(config: FeeConfig) -> dict[str, int]:
    """Return a fee config as JSON, with subnet-evm's keys."""
    return {_KEYS[name]: value for name, value in zip(config._fields, config, strict=True)}
