"""The genesis file of a new local chain: the built-in file with the developer's choices.

Data directories from older versions keep their copy of `genesis_files/local.json` unchanged. Pure.
"""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from cchain_app.config import (
    CHOSEN_FORKS,
    CODE_SIZE_LIMIT,
    FRESH_PREV_RANDAO,
    MEMORY_LIMIT,
    MIN_BASE_FEE,
    NO_BLOCK_GAS_LIMIT,
    NO_TRANSACTION_GAS_LIMIT,
    at_least,
    with_fork_from_start,
)
from cchain_app.genesis import built_in_text
from cchain_app.precompiles.addresses import PrecompileKey
from primitives.evm import ZERO_ADDRESS
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data, encode_quantity
from primitives.warp import QUORUM_NUMERATOR

OLD_NAME = "local"
"""The built-in file of local chains from before they had predeployed contracts."""

DEFAULT_FORK = CHOSEN_FORKS[-1]
"""The hard fork of new local chains."""
OLD_FORK = "prague"
"""The hard fork of new local chains in version 0.1.0."""

CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""Address of the deterministic CREATE2 deployer, as in the file of predeployed contracts."""

_ZERO = encode_data(ZERO_ADDRESS)
_COINS_OF_ZERO = 10_000 * 10**18
"""Wei."""


@dataclass(frozen=True, slots=True)
class LocalChoices:
    """The developer's choices for a new local chain."""

    hardfork: str = ""
    """One of `config.CHOSEN_FORKS`, in force from block 0 on; empty: `DEFAULT_FORK`."""
    gas_limit: int = 0
    """Gas limit of blocks."""
    base_fee: int = -1
    """Base fee of block 0, in wei per gas."""
    min_base_fee: int = 0
    """Floor of the base fee in wei per gas, from settings, used if the file has none."""
    timestamp: int = 0
    """Unix seconds of block 0; 0: the time of the first start."""
    number: int = 0
    """Number of the first block; not 0 only if one node makes all blocks."""
    create2_deployer: bool = True
    """Whether the chain has the deterministic CREATE2 deployer."""
    transaction_gas_limit: bool = False
    """Whether EIP-7825 limits the gas of transactions."""
    block_gas_limit: bool = True
    """Whether the transactions of a block must fit into its gas limit."""
    code_size_limit: int | None = None
    """Bytes of code that a contract may have; None: EIP-170's limit."""
    memory_limit: int | None = None
    """Bytes of memory that nested calls may have together; None: gas alone limits memory."""
    warp: bool = False
    """Whether the chain has the precompile of warp messages."""


def local_text(choices: LocalChoices | None = None, *, as_in_0_1_0: bool = False) -> bytes:
    """Return the genesis file of a new local chain.

    It has the contracts that tools expect on every chain, and a PREVRANDAO that is fresh in each block. Block 0
    commits to the chain's rules. The zero address has coins, so that calls and estimates without a sender can
    pay for gas and value.

    Unspecified: `extraData` is the Keccak-256 of the `config` object without its chain ID, with sorted keys
    and no blanks. The hash of block 0 thus identifies the rules of the chain, which no other field does.
    A base fee below the floor becomes the floor itself, since the fee would otherwise rise to the floor.

    Unspecified: EIP-7825's limit does not apply unless the developer wants it, as in Anvil. A transaction may thus have
    all the gas of a block, as before Osaka.

    Args:
        choices: The developer's choices.
        as_in_0_1_0: Return the file of version 0.1.0, whose default was `OLD_FORK`.
    """
    choices = choices or LocalChoices()
    document: dict[str, Any] = json.loads(built_in_text(OLD_NAME))
    config = _config(document["config"], choices, as_in_0_1_0=as_in_0_1_0)
    if choices.gas_limit:
        document["gasLimit"] = encode_quantity(choices.gas_limit)
    if choices.base_fee >= 0:
        document["baseFeePerGas"] = encode_quantity(choices.base_fee)
        if choices.base_fee < choices.min_base_fee:
            config[MIN_BASE_FEE] = choices.base_fee
    if choices.timestamp:
        document["timestamp"] = encode_quantity(choices.timestamp)
    if choices.number:
        document["number"] = encode_quantity(choices.number)
    document["config"] = config
    document["extraData"] = encode_data(_fingerprint(config))
    contracts = predeployed()
    if not choices.create2_deployer:
        del contracts[CREATE2_DEPLOYER]
    document["alloc"] |= contracts | {_ZERO: {"balance": encode_quantity(_COINS_OF_ZERO)}}
    return json.dumps(document, indent=2).encode()


def _config(
    document: dict[str, Any], choices: LocalChoices, *, as_in_0_1_0: bool
) -> dict[str, Any]:
    """Return the rules of a new local chain, except for the floor of its base fee."""
    fork = choices.hardfork or (OLD_FORK if as_in_0_1_0 else DEFAULT_FORK)
    config = {**with_fork_from_start(document, fork), FRESH_PREV_RANDAO: True}
    if at_least(fork, "osaka") and not as_in_0_1_0:
        blobs = config["blobSchedule"]
        config["blobSchedule"] = {**blobs, "osaka": blobs["prague"]}
        if not choices.transaction_gas_limit:
            config[NO_TRANSACTION_GAS_LIMIT] = True
    if not choices.block_gas_limit:
        config[NO_BLOCK_GAS_LIMIT] = True
    if choices.code_size_limit is not None:
        config[CODE_SIZE_LIMIT] = choices.code_size_limit
    if choices.memory_limit is not None:
        config[MEMORY_LIMIT] = choices.memory_limit
    if choices.warp:
        config[PrecompileKey.WARP] = {"blockTimestamp": 0, "quorumNumerator": QUORUM_NUMERATOR}
    return config


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
