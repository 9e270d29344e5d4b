"""The parameters of an EVM chain of a subnet: its fork times follow from the upgrades of its network (etna.md 12.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cchain_app.config import BLACKHOLE, BlobParameters, ChainConfig, ForkSchedule
from cchain_app.genesis_fields import (
    ROW_BITS,
    Document,
    GenesisFileError,
    read_flag,
    read_number,
    read_object,
    read_optional_number,
)
from cchain_app.precompiles.fee_config import (
    DEFAULT_FEE_CONFIG,
    FeeConfig,
    FeeConfigError,
    parse_fee_config,
    render_fee_config,
)
from cchain_app.precompiles.parsing import parse_precompiles
from cchain_app.rules.coreth.min_delay import FIRST_EXCESS, desired_excess
from cchain_app.rules.subnet_evm.precompiles import shown_precompiles
from primitives.evm import Address
from primitives.upgrades import MAINNET, UpgradeTimes

CHAIN_ID_WITHOUT_CONFIG: Final = 43_214
"""The chain ID of a file without `config`."""

_BLOCK_KEYS: Final = {
    "homesteadBlock": "homestead",
    "eip150Block": "tangerine_whistle",
    "eip155Block": "spurious_dragon",
    "eip158Block": "spurious_dragon",
    "byzantiumBlock": "byzantium",
    "constantinopleBlock": "constantinople",
    "petersburgBlock": "constantinople",
    "istanbulBlock": "istanbul",
    "muirGlacierBlock": "istanbul",
    "berlinBlock": "berlin",
    "londonBlock": "london",
}
"""The rule set that begins with each key of the file; all begin at block 0 unless the file says otherwise."""
_NO_BLOBS: Final = BlobParameters(0, 0, 3_338_477)
_OWN_TIMES: Final = ("durango", "etna", "fortuna", "granite", "helicon")
_NOT_IN_GENESIS: Final = ("stateUpgrades", "networkUpgradeOverrides", "precompileUpgrades")


@dataclass(frozen=True, slots=True)
class SubnetEvmConfig(ChainConfig):
    """The parameters of an EVM chain of a subnet."""

    fees: FeeConfig = DEFAULT_FEE_CONFIG
    granite: int = 0
    """Time of Granite, Unix seconds."""
    initial_delay_excess: int = FIRST_EXCESS
    """The excess in block 0 that determines the least time between blocks, if Granite is active at its time."""
    shown: Mapping[str, Any] = field(default_factory=dict)
    """The configuration as the reference's eth_getChainConfig shows it, which this node does not have."""

    def has_granite(self, timestamp: int) -> bool:
        """Return whether blocks of this time have the fields of Granite."""
        return timestamp >= self.granite


def parse_config(
    document: Document | None,
    upgrades: UpgradeTimes,
    *,
    coinbase: Address = BLACKHOLE,
    precompile_upgrades: Sequence[Document] = (),
) -> SubnetEvmConfig:
    """Return the parameters from the `config` of a file.

    Args:
        document: The `config`; None: the file has none.
        upgrades: The upgrades of the network.
        coinbase: Recipient of the tips, from settings.
        precompile_upgrades: The entries of an upgrade file.

    Raises:
        GenesisFileError: It cannot be used; the message is the reference's.
    """
    if document is None:
        document, upgrades = {"chainId": CHAIN_ID_WITHOUT_CONFIG}, MAINNET
    for key in ("pragueTime", "osakaTime"):
        if document.get(key) is not None:
            raise GenesisFileError(f"config.{key}: subnet EVM chains have no such fork")
    for key in _NOT_IN_GENESIS:
        if document.get(key) is not None:
            raise GenesisFileError(
                f"config.{key}: it belongs to an upgrade file, not to the genesis"
            )
    given_fees = document.get("feeConfig")
    try:
        fees = (
            DEFAULT_FEE_CONFIG
            if given_fees is None
            else parse_fee_config(read_object(document, "feeConfig", "config."))
        )
    except FeeConfigError as error:
        raise _unverified(f"invalid fee config: {error}") from error
    times = _times(document, upgrades)
    precompiles = parse_precompiles(
        document,
        durango=times["durango"],
        granite=times["granite"],
        fee_config=fees,
        allow_fee_recipients=read_flag(document, "allowFeeRecipients", "config."),
        upgrades=precompile_upgrades,
    )
    _verify_times(document, times, upgrades)
    blocks = {key: read_number(document, key, "config.", default=0) for key in _BLOCK_KEYS}
    chain_id = document.get("chainId")
    return SubnetEvmConfig(
        chain_id=0
        if chain_id is None
        else read_number(document, "chainId", "config.", bits=ROW_BITS),
        schedule=ForkSchedule(
            blocks={fork: blocks[key] for key, fork in _BLOCK_KEYS.items()},
            times={"shanghai": times["durango"], "cancun": times["etna"]},
            terminal_difficulty=0,
        ),
        blobs={"cancun": _NO_BLOBS},
        min_base_fee=fees.min_base_fee,
        coinbase=coinbase,
        fees=fees,
        granite=times["granite"],
        initial_delay_excess=_initial_delay_excess(document),
        stateful=precompiles,
        shown=_shown(document, fees, times, blocks) | shown_precompiles(precompiles),
    )


def _unverified(reason: str) -> GenesisFileError:
    return GenesisFileError(f"failed to verify genesis: {reason}")


def _initial_delay_excess(document: Document) -> int:
    delay = read_number(document, "initialMinDelayMS", "config.", default=0)
    return desired_excess(delay) if delay else FIRST_EXCESS


def _times(document: Document, upgrades: UpgradeTimes) -> dict[str, int]:
    """Return the times of the upgrades on this chain: those of the file, else those of the network."""
    return {
        name: read_optional_number(document, f"{name}Timestamp", "config.")
        or getattr(upgrades, name)
        for name in _OWN_TIMES
    }


def _verify_times(document: Document, times: Mapping[str, int], upgrades: UpgradeTimes) -> None:
    for name in _OWN_TIMES:
        least = getattr(upgrades, name)
        if document.get(f"{name}Timestamp") is not None and times[name] < least:
            raise _unverified(
                f"invalid network upgrades: {name} fork block timestamp is invalid: provided timestamp must be "
                f"greater than or equal to the default timestamp: provided timestamp {times[name]}, "
                f"default timestamp {least}"
            )


def _shown(
    document: Document, fees: FeeConfig, times: Mapping[str, int], blocks: Mapping[str, int]
) -> dict[str, Any]:
    shown: dict[str, Any] = {"chainId": document.get("chainId"), **blocks}
    shown |= {"shanghaiTime": times["durango"], "cancunTime": times["etna"]}
    shown |= {"feeConfig": render_fee_config(fees), "subnetEVMTimestamp": 0, "upgrades": {}}
    shown |= {
        f"{name}Timestamp": times[name]
        for name in _OWN_TIMES
        if name != "fortuna" or document.get("fortunaTimestamp")
    }
    if read_flag(document, "allowFeeRecipients", "config."):
        shown["allowFeeRecipients"] = True
    if document.get("initialMinDelayMS"):
        shown["initialMinDelayMS"] = document["initialMinDelayMS"]
    return shown
