//! The vmTrace of Parity: each frame's code and the effects of each of its instructions (tracing.md
//! 12).
//!
//! Unspecified: DUP and SWAP push all items that they reach, as in Parity and Reth; `sub` comes
//! before `ex`, because it is written while the instruction still waits for the called frame.

use revm::{
    bytecode::opcode::*,
    interpreter::{
        Interpreter,
        interpreter_types::{LegacyBytecode, ReturnData},
    },
    primitives::U256,
};

use super::{
    json,
    step::{Step, StepResult, write_name},
};

/// A frame whose code is running.
#[derive(Default)]
struct RunningFrame {
    has_steps: bool,
    /// The instruction that waits for another frame, and whether that frame was written.
    waiting: Option<(Step, bool)>,
}

/// The vmTrace of a transaction.
#[derive(Default)]
pub(super) struct Vm {
    pub(super) out: Vec<u8>,
    running: Vec<RunningFrame>,
}

impl Vm {
    /// Return the JSON object, or `null` if no code ran.
    pub(super) fn into_json(self) -> Vec<u8> {
        if self.out.is_empty() { b"null".to_vec() } else { self.out }
    }

    /// Record that the frame at this depth starts running its code, or resumes after a call.
    pub(super) fn resume(&mut self, depth: usize, interpreter: &Interpreter) {
        if depth == self.running.len() {
            self.begin(interpreter);
            return;
        }
        let Some(waiting) = self.running.last_mut().and_then(|frame| frame.waiting.take()) else {
            return;
        };
        let (step, is_written) = waiting;
        if !is_written {
            self.out.extend_from_slice(b"null");
        }
        self.write_effect(&step, interpreter);
    }

    fn begin(&mut self, interpreter: &Interpreter) {
        if let Some((_, is_written)) =
            self.running.last_mut().and_then(|caller| caller.waiting.as_mut())
        {
            *is_written = true;
        }
        self.out.extend_from_slice(b"{\"code\":");
        json::bytes(&mut self.out, interpreter.bytecode.bytecode_slice());
        json::member!(self.out, "ops");
        self.out.push(b'[');
        self.running.push(RunningFrame::default());
    }

    /// Record that the running frame ends.
    pub(super) fn end(&mut self) {
        self.running.pop();
        self.out.extend_from_slice(b"]}");
    }

    /// Write an instruction; `waits`: it waits for another frame.
    pub(super) fn after(
        &mut self,
        step: Step,
        taken: &StepResult,
        waits: bool,
        interpreter: &Interpreter,
    ) {
        let Some(frame) = self.running.last_mut() else { return };
        let out = &mut self.out;
        if frame.has_steps {
            out.push(b',');
        }
        frame.has_steps = true;
        out.extend_from_slice(b"{\"cost\":");
        json::number(out, taken.cost);
        json::member!(out, "pc");
        json::number(out, step.pc as u64);
        json::member!(out, "op");
        write_name(out, step.opcode);
        json::member!(out, "sub");
        if waits {
            frame.waiting = Some((step, false));
            return;
        }
        out.extend_from_slice(b"null");
        if taken.failed {
            out.extend_from_slice(b",\"ex\":null}");
        } else {
            self.write_effect(&step, interpreter);
        }
    }

    fn write_effect(&mut self, step: &Step, interpreter: &Interpreter) {
        let out = &mut self.out;
        json::member!(out, "ex");
        out.extend_from_slice(b"{\"mem\":");
        write_memory(out, step, interpreter);
        json::member!(out, "push");
        write_pushed(out, step, interpreter);
        json::member!(out, "store");
        if step.opcode == SSTORE {
            out.extend_from_slice(b"{\"key\":");
            json::quantity(out, &step.item(0));
            json::member!(out, "val");
            json::quantity(out, &step.item(1));
            out.push(b'}');
        } else {
            out.extend_from_slice(b"null");
        }
        json::member!(out, "used");
        json::number(out, interpreter.gas.remaining());
        out.extend_from_slice(b"}}");
    }
}

fn write_pushed(out: &mut Vec<u8>, step: &Step, interpreter: &Interpreter) {
    let count = OPCODE_INFO[usize::from(step.opcode)].map_or(0, |info| usize::from(info.outputs()));
    let items = interpreter.stack.data();
    out.push(b'[');
    for (place, item) in items[items.len().saturating_sub(count)..].iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        json::quantity(out, item);
    }
    out.push(b']');
}

fn write_memory(out: &mut Vec<u8>, step: &Step, interpreter: &Interpreter) {
    let returned = U256::from(interpreter.return_data.buffer().len());
    let (offset, length) = match step.opcode {
        MSTORE => (step.item(0), U256::from(32)),
        MSTORE8 => (step.item(0), U256::from(1)),
        CALLDATACOPY | CODECOPY | RETURNDATACOPY | MCOPY => (step.item(0), step.item(2)),
        EXTCODECOPY => (step.item(1), step.item(3)),
        CALL | CALLCODE => (step.item(5), step.item(6).min(returned)),
        DELEGATECALL | STATICCALL => (step.item(4), step.item(5).min(returned)),
        _ => (U256::ZERO, U256::ZERO),
    };
    if length.is_zero() {
        out.extend_from_slice(b"null");
        return;
    }
    // Data that was written to memory has a valid offset.
    let offset = usize::try_from(offset).unwrap_or(0);
    let length = usize::try_from(length).unwrap_or(0);
    out.extend_from_slice(b"{\"data\":");
    json::bytes(out, &interpreter.memory.slice_len(offset, length));
    json::member!(out, "off");
    json::number(out, offset as u64);
    out.push(b'}');
}
