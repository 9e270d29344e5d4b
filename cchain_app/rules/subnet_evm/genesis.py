"""The genesis file of an EVM chain of a subnet (etna.md 12.3). The state of block 0 is that of a plain EVM."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from cchain_app.config import BLACKHOLE
from cchain_app.genesis import Genesis, parse_alloc, read_quantity
from cchain_app.genesis_fields import (
    ROW_BITS,
    Document,
    GenesisFileError,
    read_bytes,
    read_object,
    read_optional_number,
)
from cchain_app.rules.subnet_evm.config import parse_config
from primitives import json_limits
from primitives.evm import ZERO_HASH, Address, Hash
from primitives.json_limits import FILE_VALUES, TooDeep, TooManyValues
from primitives.upgrades import UpgradeTimes

_REQUIRED: Final = ("gasLimit", "difficulty", "alloc")


def load_genesis(
    text: bytes,
    upgrades: UpgradeTimes,
    *,
    coinbase: Address = BLACKHOLE,
    upgrade_file: bytes = b"",
) -> Genesis:
    """Return the chain that a genesis file of subnet-evm describes.

    Unspecified: the reference takes 64 bits for the chain ID, the time and the gas of block 0; rows have room for 63, and a
    file with a wider number is refused; so is one with a base fee of more than 64 bits.

    Args:
        text: The file.
        upgrades: The upgrades of the network.
        coinbase: Recipient of the tips, from settings.
        upgrade_file: The operator's file that activates or deactivates precompiles later; empty: no file.

    Raises:
        GenesisFileError: The file cannot be used; the message is the reference's.
    """
    document = _read(text)
    for name in _REQUIRED:
        if document.get(name) is None:
            raise GenesisFileError(f"parsing genesis: missing required field '{name}' for Genesis")
    if document.get("airdropHash") is not None:
        raise GenesisFileError("airdropHash: airdrops need a file that this node does not have")
    given = document.get("config")
    gas_limit = read_quantity(document, "gasLimit", bits=ROW_BITS)
    _verify_gas_limit(given, gas_limit)
    config = parse_config(
        None if given is None else read_object(document, "config"),
        upgrades,
        coinbase=coinbase,
        precompile_upgrades=_read_upgrades(upgrade_file) if upgrade_file else (),
    )
    if given is None and config.fees.gas_limit != gas_limit:
        raise _other_gas_limit(config.fees.gas_limit, gas_limit)
    if number := read_quantity(document, "number"):
        raise GenesisFileError(f"number: {number}, want 0")
    base_fee = read_optional_number(document, "baseFeePerGas", bits=64)
    timestamp = read_quantity(document, "timestamp", bits=ROW_BITS)
    has_etna = timestamp >= config.schedule.times["cancun"]
    return Genesis(
        config=config,
        alloc=parse_alloc(read_object(document, "alloc")),
        timestamp=timestamp,
        gas_limit=gas_limit,
        difficulty=read_quantity(document, "difficulty", bits=256),
        extra_data=read_bytes(document, "extraData"),
        mix_hash=Hash(read_bytes(document, "mixHash", length=32)),
        nonce=read_quantity(document, "nonce").to_bytes(8),
        coinbase=Address(read_bytes(document, "coinbase", length=20)),
        base_fee=config.fees.min_base_fee if base_fee is None else base_fee,
        gas_used=read_quantity(document, "gasUsed", bits=ROW_BITS),
        parent_hash=Hash(read_bytes(document, "parentHash", length=32)),
        excess_blob_gas=0 if has_etna else None,
        blob_gas_used=0 if has_etna else None,
        parent_beacon_block_root=ZERO_HASH if has_etna else None,
    )


def _read(text: bytes) -> Document:
    if not text.strip():
        raise GenesisFileError("parsing genesis: unexpected end of JSON input")
    try:
        json_limits.verify(text, values=FILE_VALUES)
        document: Any = json.loads(text)
    except TooManyValues as error:
        raise GenesisFileError(f"parsing genesis: more than {FILE_VALUES} values") from error
    except TooDeep as error:
        raise GenesisFileError(
            f"parsing genesis: nested deeper than {json_limits.MAX_DEPTH}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise GenesisFileError(f"parsing genesis: {error}") from error
    if not isinstance(document, Mapping):
        raise GenesisFileError("parsing genesis: not a JSON object")
    return document


def _read_upgrades(text: bytes) -> Sequence[Document]:
    """Return the begins and ends of precompiles in an upgrade file.

    Raises:
        GenesisFileError: It cannot be read, or has upgrades of another kind.
    """
    try:
        document = _read(text)
    except GenesisFileError as error:
        raise GenesisFileError(f"upgrade file: {error}") from error
    for key in ("stateUpgrades", "networkUpgradeOverrides"):
        if document.get(key):
            raise GenesisFileError(f"upgrade file: {key}: this kind of upgrade is not supported")
    found = document.get("precompileUpgrades") or []
    if not isinstance(found, list) or not all(isinstance(entry, Mapping) for entry in found):
        raise GenesisFileError("upgrade file: precompileUpgrades: not a list of objects")
    return found


def _verify_gas_limit(config: object, gas_limit: int) -> None:
    """Compare the header's gas limit with that of the fees, which the reference does before all other checks."""
    fees = config.get("feeConfig") if isinstance(config, Mapping) else None
    if config is not None and fees is None:
        named: object = 8_000_000
    else:
        named = fees.get("gasLimit") if isinstance(fees, Mapping) else None
    if isinstance(named, int) and named > 0 and named != gas_limit:
        raise _other_gas_limit(named, gas_limit)


def _other_gas_limit(fees: int, header: int) -> GenesisFileError:
    return GenesisFileError(
        f"failed to verify genesis: gas limit in fee config ({fees}) does not match gas limit in header ({header})"
    )
