"""eth_simulateV1: simulates blocks of calls on an accepted block, and renders the result (tracing.md 14).

The simulation itself is in `cchain_app.simulation`.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any, Final

from msgspec import Raw

from cchain_app.api import block_tags, errors, tracing, wire
from cchain_app.api.eth.execution import check_request, stored_overrides, timed_out
from cchain_app.api.params.call import SimulationPayload
from cchain_app.api.params.values import BlockParam
from cchain_app.api.rpc import EvmRpc
from cchain_app.evm.engine import CallResult
from cchain_app.evm.tracing import TraceTimedOut
from cchain_app.selectors import development
from cchain_app.selectors.logs import FoundLog
from cchain_app.selectors.state import state_after
from cchain_app.selectors.tries import RootsAfter
from cchain_app.simulation.assembly import SimulatedBlock, SimulatedCall
from cchain_app.simulation.execution import Simulation, SimulationBudget
from chainvm.errors import InvalidBlock
from jsonrpc.errors import SERVER_ERROR
from primitives.hexadecimal import encode_data, encode_quantity

VM_ERROR: Final = -32015
"""Code of a call that failed without a revert."""

CAPPED: Final = " (gas limit was capped by the RPC server's global gas cap)"


def simulate(rpc: EvmRpc, payload: SimulationPayload, block: BlockParam) -> Raw:
    """eth_simulateV1: simulate blocks of calls on top of a block, each on the state after the previous one.

    Unspecified: the block may be as old as for proofs, because each simulated block has its real state root.

    Raises:
        JsonRpcError: -32000, there is no such block, it took too long or a system call failed; -32003, the answer would
            be too large; -32005, too many calls trace already.
        SimulationRefused: The blocks are not in order, or a call could not begin.
        BadOverride: State overrides contradict each other.
        ProofWindowPassed: The block is too old.
    """
    base = block_tags.require(rpc, block)
    for request in payload.blocks:
        for call in request.calls:
            check_request(rpc, call)
    chain = rpc.chain
    requests = [
        replace(request, accounts=stored_overrides(chain, request.accounts))
        for request in payload.blocks
    ]
    with tracing.tracing(rpc):
        simulation = Simulation(
            chain.rules,
            chain.engine,
            RootsAfter(chain, base),
            base,
            state_after(chain, base),
            encode_logs=chain.encode_logs,
            options=replace(payload.options, signers=development.signers(chain)),
            budget=SimulationBudget(
                gas=rpc.gas_cap(base.header.gas_limit),
                bytes=chain.settings.trace.bytes,
                deadline=time.monotonic() + chain.call_seconds,
            ),
        )
        try:
            simulated = simulation.run(requests)
        except TraceTimedOut as error:
            raise timed_out(rpc) from error
        except InvalidBlock as error:  # overrides can break the system contracts
            raise errors.server_error(str(error)) from error
        shown = (_block(item, full=payload.full_transactions) for item in simulated)
        return Raw(tracing.encoded(rpc, shown))


def _block(simulated: SimulatedBlock, *, full: bool) -> wire.Json:
    block = simulated.block
    transactions: list[Any] = [wire.hexed(transaction.hash) for transaction in block.transactions]
    if full:
        indexes = range(len(block.transactions))
        transactions = [wire.mined_transaction(block, index) for index in indexes]
    return {**wire.block(block, transactions), "calls": list(_calls(simulated))}


def _calls(simulated: SimulatedBlock) -> Iterator[wire.Json]:
    counts = (len(call.logs) for call in simulated.calls)
    first_logs = accumulate(counts, initial=0)
    for index, (call, first) in enumerate(zip(simulated.calls, first_logs, strict=False)):
        trace = call.trace
        shown: wire.Json = {
            "returnData": encode_data(b"" if trace.error is not None else trace.output),
            "logs": _logs(simulated, index, first),
            "gasUsed": encode_quantity(trace.gas_used),
            "maxUsedGas": encode_quantity(trace.gas_peak),
            "status": encode_quantity(int(trace.succeeded)),
        }
        error = _error(call)
        if error is not None:
            shown["error"] = error
        yield shown


def _logs(simulated: SimulatedBlock, index: int, first: int) -> list[wire.Json]:
    block = simulated.block
    return [
        wire.found_log(
            FoundLog(
                address=log.address,
                topics=log.topics,
                data=log.data,
                number=block.number,
                block_hash=block.hash,
                timestamp=block.header.timestamp,
                transaction_hash=block.transactions[index].hash,
                transaction_index=index,
                log_index=log_index,
            )
        )
        for log_index, log in enumerate(simulated.calls[index].logs, first)
        if log is not None
    ]


def _error(call: SimulatedCall) -> wire.Json | None:
    trace = call.trace
    failed = errors.failure(CallResult(trace.output, trace.gas_used, trace.gas_peak, trace.error))
    if failed is None:
        return None
    if failed.code == SERVER_ERROR:
        return {
            "message": failed.message + (CAPPED if call.prepared.capped else ""),
            "code": VM_ERROR,
        }
    return {"message": failed.message, "code": failed.code, "data": failed.data}
