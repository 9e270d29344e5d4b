"""The gas that a call needs, and the accounts and slots that it accesses.

eth_estimateGas follows geth's procedure: this module calculates the highest gas limit that a caller may use, and the
engine searches for the lowest limit that works. Messages and contexts of calls are in `execution`.
"""

from dataclasses import dataclass
from typing import Any, Final

from cchain_app.api import wire
from cchain_app.api.errors import failure, server_error
from cchain_app.api.eth import execution
from cchain_app.api.eth.execution import CallContext, Overrides
from cchain_app.api.params.call import CallRequest
from cchain_app.api.params.values import BlockParam, Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.evm.engine import BlockEnv, CallMessage, CallRejected, CallResult
from cchain_app.evm.estimation import TRANSFER_GAS
from cchain_app.evm.overrides import BlockOverride
from cchain_app.txs.request import unsigned
from cchain_app.txs.transaction import AccessList
from jsonrpc.errors import JsonRpcError
from primitives.hexadecimal import encode_quantity

ERROR_RATIO: Final = 0.015
"""Maximum relative error of an estimate, as a fraction."""

ACCESS_LIST_ROUNDS: Final = 16
"""Maximum number of rounds of eth_createAccessList. The list grows in each round until it is complete; no known
contract needs more than three rounds."""


def estimate_gas(
    rpc: EvmRpc,
    request: CallRequest,
    block: BlockParam | None,
    accounts: Overrides | None,
    block_override: BlockOverride | None,
) -> str:
    """eth_estimateGas: the lowest gas limit with which a call succeeds, or slightly more.

    Unspecified: without a block, the estimate is for the next block if an override is set for that block, as in
    Anvil and Hardhat; else for the head, as in geth.

    Unspecified: a precompile that overrides move is also moved for estimates; geth checks the move
    and then runs the call with the precompile at its old address.

    Raises:
        JsonRpcError: 3, the call reverts; -32000, it fails otherwise, or with all the gas it may use.
    """
    epoch = rpc.epoch
    at = execution.next_or_latest(rpc) if block is None else block
    context = execution.make_context(rpc, at, accounts, block_override)
    message = execution.make_message(rpc, request, context.env)
    highest = _highest(rpc, request, context)
    message = message._replace(gas=highest)
    try:
        execution.check_fees(request, context.env)
        gas, failed_call = context.logged(
            "eth_estimateGas", message, lambda logged: logged.estimate(message, ERROR_RATIO)
        )
    except CallRejected as refusal:
        raise server_error(f"failed with {highest} gas: {refusal}") from refusal
    if gas is not None:
        if at is Tag.LATEST and not accounts and block_override is None:
            _keep(rpc, epoch, context.env, is_default=block is None)
        return encode_quantity(gas)
    of_coreth = rpc.chain.is_of_coreth
    failed = None if failed_call is None else failure(failed_call, of_coreth=of_coreth)
    if failed is not None:
        failed.trace = context.again(message)
        raise failed
    raise server_error(f"gas required exceeds allowance ({highest})")


def _keep(rpc: EvmRpc, epoch: int, env: BlockEnv, *, is_default: bool) -> None:
    """Store the parameters of gas estimates at the head for the shortcut."""
    rpc.keep_environment(epoch, env)
    rpc.keep_estimates(
        epoch,
        gas=env.gas_limit,
        most_gas=_most(rpc, env),
        error_ratio=ERROR_RATIO,
        is_default=is_default,
    )


def create_access_list(
    rpc: EvmRpc,
    request: CallRequest,
    block: BlockParam,
    accounts: Overrides | None,
) -> dict[str, Any]:
    """eth_createAccessList: the accounts and slots that a call accesses, and the gas it uses with that access list.

    Unspecified: without a gas price the caller needs no funds for gas; geth assumes the fees of the next
    block.

    Raises:
        JsonRpcError: -32000, the call could not begin. The failure of a call is part of the result.
    """
    context = execution.make_context(rpc, block, accounts, None)
    if request.gas_price == 0 and context.env.base_fee is not None:
        raise server_error("gasPrice must be non-zero after london fork")
    message = execution.make_message(rpc, request, context.env)
    listed = _AccessListResult.of(request.access_list)
    try:
        execution.check_fees(request, context.env)
        for _ in range(ACCESS_LIST_ROUNDS):
            result = _run_with(context, message, listed)
            grown = listed.union(result.access_list or ())
            if grown == listed:
                return _access_list_answer(listed, result)
            listed = grown
        return _access_list_answer(listed, _run_with(context, message, listed))
    except CallRejected as refusal:
        applied = request._replace(access_list=listed.entries)
        raise _not_applied(context, applied, message.gas, refusal) from refusal


@dataclass(frozen=True, slots=True)
class _AccessListResult:
    """An access list without duplicates, in ascending order."""

    entries: AccessList

    @classmethod
    def of(cls, entries: AccessList) -> "_AccessListResult":
        return cls(()).union(entries)

    def union(self, entries: AccessList) -> "_AccessListResult":
        merged = {address: set(slots) for address, slots in self.entries}
        for address, slots in entries:
            merged.setdefault(address, set()).update(slots)
        return _AccessListResult(
            tuple((address, tuple(sorted(merged[address]))) for address in sorted(merged))
        )


def _run_with(context: CallContext, message: CallMessage, listed: _AccessListResult) -> CallResult:
    return context.run(message._replace(access_list=listed.entries), with_access_list=True)


def _not_applied(
    context: CallContext, request: CallRequest, gas: int, refusal: CallRejected
) -> JsonRpcError:
    """Return the error that names the transaction, which has no signature."""
    nonce = request.nonce
    if nonce is None:
        account = context.state.account(request.sender)
        nonce = 0 if account is None else account.nonce
    applied = unsigned(request, chain_id=context.env.chain_id, nonce=nonce, gas=gas)
    return server_error(f"failed to apply transaction: 0x{applied.hash.hex()} err: {refusal}")


def _access_list_answer(listed: _AccessListResult, result: CallResult) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "accessList": wire.access_list(listed.entries),
        "gasUsed": encode_quantity(result.gas_used),
    }
    if result.error is not None:
        answer["error"] = result.error
    return answer


def _highest(rpc: EvmRpc, request: CallRequest, context: CallContext) -> int:
    """Return the highest gas limit that the caller, the block and the node allow."""
    env = context.env
    highest = env.gas_limit
    if request.gas is not None and request.gas >= TRANSFER_GAS:
        highest = request.gas
    price = execution.fee_cap(request)
    if price:
        account = context.state.account(request.sender)
        balance = 0 if account is None else account.balance
        if request.value >= balance:
            raise server_error("insufficient funds for transfer")
        highest = min(highest, (balance - request.value) // price)
    return min(highest, _most(rpc, env))


def _most(rpc: EvmRpc, env: BlockEnv) -> int:
    """Return the highest gas limit that the block and the node allow."""
    return min(rpc.gas_cap(env.gas_limit), env.limits.of_transaction(env.fork))
