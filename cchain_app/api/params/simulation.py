"""Parser of the payload of eth_simulateV1: blocks with calls and overrides, and options of the simulation."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cchain_app.api.params import call as params_call
from cchain_app.api.params import values as params
from cchain_app.api.params.call import Parser, members
from cchain_app.blocks.body import Withdrawal
from cchain_app.evm.overrides import BlockOverride
from cchain_app.simulation.execution import SimulationOptions
from cchain_app.simulation.plan import BlockRequest
from primitives.evm import ZERO_ADDRESS


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
    found = members(value, "simOpts", _PAYLOAD)
    return SimulationPayload(
        blocks=found.get("blocks", ()),
        options=SimulationOptions(
            validate=found.get("validate", False), transfers=found.get("transfers", False)
        ),
        full_transactions=found.get("full_transactions", False),
    )


def _blocks(value: Any) -> tuple[BlockRequest, ...]:
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "[]ethapi.simBlock")
    return tuple(_block({} if item is None else item) for item in value)


def _block(value: Any) -> BlockRequest:
    found = members(value, "simBlock", _SIMULATED_BLOCK)
    override = found.pop("override", {})
    own = {name: override.pop(name) for name in ("beacon_root", "withdrawals") if name in override}
    return BlockRequest(override=BlockOverride(**override), **own, **found)


def _overrides(value: Any) -> dict[str, Any]:
    return members(value, "BlockOverrides", _OVERRIDES)


def _calls(value: Any) -> tuple[params_call.CallRequest, ...]:
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "[]ethapi.TransactionArgs")
    return tuple(params_call.call({} if item is None else item) for item in value)


def _withdrawals(value: Any) -> tuple[Withdrawal, ...]:
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "types.Withdrawals")
    return tuple(_withdrawal(item) for item in value)


def _withdrawal(value: Any) -> Withdrawal:
    found = members(value, "Withdrawal", _WITHDRAWAL)
    return Withdrawal(
        index=found.get("index", 0),
        validator_index=found.get("validator_index", 0),
        address=found.get("address", ZERO_ADDRESS),
        amount=found.get("amount", 0),
    )


_PAYLOAD: Mapping[str, tuple[str, Parser]] = {
    "blockStateCalls": ("blocks", _blocks),
    "traceTransfers": ("transfers", params.boolean),
    "validation": ("validate", params.boolean),
    "returnFullTransactions": ("full_transactions", params.boolean),
}
_SIMULATED_BLOCK: Mapping[str, tuple[str, Parser]] = {
    "blockOverrides": ("override", _overrides),
    "stateOverrides": ("accounts", params_call.state_overrides),
    "calls": ("calls", _calls),
}
_OVERRIDES: Mapping[str, tuple[str, Parser]] = {
    **params_call.BLOCK,
    "beaconRoot": ("beacon_root", params.hash32),
    "withdrawals": ("withdrawals", _withdrawals),
}
_WITHDRAWAL: Mapping[str, tuple[str, Parser]] = {
    "index": ("index", params.uint64),
    "validatorIndex": ("validator_index", params.uint64),
    "address": ("address", params.address),
    "amount": ("amount", params.uint64),
}
