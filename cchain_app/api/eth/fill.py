"""Completes transactions before they are signed: eth_fillTransaction, and the methods that sign."""

from typing import Any

from cchain_app.api import wire
from cchain_app.api.errors import server_error
from cchain_app.api.eth import execution, execution_gas
from cchain_app.api.eth.fees import next_base_fee, suggested_tip
from cchain_app.api.rpc import EvmRpc
from cchain_app.selectors import pool
from cchain_app.txs.request import CallRequest, unsigned
from cchain_app.txs.transaction import ACCESS_LIST, LEGACY
from primitives.hexadecimal import decode_quantity, encode_data


def fill_transaction(rpc: EvmRpc, request: CallRequest) -> dict[str, Any]:
    """eth_fillTransaction: a transaction with nonce, fees, gas and chain ID, and its bytes without a signature.

    Unspecified: the fee cap is twice the next block's base fee plus the suggested tip. The gas is the result of
    eth_estimateGas for the call with these fees, so the sender must be able to pay them.

    Raises:
        JsonRpcError: -32000, the fees contradict each other, it is for another chain, it creates nothing, or
            it fails; 3, it reverts.
    """
    priced, gas = with_fees_and_gas(rpc, request)
    chain_id, nonce = rpc.chain.config.chain_id, next_nonce(rpc, priced)
    transaction = unsigned(priced, chain_id=chain_id, nonce=nonce, gas=gas)
    return {"raw": encode_data(transaction.raw), "tx": wire.unsigned_transaction(transaction)}


def with_fees_and_gas(rpc: EvmRpc, request: CallRequest) -> tuple[CallRequest, int]:
    """Return a request with all fees set, and its gas limit. Raises as `fill_transaction`."""
    execution.check_request(rpc, request)
    if request.to is None and not request.data:
        raise server_error("contract creation without any data provided")
    priced = _with_fees(rpc, request)
    gas = request.gas
    if gas is None:
        estimate = execution_gas.estimate_gas(rpc, priced, None, None, None)
        gas = decode_quantity(estimate, 64)
    return priced, gas


def next_nonce(rpc: EvmRpc, request: CallRequest) -> int:
    """Return the requested nonce, else the nonce after the sender's pending transactions."""
    if request.nonce is not None:
        return request.nonce
    return pool.next_nonce(rpc.chain, request.sender)


def _with_fees(rpc: EvmRpc, request: CallRequest) -> CallRequest:
    if request.gas_price is not None:
        return request
    tip, cap = request.max_priority_fee_per_gas, request.max_fee_per_gas
    if request.wanted_type in {LEGACY, ACCESS_LIST}:
        return request._replace(gas_price=suggested_tip(rpc) + next_base_fee(rpc))
    if tip is None:
        tip = suggested_tip(rpc) if cap is None else min(suggested_tip(rpc), cap)
    if cap is None:
        cap = tip + 2 * next_base_fee(rpc)
    if cap < tip:
        raise server_error(f"maxFeePerGas ({cap}) < maxPriorityFeePerGas ({tip})")
    return request._replace(max_fee_per_gas=cap, max_priority_fee_per_gas=tip)
