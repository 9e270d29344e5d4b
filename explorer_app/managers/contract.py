"""The validator manager contract of an L1: its account in a genesis file, and the data of its calls.

The contract is `ValidatorManager.sol`, compiled by `scripts/compile_manager.py`. ava-labs' own contracts are not used: their
licence (Ecosystem License) permits neither other networks nor this project's licence. Names are those of ACP-99, so tools for
proof of authority can call it.
"""

import json
from collections.abc import Sequence
from enum import IntEnum, StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from eth_abi.abi import decode, encode

from platform_app.txs.warp import ConversionData
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.hexadecimal import decode_data
from primitives.ids import ID, NodeID

MANAGER_ADDRESS: Final = Address(bytes.fromhex("0feedc0de0000000000000000000000000000000"))
"""Where tools put a validator manager in a genesis file."""
COIN: Final = 10**18
CHURN_PERIOD: Final = 60 * 60
CHURN_PERCENTAGE: Final = 20
"""How much of the weight may change in a period, with proof of stake, except that a staker may always leave.

So strangers need three periods to keep the others from a quorum of 67 %: a fifth more weight in each gives them 17 % of it
after one period, 31 % after two and 42 % after three.
"""

_ARTIFACT: Final = Path(__file__).with_name("ValidatorManager.json")
_OWNER: Final = "(uint32,address[])"
_CONVERSION: Final = "(bytes32,bytes32,address,(bytes,bytes,uint64)[])"
_VALIDATOR: Final = "(uint8,bytes,uint64,uint64,uint64,uint64,uint64,uint64)"


class ManagerKind(StrEnum):
    """Who decides about the validators of an L1."""

    AUTHORITY = "poa"
    """The contract's owner."""
    STAKE = "pos"
    """Anyone who stakes coins of the chain."""


class ValidationStatus(IntEnum):
    """How far a validation is, as the contract knows it."""

    UNKNOWN = 0
    PENDING_ADDED = 1
    ACTIVE = 2
    PENDING_REMOVED = 3
    COMPLETED = 4


class ManagedValidator(NamedTuple):
    """A validator, as the contract knows it."""

    status: ValidationStatus
    node_id: bytes
    starting_weight: int
    sent_nonce: int
    received_nonce: int
    weight: int
    start_time: int
    end_time: int


class StakeTerms(NamedTuple):
    """The terms of a contract: 0 everywhere with proof of authority."""

    stake_per_weight: int = 0
    """Wei for each unit of weight."""
    minimum_stake: int = 0
    """Wei."""
    churn_percentage: int = 0
    churn_period: int = 0
    """Seconds."""


TERMS: Final = {
    ManagerKind.AUTHORITY: StakeTerms(),
    ManagerKind.STAKE: StakeTerms(COIN, COIN, CHURN_PERCENTAGE, CHURN_PERIOD),
}
"""The terms of new L1s: a coin for each unit of weight."""


@cache
def artifact() -> dict[str, Any]:
    """Return the compiled contract: compiler, settings, slots, ABI and code."""
    made: dict[str, Any] = json.loads(_ARTIFACT.read_text())
    return made


def code() -> bytes:
    """Return the contract's code."""
    return decode_data(artifact()["deployedBytecode"])


def storage(owner: Address, terms: StakeTerms) -> dict[int, int]:
    """Return the first values of the contract's slots, without zeros."""
    values = {
        "owner": int.from_bytes(owner, "big"),
        "stakePerWeight": terms.stake_per_weight,
        "minimumStake": terms.minimum_stake,
        "churnPercentage": terms.churn_percentage,
        "churnPeriod": terms.churn_period,
    }
    slots = artifact()["slots"]
    return {slots[name]: value for name, value in values.items() if value}


def genesis_account(owner: Address, terms: StakeTerms) -> dict[str, Any]:
    """Return the entry of a genesis file's `alloc` for the contract."""
    slots = storage(owner, terms)
    return {
        "balance": "0x0",
        "nonce": "0x1",
        "code": artifact()["deployedBytecode"],
        "storage": {_word(slot): _word(value) for slot, value in slots.items()},
    }


def initialize_validator_set(conversion: ConversionData, index: int = 0) -> bytes:
    """Return the data of a call that takes the validators of the conversion from a message of the P-Chain."""
    validators = [
        (initial.node_id, initial.bls_public_key, initial.weight)
        for initial in conversion.validators
    ]
    given = (
        bytes(conversion.subnet_id),
        bytes(conversion.manager_chain_id),
        bytes(conversion.manager_address),
        validators,
    )
    return _call(f"initializeValidatorSet({_CONVERSION},uint32)", given, index)


def initiate_registration(
    node_id: NodeID, public_key: bytes, owners: Sequence[bytes], weight: int
) -> bytes:
    """Return the data of a call that asks for a validator.

    Args:
        node_id: The node.
        public_key: Its BLS key, 48 bytes.
        owners: P-Chain addresses of 20 bytes: any of them gets the remaining balance, and may disable the validator.
        weight: The weight.
    """
    owner = (1, sorted(owners)) if owners else (0, [])
    signature = f"initiateValidatorRegistration(bytes,bytes,{_OWNER},{_OWNER},uint64)"
    return _call(signature, bytes(node_id), public_key, owner, owner, weight)


def complete_registration(index: int = 0) -> bytes:
    """Return the data of a call that takes the P-Chain's message that a validator was added."""
    return _call("completeValidatorRegistration(uint32)", index)


def initiate_weight_update(validation_id: ID, weight: int) -> bytes:
    """Return the data of a call that asks for another weight."""
    return _call("initiateValidatorWeightUpdate(bytes32,uint64)", bytes(validation_id), weight)


def complete_weight_update(index: int = 0) -> bytes:
    """Return the data of a call that takes the P-Chain's message that a weight was changed."""
    return _call("completeValidatorWeightUpdate(uint32)", index)


def initiate_removal(validation_id: ID) -> bytes:
    """Return the data of a call that asks for a removal."""
    return _call("initiateValidatorRemoval(bytes32)", bytes(validation_id))


def complete_removal(index: int = 0) -> bytes:
    """Return the data of a call that takes the P-Chain's message that a node does not validate."""
    return _call("completeValidatorRemoval(uint32)", index)


def resend_weight(validation_id: ID) -> bytes:
    """Return the data of a call that sends the last message about a weight again."""
    return _call("resendValidatorWeight(bytes32)", bytes(validation_id))


def withdraw(to: Address) -> bytes:
    """Return the data of a call that sends a stake which its account did not take."""
    return _call("withdraw(address)", bytes(to))


def transfer_ownership(owner: Address) -> bytes:
    """Return the data of a call that names another owner."""
    return _call("transferOwnership(address)", bytes(owner))


def getter(name: str) -> bytes:
    """Return the data of a call of a function without arguments, such as `owner` or `subnetID`."""
    return _call(f"{name}()")


def get_validator(validation_id: ID) -> bytes:
    """Return the data of a call of getValidator."""
    return _call("getValidator(bytes32)", bytes(validation_id))


def get_stake(validation_id: ID) -> bytes:
    """Return the data of a call of getStake, which returns staker and wei."""
    return _call("getStake(bytes32)", bytes(validation_id))


def get_validation_id(node_id: NodeID) -> bytes:
    """Return the data of a call of getNodeValidationID."""
    return _call("getNodeValidationID(bytes)", bytes(node_id))


def read_validator(output: bytes) -> ManagedValidator:
    """Return the result of getValidator."""
    ((status, *values),) = decode([_VALIDATOR], output)
    return ManagedValidator(ValidationStatus(status), *values)


def event_topic(name: str) -> bytes:
    """Return the first topic of an event of the contract."""
    (found,) = (one for one in artifact()["abi"] if one["type"] == "event" and one["name"] == name)
    return keccak256(f"{name}({','.join(given['type'] for given in found['inputs'])})".encode())


def _call(signature: str, *values: object) -> bytes:
    types = _types(signature[signature.index("(") + 1 : -1])
    return keccak256(signature.encode())[:4] + encode(types, values)


def _types(text: str) -> list[str]:
    """Return the types of a list, in which commas may be inside brackets."""
    types, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            types.append("")
        else:
            types[-1] += character
    return [one for one in types if one]


def _word(value: int) -> str:
    return f"0x{value:064x}"
