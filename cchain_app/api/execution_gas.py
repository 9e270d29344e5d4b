"""How much gas a call needs, and which accounts and slots it touches.

eth_estimateGas is geth's procedure: run at the highest limit, guess, then bisect until the answer
is at most 1.5 % too high. What a call is, and where it is run: `execution`.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from cchain_app.api import execution, wire
from cchain_app.api.errors import server_error
from cchain_app.api.execution import Overrides, Place
from cchain_app.api.params import BlockParam
from cchain_app.api.params_call import CallRequest
from cchain_app.api.reverts import failure
from cchain_app.config import at_least
from cchain_app.evm.engine import CallMessage, CallRejected, CallResult
from cchain_app.evm.overrides import BlockOverride
from cchain_app.selectors.state import code_at
from cchain_app.txs.transaction import AccessList
from jsonrpc.errors import JsonRpcError
from primitives.hexadecimal import encode_quantity

TRANSFER_GAS: Final = 21_000
CALL_STIPEND: Final = 2_300
OSAKA_GAS_LIMIT: Final = 2**24
"""Most gas of a transaction since Osaka (EIP-7825)."""

ERROR_RATIO: Final = 0.015
"""By how much an estimate may be too high."""

ACCESS_LIST_ROUNDS: Final = 16
"""A list grows with each round or is done; no contract is known to need more than three."""

_TOO_LITTLE: Final = ("intrinsic gas too low", "insufficient gas for floor data gas cost")


def estimate_gas(
    request: CallRequest,
    block: BlockParam,
    accounts: Overrides | None,
    surroundings: BlockOverride | None,
) -> str:
    """eth_estimateGas: the least gas limit with which a call works, a little too high at most.

    Raises:
        JsonRpcError: 3, it reverts; -32000, it fails otherwise, or with all the gas it may have.
    """
    place = execution.make_place(block, accounts, surroundings)
    message = execution.make_message(request, place.env)
    highest = _highest(request, place)
    try:
        execution.check_fees(request, place.env)
    except CallRejected as refusal:
        raise _failed_with(highest, refusal) from refusal
    if not request.data and request.to is not None and not code_at(place.state, request.to):
        # Trying is safer than knowing: an access list makes a plain transfer dearer.
        plain = _attempt(place, message, TRANSFER_GAS)
        if plain is not None and plain.error is None:
            return encode_quantity(TRANSFER_GAS)
    return encode_quantity(_search(place, message, highest))


def create_access_list(
    request: CallRequest,
    block: BlockParam,
    accounts: Overrides | None,
) -> dict[str, Any]:
    """eth_createAccessList: what a call touches, and the gas it uses when all that is listed.

    Unspecified: without a gas price no funds are needed for gas; geth takes the fees of the next
    block for granted.

    Raises:
        JsonRpcError: -32000, the call could not begin. A call that fails is told in the result.
    """
    place = execution.make_place(block, accounts, None)
    message = execution.make_message(request, place.env)
    try:
        execution.check_fees(request, place.env)
    except CallRejected as refusal:
        raise _not_applied(refusal) from refusal
    listed = _Listed.of(request.access_list)
    for _ in range(ACCESS_LIST_ROUNDS):
        result = _run_with(place, message, listed)
        grown = listed.union(result.access_list or ())
        if grown == listed:
            return _access_list_answer(listed, result)
        listed = grown
    return _access_list_answer(listed, _run_with(place, message, listed))


@dataclass(frozen=True, slots=True)
class _Listed:
    """An access list without doubles, in ascending order."""

    entries: AccessList

    @classmethod
    def of(cls, entries: AccessList) -> "_Listed":
        return cls(()).union(entries)

    def union(self, entries: AccessList) -> "_Listed":
        merged = {address: set(slots) for address, slots in self.entries}
        for address, slots in entries:
            merged.setdefault(address, set()).update(slots)
        return _Listed(
            tuple((address, tuple(sorted(merged[address]))) for address in sorted(merged))
        )


def _run_with(place: Place, message: CallMessage, listed: _Listed) -> CallResult:
    try:
        return place.run(replace(message, access_list=listed.entries), with_access_list=True)
    except CallRejected as refusal:
        raise _not_applied(refusal) from refusal


def _not_applied(refusal: CallRejected) -> JsonRpcError:
    return server_error(f"failed to apply transaction: err: {refusal}")


def _access_list_answer(listed: _Listed, result: CallResult) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "accessList": wire.access_list(listed.entries),
        "gasUsed": encode_quantity(result.gas_used),
    }
    if result.error is not None:
        answer["error"] = result.error
    return answer


def _highest(request: CallRequest, place: Place) -> int:
    """Return the highest gas limit that caller, block and node allow."""
    env = place.env
    highest = env.gas_limit
    if request.gas is not None and request.gas >= TRANSFER_GAS:
        highest = request.gas
    if at_least(env.fork, "osaka"):
        highest = min(highest, OSAKA_GAS_LIMIT)
    price = execution.fee_cap(request)
    if price:
        account = place.state.account(request.sender)
        balance = 0 if account is None else account.balance
        if request.value >= balance:
            raise server_error("insufficient funds for transfer")
        highest = min(highest, (balance - request.value) // price)
    return min(highest, execution.gas_cap())


def _search(place: Place, message: CallMessage, highest: int) -> int:
    """Return the least gas limit that works, by geth's bisection."""
    result = _attempt(place, message, highest)
    if result is None or result.error == "out of gas":
        raise server_error(f"gas required exceeds allowance ({highest})")
    failed = failure(result)
    if failed is not None:
        raise failed
    lowest = result.gas_used - 1
    guess = (result.gas_peak + CALL_STIPEND) * 64 // 63
    if guess < highest:
        lowest, highest = _narrow(place, message, guess, lowest, highest)
    while lowest + 1 < highest and (highest - lowest) / highest >= ERROR_RATIO:
        # Most calls need little more than they use, so the low side is tried first.
        middle = min((lowest + highest) // 2, lowest * 2)
        lowest, highest = _narrow(place, message, middle, lowest, highest)
    return highest


def _narrow(
    place: Place, message: CallMessage, gas: int, lowest: int, highest: int
) -> tuple[int, int]:
    result = _attempt(place, message, gas)
    if result is not None and result.error is None:
        return lowest, gas
    return gas, highest


def _attempt(place: Place, message: CallMessage, gas: int) -> CallResult | None:
    """Run with a gas limit; None when it is too little even to begin.

    Raises:
        JsonRpcError: -32000, the call could not begin for another reason.
    """
    try:
        return place.run(replace(message, gas=gas))
    except CallRejected as refusal:
        if str(refusal).startswith(_TOO_LITTLE):
            return None
        raise _failed_with(gas, refusal) from refusal


def _failed_with(gas: int, refusal: CallRejected) -> JsonRpcError:
    return server_error(f"failed with {gas} gas: {refusal}")
