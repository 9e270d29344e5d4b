//! The options of a recording: the port's `Recording` and `StepOptions`, named tuples.

use pyo3::prelude::*;

/// The port's `StepOptions`, with its fields in order.
#[derive(FromPyObject)]
struct StepTuple(bool, bool, bool, bool, u64);

/// The parts of each instruction that the struct logger writes.
#[derive(Clone, Copy)]
pub(crate) struct StepOptions {
    pub(super) stack: bool,
    pub(super) memory: bool,
    pub(super) storage: bool,
    pub(super) return_data: bool,
    pub(super) limit: u64,
}

/// The port's `Recording`, with its fields in order.
#[derive(FromPyObject)]
struct RecordingTuple(bool, bool, bool, Option<StepTuple>, bool, bool, bool, u64);

/// The parts of each transaction that are recorded.
#[derive(Clone, Copy, Default)]
pub(crate) struct Recording {
    pub(super) frames: bool,
    pub(super) state: bool,
    pub(super) changes: bool,
    pub(super) steps: Option<StepOptions>,
    pub(super) vm: bool,
    pub(super) preimages: bool,
    pub(super) opcodes: bool,
    pub(super) most_bytes: u64,
}

impl<'py> FromPyObject<'_, 'py> for Recording {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let RecordingTuple(frames, state, changes, steps, vm, preimages, opcodes, most_bytes) =
            object.extract()?;
        let steps = steps.map(|StepTuple(stack, memory, storage, return_data, limit)| {
            StepOptions { stack, memory, storage, return_data, limit }
        });
        Ok(Self { frames, state, changes, steps, vm, preimages, opcodes, most_bytes })
    }
}
