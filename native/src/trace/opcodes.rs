//! The instructions of each frame and their accesses, as recorded by go-ethereum's erc7562Tracer
//! (tracing.md 7). An instruction is recorded before it runs, even if it fails.

use std::collections::{BTreeMap, btree_map::Entry};

use revm::{
    Database,
    bytecode::opcode::*,
    primitives::{Address, U256},
};

use super::{costs, notes::address, step::Step};
use crate::{coreth, environment::EvmContext, reader::ReaderError};

/// Memory in bytes of an entry in a frame's record.
const ENTRY_BYTES: usize = 128;

/// The record of one frame.
#[derive(Default)]
pub(crate) struct OpcodeUse {
    /// How often each instruction started. GAS counts only if no call follows it.
    pub(crate) counts: BTreeMap<u8, u64>,
    /// The value of each slot that was read before it was written.
    pub(crate) reads: BTreeMap<U256, U256>,
    pub(crate) writes: BTreeMap<U256, u64>,
    pub(crate) transient_reads: BTreeMap<U256, u64>,
    pub(crate) transient_writes: BTreeMap<U256, u64>,
    /// Accounts whose code was read, except for comparisons of its size with zero.
    pub(crate) code_accesses: Vec<Address>,
    /// Bytes of code of accounts that were called or whose code was read, with the first opcode.
    pub(crate) code_sizes: BTreeMap<Address, (usize, u8)>,
}

impl OpcodeUse {
    fn entries(&self) -> usize {
        self.counts.len()
            + self.reads.len()
            + self.writes.len()
            + self.transient_reads.len()
            + self.transient_writes.len()
            + self.code_accesses.len()
            + self.code_sizes.len()
    }
}

/// The instruction before the current one, in any frame.
struct Previous {
    opcode: u8,
    /// The top item of the stack before that instruction.
    top: Option<U256>,
}

/// Collects the records of a transaction's frames.
#[derive(Default)]
pub(super) struct Opcodes {
    previous: Option<Previous>,
}

impl Opcodes {
    /// Record an instruction of a frame; return by how many bytes the frame's record grew.
    pub(super) fn record(
        &mut self,
        step: &Step,
        frame: &mut OpcodeUse,
        context: &mut EvmContext,
    ) -> Result<usize, ReaderError> {
        let before = frame.entries();
        let opcode = step.opcode;
        let previous = self.previous.take().filter(|_| !matches!(opcode, RETURN | REVERT));
        if let Some(Previous { opcode: last, top: Some(top) }) = previous
            && is_code_access(last)
            && !(last == EXTCODESIZE && opcode == ISZERO)
        {
            frame.code_accesses.push(address(top));
        }
        let place = usize::from(is_call(opcode));
        if (is_call(opcode) || is_code_access(opcode)) && step.stack > place {
            let account = address(step.item(place));
            if let Entry::Vacant(entry) = frame.code_sizes.entry(account) {
                entry.insert((costs::code(account, context)?.len(), opcode));
            }
        }
        if previous.is_some_and(|it| it.opcode == GAS) && !is_call(opcode) {
            *frame.counts.entry(GAS).or_default() += 1;
        }
        if opcode != GAS {
            *frame.counts.entry(opcode).or_default() += 1;
        }
        if step.stack > 0 {
            access_slot(step, frame, context)?;
        }
        let top = (step.stack > 0).then(|| step.item(0));
        self.previous = Some(Previous { opcode, top });
        Ok((frame.entries() - before) * ENTRY_BYTES)
    }
}

fn access_slot(
    step: &Step,
    frame: &mut OpcodeUse,
    context: &mut EvmContext,
) -> Result<(), ReaderError> {
    let slot = step.item(0);
    let counts = match step.opcode {
        SLOAD => {
            if !frame.writes.contains_key(&slot) && !frame.reads.contains_key(&slot) {
                frame.reads.insert(slot, stored(step.contract, slot, context)?);
            }
            return Ok(());
        }
        SSTORE => &mut frame.writes,
        TLOAD => &mut frame.transient_reads,
        TSTORE => &mut frame.transient_writes,
        _ => return Ok(()),
    };
    *counts.entry(slot).or_default() += 1;
    Ok(())
}

/// Return the value of a slot, which the instruction may not have loaded.
fn stored(contract: Address, slot: U256, context: &mut EvmContext) -> Result<U256, ReaderError> {
    let slot = if context.chain.coreth.is_some() { coreth::stored(slot) } else { slot };
    let account = context.journaled_state.state.get(&contract);
    match account.and_then(|account| account.storage.get(&slot)) {
        Some(loaded) => Ok(loaded.present_value),
        None => context.journaled_state.database.storage(contract, slot),
    }
}

fn is_call(opcode: u8) -> bool {
    matches!(opcode, CALL | CALLCODE | DELEGATECALL | STATICCALL)
}

fn is_code_access(opcode: u8) -> bool {
    matches!(opcode, EXTCODESIZE | EXTCODECOPY | EXTCODEHASH)
}
