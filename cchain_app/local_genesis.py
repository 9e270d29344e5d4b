"""The genesis file of a new local chain: what comes with the node, and what a developer chooses of it.

Data directories that older versions have begun keep the file `genesis_files/local.json` as it stands. Pure.
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
"""The built-in file that local chains had begun with before they had predeployed contracts."""


_ZERO = encode_data(ZERO_ADDRESS)
_COINS_OF_ZERO = 10_000 * 10**18
"""Wei."""


@dataclass(frozen=True, slots=True)
class LocalChoices:
    """What may be chosen of a new local chain; the defaults leave it to the file."""

    hardfork: str = ""
    """One of `config.CHOSEN_FORKS`, in force from block 0 on."""
    gas_limit: int = 0
    """Of blocks."""
    base_fee: int = -1
    """Wei for each gas, of block 0."""
    min_base_fee: int = 0
    """Wei for each gas: the floor that settings give, where the file has none."""


def local_text(choices: LocalChoices | None = None) -> bytes:
    """Return the genesis file of a new local chain.

    It has the contracts that tools expect on every chain, a PREVRANDAO that is fresh in each block, and its
    block 0 commits to its rules. The zero address has coins, so that calls and estimates that name no sender can
    pay for gas and value.

    Unspecified: `extraData` is the Keccak-256 of the `config` object without its chain ID, with sorted keys
    and no blanks. So the hash of block 0 says by which rules a chain was begun, which its other fields do not.
    A base fee below the floor makes itself the floor, since the fee could not stay there else.

    Args:
        choices: What a developer wants different.
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
    document["config"] = config
    document["extraData"] = encode_data(_fingerprint(config))
    document["alloc"] |= predeployed() | {_ZERO: {"balance": encode_quantity(_COINS_OF_ZERO)}}
    return json.dumps(document, indent=2).encode()


def without_coins_of_zero(text: bytes) -> bytes:
    """Return a local genesis file as older versions wrote it: the zero address has no coins."""
    document: dict[str, Any] = json.loads(text)
    document["alloc"].pop(_ZERO, None)
    return json.dumps(document).encode()


def predeployed() -> dict[str, Any]:
    """Return the contracts that are there from block 0 on, as a genesis file's `alloc` has them.

    They are Multicall3 and the deterministic CREATE2 deployer, with the code that they have elsewhere.
    """
    text = files("cchain_app").joinpath("genesis_files", "predeployed.json").read_bytes()
    found: dict[str, Any] = json.loads(text)
    return found


def _fingerprint(config: dict[str, Any]) -> bytes:
    rules = {key: value for key, value in config.items() if key != "chainId"}
    return keccak256(json.dumps(rules, sort_keys=True, separators=(",", ":")).encode())
