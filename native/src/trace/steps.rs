//! The struct logger: each instruction as a JSON object, in go-ethereum's form (tracing.md 3).

use std::collections::BTreeMap;

use revm::{
    bytecode::opcode::{SLOAD, SSTORE},
    interpreter::{Interpreter, interpreter_types::ReturnData},
    primitives::{AddressMap, U256},
};

use super::{
    json,
    recording::StepOptions,
    step::{Step, StepResult, write_name},
};

/// Bytes of a memory word.
const WORD: usize = 32;

/// The steps of a transaction.
pub(super) struct Steps {
    options: StepOptions,
    out: Vec<u8>,
    /// Total size of the objects, without the commas between them.
    size: u64,
    /// The end of the current object; the members before it are only known after the step has run.
    scratch: Vec<u8>,
    /// The slots of each contract that were accessed so far, with their values.
    storage: AddressMap<BTreeMap<U256, U256>>,
}

impl Steps {
    pub(super) fn new(options: StepOptions) -> Self {
        Self {
            options,
            out: Vec::new(),
            size: 0,
            scratch: Vec::new(),
            storage: AddressMap::default(),
        }
    }

    /// Return the objects, separated by commas.
    pub(super) fn into_json(self) -> Vec<u8> {
        self.out
    }

    /// Return whether steps are still recorded.
    pub(super) fn is_open(&self) -> bool {
        self.options.limit == 0 || self.size <= self.options.limit
    }

    /// Save the values that the step may change: stack, memory and return data.
    pub(super) fn before(&mut self, interpreter: &Interpreter) {
        let out = &mut self.scratch;
        out.clear();
        if self.options.stack {
            json::member!(out, "stack");
            out.push(b'[');
            for (place, item) in interpreter.stack.data().iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                json::quantity(out, item);
            }
            out.push(b']');
        }
        if self.options.return_data && !interpreter.return_data.buffer().is_empty() {
            json::member!(out, "returnData");
            json::bytes(out, interpreter.return_data.buffer());
        }
        if self.options.memory && !interpreter.memory.is_empty() {
            json::member!(out, "memory");
            for (place, word) in interpreter.memory.context_memory().chunks(WORD).enumerate() {
                out.push(if place == 0 { b'[' } else { b',' });
                json::bytes(out, word);
            }
            out.push(b']');
        }
    }

    /// Write the step; return the number of bytes written.
    pub(super) fn after(
        &mut self,
        step: &Step,
        taken: &StepResult,
        depth: usize,
        refund: i64,
        interpreter: &Interpreter,
    ) -> usize {
        let first = self.out.len();
        if first > 0 {
            self.out.push(b',');
        }
        let start = self.out.len();
        self.write_head(step, taken, depth);
        self.out.extend_from_slice(&self.scratch);
        if self.options.storage && taken.error.is_none() && matches!(step.opcode, SLOAD | SSTORE) {
            self.write_storage(step, interpreter);
        }
        if refund != 0 {
            json::member!(self.out, "refund");
            json::number(&mut self.out, u64::try_from(refund).unwrap_or(0));
        }
        self.out.push(b'}');
        self.size += (self.out.len() - start) as u64;
        self.out.len() - first
    }

    fn write_head(&mut self, step: &Step, taken: &StepResult, depth: usize) {
        let out = &mut self.out;
        out.extend_from_slice(b"{\"pc\":");
        json::number(out, step.pc as u64);
        json::member!(out, "op");
        write_name(out, step.opcode);
        json::member!(out, "gas");
        json::number(out, step.gas);
        json::member!(out, "gasCost");
        json::number(out, taken.cost);
        json::member!(out, "depth");
        json::number(out, depth as u64);
        if let Some(error) = &taken.error {
            json::member!(out, "error");
            json::text(out, error);
        }
    }

    /// Write all slots of the contract that were accessed, including the one of this step.
    fn write_storage(&mut self, step: &Step, interpreter: &Interpreter) {
        let slot = step.item(0);
        let value = match step.opcode {
            SSTORE => step.item(1),
            _ => interpreter.stack.peek(0).unwrap_or_default(),
        };
        let seen = self.storage.entry(step.contract).or_default();
        seen.insert(slot, value);
        json::member!(self.out, "storage");
        for (place, (slot, value)) in seen.iter().enumerate() {
            self.out.push(if place == 0 { b'{' } else { b',' });
            json::word(&mut self.out, slot);
            self.out.push(b':');
            json::word(&mut self.out, value);
        }
        self.out.push(b'}');
    }
}
