//! Conversion of traces to Python: tuples with the fields of the port's classes in order.

use std::collections::{BTreeMap, HashMap};

use pyo3::{
    prelude::*,
    types::{IntoPyDict, PyBytes, PyDict, PyList, PyTuple},
};
use revm::primitives::{B256, U256};

use super::{
    BlockTrace, Trace,
    frames::{CallFrame, LogPlace},
    opcodes::OpcodeUse,
    state::TouchedState,
};
use crate::{
    answers::{address, changes, logs},
    convert::{bytes, int, word},
    reader::account_tuple,
};

/// Number of frames that are converted before the interpreter lock is released, because there may
/// be very many.
const FRAMES_AT_ONCE: usize = 1_000;

/// Codes that have been converted: each is one object, however many accounts and transactions have
/// it.
type Codes<'py> = HashMap<B256, Bound<'py, PyBytes>>;

/// (before, transactions).
pub(crate) fn block<'py>(py: Python<'py>, traced: &BlockTrace) -> PyResult<Bound<'py, PyTuple>> {
    let transactions = PyList::empty(py);
    let mut codes = Codes::new();
    for one in &traced.transactions {
        transactions.append(transaction(py, one, &mut codes)?)?;
    }
    (changes(py, &traced.before)?, transactions).into_pyobject(py)
}

/// The trace of a call.
pub(crate) fn trace<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyTuple>> {
    transaction(py, trace, &mut Codes::new())
}

/// (succeeded, gas limit, gas used, gas peak, output, error, logs, contract, frames, places of
/// logs, state, steps, vm, preimages).
fn transaction<'py>(
    py: Python<'py>,
    trace: &Trace,
    codes: &mut Codes<'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    let touched = trace.state.as_ref().map(|it| state(py, it, codes)).transpose()?;
    let frames = PyList::empty(py);
    for some in trace.frames.list.chunks(FRAMES_AT_ONCE) {
        for one in some {
            frames.append(frame(py, one)?)?;
        }
        py.detach(|| ());
    }
    let places = trace.frames.logs.iter().map(|LogPlace { frame, position }| (*frame, *position));
    let values: Vec<Bound<'py, PyAny>> = vec![
        trace.succeeded.into_pyobject(py)?.to_owned().into_any(),
        trace.gas_limit.into_pyobject(py)?.into_any(),
        trace.gas_used.into_pyobject(py)?.into_any(),
        trace.gas_peak.into_pyobject(py)?.into_any(),
        bytes(py, &trace.output).into_any(),
        trace.error.as_deref().into_pyobject(py)?.into_any(),
        logs(py, &trace.logs)?.into_any(),
        trace.contract.map(|contract| address(py, &contract)).into_pyobject(py)?.into_any(),
        frames.into_any(),
        PyList::new(py, places.collect::<Vec<_>>())?.into_any(),
        touched.into_pyobject(py)?.into_any(),
        PyBytes::new(py, &trace.steps).into_any(),
        PyBytes::new(py, &trace.vm).into_any(),
        PyList::new(py, trace.preimages.iter().map(|data| bytes(py, data)))?.into_any(),
    ];
    PyTuple::new(py, values)
}

/// (depth, type, sender, to, value, gas, gas used, input, output, error, precompile, opcodes).
fn frame<'py>(py: Python<'py>, frame: &CallFrame) -> PyResult<Bound<'py, PyTuple>> {
    (
        frame.depth,
        frame.kind,
        address(py, &frame.sender),
        frame.to.map(|to| address(py, &to)),
        frame.value.map(|value| int(py, &value)).transpose()?,
        frame.gas,
        frame.gas_used,
        bytes(py, &frame.input),
        bytes(py, &frame.output),
        frame.error.as_deref(),
        frame.precompile,
        frame.opcodes.as_deref().map(|it| opcodes(py, it)).transpose()?,
    )
        .into_pyobject(py)
}

/// (counts, reads, writes, transient reads, transient writes, code accesses, code sizes).
fn opcodes<'py>(py: Python<'py>, used: &OpcodeUse) -> PyResult<Bound<'py, PyTuple>> {
    let reads = PyDict::new(py);
    for (slot, value) in &used.reads {
        reads.set_item(word(py, slot), word(py, value))?;
    }
    let sizes = PyDict::new(py);
    for (account, size) in &used.code_sizes {
        sizes.set_item(address(py, account), size)?;
    }
    (
        used.counts.iter().into_py_dict(py)?,
        reads,
        slot_counts(py, &used.writes)?,
        slot_counts(py, &used.transient_reads)?,
        slot_counts(py, &used.transient_writes)?,
        PyList::new(py, used.code_accesses.iter().map(|account| address(py, account)))?,
        sizes,
    )
        .into_pyobject(py)
}

fn slot_counts<'py>(py: Python<'py>, counts: &BTreeMap<U256, u64>) -> PyResult<Bound<'py, PyDict>> {
    counts.iter().map(|(slot, count)| (word(py, slot), *count)).into_py_dict(py)
}

/// (accounts, slots by account, codes, changes).
fn state<'py>(
    py: Python<'py>,
    state: &TouchedState,
    shared: &mut Codes<'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    let accounts = PyDict::new(py);
    let slots = PyDict::new(py);
    let codes = PyDict::new(py);
    for touched in &state.accounts {
        let key = address(py, &touched.address);
        let before = touched.before.as_ref().map(|info| account_tuple(py, info)).transpose()?;
        accounts.set_item(&key, before)?;
        if !touched.slots.is_empty() {
            let values = PyDict::new(py);
            for (slot, value) in &touched.slots {
                values.set_item(word(py, slot), word(py, value))?;
            }
            slots.set_item(&key, values)?;
        }
        if let (Some(code), Some(info)) = (&touched.code, &touched.before) {
            let code = shared.entry(info.code_hash).or_insert_with(|| bytes(py, code));
            codes.set_item(&key, &*code)?;
        }
    }
    (accounts, slots, codes, changes(py, &state.changes)?).into_pyobject(py)
}
