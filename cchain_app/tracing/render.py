"""Renders the answers of `debug_trace*`: one entry point for all of go-ethereum's tracers."""

from cchain_app.evm import failures
from cchain_app.evm.tracing import UNBOUNDED, TransactionTrace
from cchain_app.tracing import options
from cchain_app.tracing.call import write_accesses, write_calls, write_selectors
from cchain_app.tracing.flat import write_flat
from cchain_app.tracing.options import (
    CallConfig,
    Erc7562Config,
    FlatConfig,
    PrestateConfig,
    TraceConfig,
    TraceContext,
    Tracer,
)
from cchain_app.tracing.output import TraceWriter, data, members
from cchain_app.tracing.prestate import write_prestate
from primitives.hashing import keccak256


def render(
    trace: TransactionTrace,
    config: TraceConfig,
    context: TraceContext,
    most_bytes: int = UNBOUNDED,
) -> bytes:
    """Return the answer about one transaction or call as JSON.

    Args:
        trace: An engine's recording, with everything that `config.recording()` requests.
        config: What to show.
        context: The position of the transaction; a call has none.
        most_bytes: Longest permitted answer.

    Raises:
        TraceTooLarge: The answer would be longer.
    """
    output = TraceWriter(most_bytes)
    if config.tracer is None:
        _write_steps(output, trace)
    else:
        _write(output, trace, config.tracer, context)
    return output.joined()


def _write(
    output: TraceWriter, trace: TransactionTrace, tracer: Tracer, context: TraceContext
) -> None:
    match tracer.config:
        case CallConfig() as config:
            write_calls(output, trace, config, context.first_log)
        case FlatConfig() as config:
            write_flat(output, trace, config, context)
        case PrestateConfig() as config:
            write_prestate(output, trace, config)
        case Erc7562Config() as config:
            write_accesses(output, trace, config, context.first_log)
        case None if tracer.name == options.FOUR_BYTE:
            write_selectors(output, trace)
        case None if tracer.name == options.KECCAK:
            _write_preimages(output, trace)
        case None:
            _write_each(output, trace, tracer.tracers, context)


def _write_each(
    output: TraceWriter, trace: TransactionTrace, tracers: tuple[Tracer, ...], context: TraceContext
) -> None:
    """Write the answer of each tracer of a muxTracer, by name; a noopTracer has no tracers, and writes an empty object."""
    output.write(b"{")
    for index, tracer in enumerate(tracers):
        output.write(b'%b"%b":' % (b"," if index else b"", tracer.name.encode()))
        _write(output, trace, tracer, context)
    output.write(b"}")


def _write_steps(output: TraceWriter, trace: TransactionTrace) -> None:
    """Write the answer of the struct logger (tracing.md 3)."""
    returned = trace.output if trace.error in {None, failures.REVERTED} else b""
    head = {
        "gas": trace.gas_used,
        "failed": not trace.succeeded,
        "returnValue": data(returned),
    }
    output.write(b"{" + members(head) + b',"structLogs":[')
    output.write(trace.steps)
    output.write(b"]}")


def _write_preimages(output: TraceWriter, trace: TransactionTrace) -> None:
    """Write the data that KECCAK256 hashed, by hash (tracing.md 7)."""
    preimages = {data(keccak256(preimage)): data(preimage) for preimage in trace.preimages}
    output.write_value(dict(sorted(preimages.items())))
