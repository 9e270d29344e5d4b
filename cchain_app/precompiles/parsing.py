"""Read the configs of precompiles: keys of a genesis file's `config`, and upgrade files (etna.md 12.5).

`parse_precompiles` is independent of the rest of the file, so that chains of either form of genesis may use it.
"""

from collections.abc import Iterable
from typing import Final

from cchain_app.genesis_fields import (
    Document,
    GenesisFileError,
    parse_address,
    parse_number,
    read_flag,
    read_number,
    read_object,
    read_optional_number,
)
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.fee_config import (
    DEFAULT_FEE_CONFIG,
    FeeConfig,
    FeeConfigError,
    parse_fee_config,
)
from cchain_app.precompiles.schedule import (
    InitialRewards,
    InitialRoles,
    PrecompileConfig,
    PrecompileConfigError,
    PrecompileSchedule,
    verify_upgrades,
)
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

INVALID: Final = "failed to verify genesis: invalid precompile upgrades: "
"""Before the reference's words for a config that cannot be used."""

_ZERO: Final = Address(bytes(20))


def parse_precompiles(
    document: Document,
    *,
    keys: Iterable[PrecompileKey] = PrecompileKey,
    durango: int = 0,
    granite: int = 0,
    fee_config: FeeConfig = DEFAULT_FEE_CONFIG,
    allow_fee_recipients: bool = False,
    upgrades: Iterable[Document] = (),
) -> PrecompileSchedule:
    """Return the precompiles that a genesis file and an upgrade file name.

    Args:
        document: The genesis file's `config`; other keys are ignored, as in subnet-evm.
        keys: The precompiles that the chain may have.
        durango: Unix seconds since which there are managers and warp.
        granite: Unix seconds since which warp has Granite's prices.
        fee_config: The chain's own fee config.
        allow_fee_recipients: The file's `allowFeeRecipients`.
        upgrades: The entries of `precompileUpgrades` in an upgrade file.

    Raises:
        GenesisFileError: A config cannot be used.
    """
    known = tuple(keys)
    genesis = [
        _parse(PrecompileKey(key), read_object(document, key, "config."), f"config.{key}.")
        for key in known
        if document.get(key) is not None
    ]
    later = [_parse_upgrade(entry, place, known) for place, entry in enumerate(upgrades)]
    try:
        for config in genesis:
            config.verify(durango)
        verify_upgrades(genesis, later, durango)
    except (PrecompileConfigError, FeeConfigError) as error:
        raise GenesisFileError(f"{INVALID}{error}") from error
    return PrecompileSchedule((*genesis, *later), fee_config, allow_fee_recipients, granite)


def _parse_upgrade(
    entry: Document, place: int, known: tuple[PrecompileKey, ...]
) -> PrecompileConfig:
    path = f"precompileUpgrades[{place}]"
    if len(entry) != 1:
        raise GenesisFileError(
            f"{path}: PrecompileUpgrade must have exactly one key, got {len(entry)}"
        )
    (key,) = entry
    if key not in known:
        raise GenesisFileError(f"{path}: unknown precompile config: {key}")
    return _parse(PrecompileKey(key), read_object(entry, key, f"{path}."), f"{path}.{key}.")


def _parse(key: PrecompileKey, document: Document, path: str) -> PrecompileConfig:
    fees = document.get("initialFeeConfig") if key == PrecompileKey.FEE_MANAGER else None
    rewards = document.get("initialRewardConfig") if key == PrecompileKey.REWARD_MANAGER else None
    return PrecompileConfig(
        key=key,
        timestamp=read_optional_number(document, "blockTimestamp", path),
        disable=read_flag(document, "disable", path),
        roles=InitialRoles(*(_accounts(document, f"{role}Addresses", path) for role in _ROLES)),
        initial_mint=_mint(document, path) if key == PrecompileKey.NATIVE_MINTER else (),
        initial_fee_config=None if fees is None else _fees(document, path),
        initial_rewards=None if rewards is None else _rewards(document, path),
        quorum_numerator=read_number(document, "quorumNumerator", path, default=0),
        require_primary_network_signers=read_flag(document, "requirePrimaryNetworkSigners", path),
    )


_ROLES: Final = ("admin", "manager", "enabled")


def _accounts(document: Document, name: str, path: str) -> tuple[Address, ...]:
    given = document.get(name)
    if given is None:
        return ()
    if not isinstance(given, list):
        raise GenesisFileError(f"{path}{name}: not a list")
    return tuple(parse_address(item, f"{path}{name}[{place}]") for place, item in enumerate(given))


def _mint(document: Document, path: str) -> tuple[tuple[Address, int], ...]:
    amounts = []
    for key, value in read_object(document, "initialMint", path).items():
        account = parse_address(key, f"{path}initialMint.{key}")
        if value is None:
            raise GenesisFileError(
                f"{INVALID}initial mint cannot contain nil amount for address {checksum_address(account)}"
            )
        wei = parse_number(value, f"{path}initialMint.{key}")
        if wei >> 256:
            raise GenesisFileError(f"{path}initialMint.{key}: wider than 256 bits")
        amounts.append((account, wei))
    return tuple(amounts)


def _fees(document: Document, path: str) -> FeeConfig:
    try:
        return parse_fee_config(read_object(document, "initialFeeConfig", path))
    except FeeConfigError as error:
        raise GenesisFileError(f"{INVALID}{error}") from error


def _rewards(document: Document, path: str) -> InitialRewards:
    given, path = read_object(document, "initialRewardConfig", path), f"{path}initialRewardConfig."
    named = given.get("rewardAddress")
    address = _ZERO if named is None else parse_address(named, f"{path}rewardAddress")
    return InitialRewards(
        read_flag(given, "allowFeeRecipients", path), None if address == _ZERO else address
    )
