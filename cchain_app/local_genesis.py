"""The genesis file of a new local chain: the built-in file with the developer's choices.

Data directories from older versions keep their copy of `genesis_files/local.json` unchanged. Pure.
"""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from cchain_app.config import FRESH_PREV_RANDAO, MIN_BASE_FEE, with_fork_from_start
from cchain_app.genesis import built_in_text
from primitives.evm import ZERO_ADDRESS
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data, encode_quantity

OLD_NAME = "local"
"""The built-in file of local chains from before they had predeployed contracts."""


CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""Address of the deterministic CREATE2 deployer, as in the file of predeployed contracts."""

_ZERO = encode_data(ZERO_ADDRESS)
_COINS_OF_ZERO = 10_000 * 10**18
"""Wei."""


@dataclass(frozen=True, slots=True)
class LocalChoices:
    """The developer's choices for a new local chain; each default leaves the value to the file."""

    hardfork: str = ""
    """One of `config.CHOSEN_FORKS`, in force from block 0 on."""
    gas_limit: int = 0
    """Gas limit of blocks."""
    base_fee: int = -1
    """Base fee of block 0, in wei per gas."""
    min_base_fee: int = 0
    """Floor of the base fee in wei per gas, from settings, used if the file has none."""
    timestamp: int = 0
    """Unix seconds of block 0; 0: the time of the first start."""
    create2_deployer: bool = True
    """Whether the chain has the deterministic CREATE2 deployer."""


def local_text(choices: LocalChoices | None = None) -> bytes:
    """Return the genesis file of a new local chain.

    It has the contracts that tools expect on every chain, and a PREVRANDAO that is fresh in each block. Block 0
    commits to the chain's rules. The zero address has coins, so that calls and estimates without a sender can
    pay for gas and value.

    Unspecified: `extraData` is the Keccak-256 of the `config` object without its chain ID, with sorted keys
    and no blanks. The hash of block 0 thus identifies the rules of the chain, which no other field does.
    A base fee below the floor becomes the floor itself, since the fee would otherwise rise to the floor.

    Args:
        choices: The developer's choices.
    """
    choices = choices or LocalChoices()
    document: dict[str, Any] = json.loads(built_in_text(OLD_NAME))
    config: dict[str, Any] = {**document["config"], FRESH_PREV_RANDAO: True}
    if choices.hardfork:
        config = dict(with_fork_from_start(config, choices.hardfork))
    if choices.gas_limit:
        document["gasLimit"] = encode_quantity(choices.gas_limit)
    if choices.base_fee >= 0:
        document["baseFeePerGas"] = encode_quantity(choices.base_fee)
        if choices.base_fee < choices.min_base_fee:
            config[MIN_BASE_FEE] = choices.base_fee
    if choices.timestamp:
        document["timestamp"] = encode_quantity(choices.timestamp)
    document["config"] = config
    document["extraData"] = encode_data(_fingerprint(config))
    contracts = predeployed()
    if not choices.create2_deployer:
        del contracts[CREATE2_DEPLOYER]
    document["alloc"] |= contracts | {_ZERO: {"balance": encode_quantity(_COINS_OF_ZERO)}}
    return json.dumps(document, indent=2).encode()


def without_coins_of_zero(text: bytes) -> bytes:
    """Return a local genesis file as older versions wrote it, without coins for the zero address."""
    document: dict[str, Any] = json.loads(text)
    document["alloc"].pop(_ZERO, None)
    return json.dumps(document).encode()


def predeployed() -> dict[str, Any]:
    """Return the predeployed contracts in the form of a genesis file's `alloc`.

    They are Multicall3 and the deterministic CREATE2 deployer, with the same code as on other chains.
    """
    text = files("cchain_app").joinpath("genesis_files", "predeployed.json").read_bytes()
    contracts: dict[str, Any] = json.loads(text)
    return contracts


def _fingerprint(config: dict[str, Any]) -> bytes:
    rules = {key: value for key, value in config.items() if key != "chainId"}
    return keccak256(json.dumps(rules, sort_keys=True, separators=(",", ":")).encode())
