"""Configurations of precompiles as the reference's eth_getChainConfig shows them."""

from collections.abc import Mapping
from typing import Any

from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.fee_config import render_fee_config
from cchain_app.precompiles.schedule import PrecompileConfig, PrecompileSchedule
from primitives.evm import ZERO_ADDRESS


def shown_precompiles(schedule: PrecompileSchedule) -> dict[str, Mapping[str, Any]]:
    """Return the configurations of a genesis file by key."""
    return {str(config.key): _shown(config) for config in schedule.configs}


def _shown(config: PrecompileConfig) -> dict[str, Any]:
    if config.key == PrecompileKey.WARP:
        return {
            "blockTimestamp": config.timestamp,
            "quorumNumerator": config.quorum_numerator,
            "requirePrimaryNetworkSigners": config.require_primary_network_signers,
        }
    shown: dict[str, Any] = {
        f"{role}Addresses": [f"0x{address.hex()}" for address in listed]
        for role, listed in config.roles._asdict().items()
        if listed
    }
    shown["blockTimestamp"] = config.timestamp
    if config.initial_mint:
        shown["initialMint"] = {
            f"0x{address.hex()}": hex(wei) for address, wei in config.initial_mint
        }
    if config.initial_fee_config is not None:
        shown["initialFeeConfig"] = render_fee_config(config.initial_fee_config)
    if (rewards := config.initial_rewards) is not None:
        shown["initialRewardConfig"] = {
            "allowFeeRecipients": rewards.allow_fee_recipients,
            "rewardAddress": f"0x{(rewards.reward_address or ZERO_ADDRESS).hex()}",
        }
    return shown
