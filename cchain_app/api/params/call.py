"""Parsers of the objects of eth_call and similar methods: calls, overrides, and the payload of eth_simulateV1.

Unknown members are ignored, because clients send their own (`chain`, `hardfork`, `networkId`). A null member
counts as absent. The meaning of the members is in `execution`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from cchain_app.api.params import values as params
from cchain_app.blocks.accepted import Withdrawal
from cchain_app.evm.overrides import AccountOverride, BlockOverride
from cchain_app.simulation.execution import SimulationOptions
from cchain_app.simulation.plan import BlockRequest
from cchain_app.txs.request import CallRequest
from cchain_app.txs.transaction import AccessList, Authorization
from jsonrpc.errors import InvalidParam
from primitives.evm import ZERO_ADDRESS, Address, Hash, Slot, Word

__all__ = [
    "BLOCK", "CallRequest", "access_list", "block_overrides", "call", "members", "state_overrides",
]  # fmt: skip

T = TypeVar("T")

Parser = Callable[[Any], Any]


def call(value: Any) -> CallRequest:
    """Read a call object. `input` takes precedence over `data`; an empty `to` counts as absent.

    Raises:
        InvalidParam: It is not an object, or a known member cannot be read.
    """
    arguments = members(value, "TransactionArgs", _CALL)
    data_input, older = arguments.pop("input", None), arguments.pop("data", None)
    payload = data_input if data_input is not None else (older or b"")
    return CallRequest(data=payload, **arguments)


def state_overrides(value: Any) -> dict[Address, AccountOverride]:
    """Read eth_call's third argument: accounts by address.

    Raises:
        InvalidParam: It is not an object of objects, or a known member cannot be read.
    """
    if not isinstance(value, dict):
        raise params.cannot_unmarshal(params.kind_of(value), "override.StateOverride")
    return {
        params.address(address): AccountOverride(
            **members({} if account is None else account, "OverrideAccount", _ACCOUNT)
        )
        for address, account in value.items()
    }


def block_overrides(value: Any) -> BlockOverride:
    """Read eth_call's fourth argument.

    Raises:
        InvalidParam: It is not an object, or a known member cannot be read.
    """
    return BlockOverride(**members(value, "BlockOverrides", BLOCK))


def access_list(value: Any) -> AccessList:
    """Read an EIP-2930 access list."""
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "types.AccessList")
    return tuple(_access_tuple(element) for element in value)


def members(value: Any, type_name: str, known: Mapping[str, tuple[str, Parser]]) -> dict[str, Any]:
    """Return the known members of an object that are present, under the names of our fields.

    Args:
        value: The decoded JSON value.
        type_name: The name of the object in messages.
        known: For each member our field name and its parser.

    Raises:
        InvalidParam: It is not an object, or a known member cannot be read.
    """
    if not isinstance(value, dict):
        raise params.cannot_unmarshal(params.kind_of(value), f"ethapi.{type_name}")
    parsed: dict[str, Any] = {}
    for member, content in value.items():
        reading = known.get(member)
        if reading is None or content is None:
            continue
        name, parse = reading
        try:
            parsed[name] = parse(content)
        except InvalidParam as error:
            raise InvalidParam(_located(error.text, f"{type_name}.{member}")) from None
    return parsed


def _access_tuple(value: Any) -> tuple[Address, tuple[Slot, ...]]:
    parsed = members(value, "AccessTuple", _ACCESS_TUPLE)
    if "address" not in parsed:
        raise InvalidParam("missing required field 'address' for AccessTuple")
    return parsed["address"], tuple(map(Slot, parsed.get("slots", ())))


def _authorizations(value: Any) -> tuple[Authorization, ...]:
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "[]types.SetCodeAuthorization")
    return tuple(_authorization(element) for element in value)


def _authorization(value: Any) -> Authorization:
    parsed = members(value, "SetCodeAuthorization", _AUTHORIZATION)
    for member, (name, _) in _AUTHORIZATION.items():
        if name not in parsed:
            raise InvalidParam(f"missing required field '{member}' for SetCodeAuthorization")
    return Authorization(**parsed)


def _hashes(value: Any) -> tuple[Hash, ...]:
    return tuple(params.list_of(params.hash32)(value))


def _recipient(value: Any) -> Address | None:
    return None if value == "" else params.address(value)


def _parity(value: Any) -> int:
    number = params.uint64(value)
    if number > 255:
        raise InvalidParam("hex number > 8 bits")
    return number


def _words(value: Any) -> Mapping[Slot, Word]:
    if not isinstance(value, dict):
        raise params.cannot_unmarshal(params.kind_of(value), "map[common.Hash]common.Hash")
    return {Slot(params.hash32(slot)): Word(params.hash32(word)) for slot, word in value.items()}


def _located(reason: str, place: str) -> str:
    """Return geth's message for a member that cannot be read."""
    if reason.startswith("json: cannot unmarshal "):
        return reason.replace("into Go value of type", f"into Go struct field {place} of type", 1)
    if reason.startswith("hex number") or reason.endswith(("0x prefix", '"0x"', "hex string")):
        return f"json: cannot unmarshal {reason} into Go struct field {place}"
    return reason


_CALL: Mapping[str, tuple[str, Parser]] = {
    "from": ("sender", params.address),
    "to": ("to", _recipient),
    "gas": ("gas", params.uint64),
    "gasPrice": ("gas_price", params.quantity),
    "maxFeePerGas": ("max_fee_per_gas", params.quantity),
    "maxPriorityFeePerGas": ("max_priority_fee_per_gas", params.quantity),
    "value": ("value", params.quantity),
    "nonce": ("nonce", params.uint64),
    "data": ("data", params.data),
    "input": ("input", params.data),
    "accessList": ("access_list", access_list),
    "chainId": ("chain_id", params.quantity),
    "maxFeePerBlobGas": ("max_fee_per_blob_gas", params.quantity),
    "blobVersionedHashes": ("blob_hashes", _hashes),
    "authorizationList": ("authorizations", _authorizations),
}
_ACCOUNT: Mapping[str, tuple[str, Parser]] = {
    "balance": ("balance", params.quantity),
    "nonce": ("nonce", params.uint64),
    "code": ("code", params.data),
    "state": ("state", _words),
    "stateDiff": ("state_diff", _words),
    "movePrecompileToAddress": ("move_precompile_to", params.address),
}
BLOCK: Mapping[str, tuple[str, Parser]] = {
    "number": ("number", params.uint64),
    "time": ("time", params.uint64),
    "gasLimit": ("gas_limit", params.uint64),
    "feeRecipient": ("fee_recipient", params.address),
    "prevRandao": ("prev_randao", params.hash32),
    "baseFeePerGas": ("base_fee", params.quantity),
    "blobBaseFee": ("blob_base_fee", params.quantity),
    "difficulty": ("difficulty", params.quantity),
}
"""Members of a block that eth_call can override."""
_ACCESS_TUPLE: Mapping[str, tuple[str, Parser]] = {
    "address": ("address", params.address),
    "storageKeys": ("slots", _hashes),
}
_AUTHORIZATION: Mapping[str, tuple[str, Parser]] = {
    "chainId": ("chain_id", params.quantity),
    "address": ("address", params.address),
    "nonce": ("nonce", params.uint64),
    "yParity": ("y_parity", _parity),
    "r": ("r", params.quantity),
    "s": ("s", params.quantity),
}


class SimulationPayload(NamedTuple):
    """The blocks to simulate, and the options."""

    blocks: tuple[BlockRequest, ...] = ()
    options: SimulationOptions = SimulationOptions()
    full_transactions: bool = False
    """Whether the answer contains whole transactions instead of their hashes."""


def payload(value: Any) -> SimulationPayload:
    """Read the object that eth_simulateV1 takes.

    Raises:
        InvalidParam: It is not an object, or a known member in it cannot be read.
    """
    parsed = members(value, "simOpts", _PAYLOAD)
    return SimulationPayload(
        blocks=parsed.get("blocks", ()),
        options=SimulationOptions(
            validate=parsed.get("validate", False), transfers=parsed.get("transfers", False)
        ),
        full_transactions=parsed.get("full_transactions", False),
    )


def _blocks(value: Any) -> tuple[BlockRequest, ...]:
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "[]ethapi.simBlock")
    return tuple(_block({} if item is None else item) for item in value)


def _block(value: Any) -> BlockRequest:
    parsed = members(value, "simBlock", _SIMULATED_BLOCK)
    override = parsed.pop("override", {})
    own = {name: override.pop(name) for name in ("beacon_root", "withdrawals") if name in override}
    return BlockRequest(override=BlockOverride(**override), **own, **parsed)


def _overrides(value: Any) -> dict[str, Any]:
    return members(value, "BlockOverrides", _OVERRIDES)


def _calls(value: Any) -> tuple[CallRequest, ...]:
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "[]ethapi.TransactionArgs")
    return tuple(call({} if item is None else item) for item in value)


def _withdrawals(value: Any) -> tuple[Withdrawal, ...]:
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "types.Withdrawals")
    return tuple(_withdrawal(item) for item in value)


def _withdrawal(value: Any) -> Withdrawal:
    parsed = members(value, "Withdrawal", _WITHDRAWAL)
    return Withdrawal(
        index=parsed.get("index", 0),
        validator_index=parsed.get("validator_index", 0),
        address=parsed.get("address", ZERO_ADDRESS),
        amount=parsed.get("amount", 0),
    )


_PAYLOAD: Mapping[str, tuple[str, Parser]] = {
    "blockStateCalls": ("blocks", _blocks),
    "traceTransfers": ("transfers", params.boolean),
    "validation": ("validate", params.boolean),
    "returnFullTransactions": ("full_transactions", params.boolean),
}
_SIMULATED_BLOCK: Mapping[str, tuple[str, Parser]] = {
    "blockOverrides": ("override", _overrides),
    "stateOverrides": ("accounts", state_overrides),
    "calls": ("calls", _calls),
}
_OVERRIDES: Mapping[str, tuple[str, Parser]] = {
    **BLOCK,
    "beaconRoot": ("beacon_root", params.hash32),
    "withdrawals": ("withdrawals", _withdrawals),
}
_WITHDRAWAL: Mapping[str, tuple[str, Parser]] = {
    "index": ("index", params.uint64),
    "validatorIndex": ("validator_index", params.uint64),
    "address": ("address", params.address),
    "amount": ("amount", params.uint64),
}
