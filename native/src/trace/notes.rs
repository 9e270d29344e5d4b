//! Notes that instructions take while they are traced, so that tracing does not have to inspect
//! each of them: touched accounts and slots, hashed data, and destroyed contracts with their
//! beneficiaries.

use std::collections::{BTreeMap, BTreeSet};

use revm::{
    bytecode::opcode::*,
    handler::instructions::EthInstructions,
    interpreter::{
        Instruction, InstructionContext, InstructionExecResult, InstructionResult,
        InstructionTable, Interpreter, instructions::gas_table_spec, interpreter::EthInterpreter,
        interpreter_types::MemoryTr,
    },
    primitives::{Address, B256, B256Map, Bytes, U256, hardfork::SpecId, keccak256 as keccak},
};

use super::BYTES_PER_GAS;
use crate::{
    coreth,
    environment::EvmContext,
    limits::{self, SIZE},
    metered,
};

/// The fixed cost of KECCAK256.
pub(super) const KECCAK256_GAS: u64 = 30;

/// The most bytes beyond the end of memory that geth records as hashed.
const MOST_PADDING: i64 = 1 << 20;

type Context<'a> = InstructionContext<'a, EvmContext, EthInterpreter>;

/// The touched accounts and their slots (tracing.md 6).
#[derive(Default)]
pub(crate) struct TouchedSlots(pub(super) BTreeMap<Address, BTreeSet<U256>>);

impl TouchedSlots {
    pub(super) fn account(&mut self, address: Address) {
        self.0.entry(address).or_default();
    }

    fn slot(&mut self, address: Address, slot: U256) {
        self.0.entry(address).or_default().insert(slot);
    }
}

/// The hashed data, without duplicates.
#[derive(Default)]
pub(crate) struct Preimages {
    seen: B256Map<()>,
    pub(super) in_order: Vec<Bytes>,
}

/// The notes of one transaction.
pub(crate) struct Notes {
    /// Bytes that may still be recorded, in this transaction and the following ones.
    pub(super) left: u64,
    pub(super) touched: Option<TouchedSlots>,
    pub(super) preimages: Option<Preimages>,
    /// The beneficiary of the frame that ended in SELFDESTRUCT, and the balance.
    pub(super) destroyed: Option<(Address, U256)>,
}

impl Notes {
    pub(super) fn new(left: u64) -> Self {
        Self { left, touched: None, preimages: None, destroyed: None }
    }

    /// Count recorded bytes; return whether they fit within the limit.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes as u64) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

/// Run the metered instruction of an opcode.
fn run<const OPCODE: u8>(context: Context<'_>) -> InstructionExecResult {
    if context.host.chain.coreth.is_some() {
        const { metered::CORETH_TABLE[OPCODE as usize] }.execute(context)
    } else {
        const { metered::TABLE[OPCODE as usize] }.execute(context)
    }
}

/// SLOAD and SSTORE touch their slot unless they fail.
fn slot<const OPCODE: u8>(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let mut slot = interpreter.stack.peek(0).unwrap_or_default();
    run::<OPCODE>(InstructionContext { interpreter, host: &mut *host })?;
    if host.chain.coreth.is_some() {
        slot = coreth::stored(slot);
    }
    if let Some(touched) = host.chain.notes.as_mut().and_then(|notes| notes.touched.as_mut()) {
        touched.slot(interpreter.input.target_address, slot);
    }
    Ok(())
}

/// BALANCE and EXTCODE… touch the account on top of the stack unless they fail.
fn account<const OPCODE: u8>(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let address = address(interpreter.stack.peek(0).unwrap_or_default());
    run::<OPCODE>(InstructionContext { interpreter, host: &mut *host })?;
    if let Some(touched) = host.chain.notes.as_mut().and_then(|notes| notes.touched.as_mut()) {
        touched.account(address);
    }
    Ok(())
}

/// SELFDESTRUCT touches its beneficiary. The balance is noted, because revm's journal does not
/// always contain it.
fn selfdestruct(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let beneficiary = address(interpreter.stack.peek(0).unwrap_or_default());
    let contract = interpreter.input.target_address;
    let balance =
        host.journaled_state.state.get(&contract).map_or(U256::ZERO, |there| there.info.balance);
    let outcome = run::<SELFDESTRUCT>(InstructionContext { interpreter, host: &mut *host });
    if outcome == Err(InstructionResult::SelfDestruct)
        && let Some(notes) = &mut host.chain.notes
    {
        notes.destroyed = Some((beneficiary, balance));
        if let Some(touched) = &mut notes.touched {
            touched.account(beneficiary);
        }
    }
    outcome
}

/// KECCAK256 records its input, even if it runs out of gas.
fn keccak256(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let area = hashed_area(interpreter);
    let outcome = if interpreter.gas.record_regular_cost(KECCAK256_GAS) {
        run::<KECCAK256>(InstructionContext { interpreter, host: &mut *host })
    } else {
        Err(InstructionResult::OutOfGas)
    };
    let Some((offset, length)) = area else { return outcome };
    let Some(notes) = &mut host.chain.notes else { return outcome };
    let Some(preimages) = &mut notes.preimages else { return outcome };
    let padded = || {
        let memory = interpreter.memory.context_memory();
        let start = offset.min(memory.len());
        let end = memory.len().min(offset + length);
        let mut data = memory[start..end].to_vec();
        data.resize(length, 0);
        Bytes::from(data)
    };
    let (hash, data) = match outcome {
        Ok(()) => (B256::from(interpreter.stack.peek(0).unwrap_or_default()), None),
        Err(_) => {
            if let Some(limit) = host.chain.meter.spend((length / BYTES_PER_GAS) as u64) {
                return Err(limits::interrupt(host, limit));
            }
            let data = padded();
            (keccak(&data), Some(data))
        }
    };
    if preimages.seen.insert(hash, ()).is_none() {
        preimages.in_order.push(data.unwrap_or_else(padded));
        if !notes.take(length) {
            return Err(limits::interrupt(host, SIZE));
        }
    }
    outcome
}

/// Return offset and length of the input of KECCAK256, or None if geth does not record it because
/// it ends too far beyond the memory.
fn hashed_area(interpreter: &Interpreter<EthInterpreter>) -> Option<(usize, usize)> {
    let place = |depth| {
        let item = interpreter.stack.peek(depth).ok()?;
        i64::try_from(item.as_limbs()[0]).ok()
    };
    let (offset, length) = (place(0)?, place(1)?);
    let missing = offset.checked_add(length)? - interpreter.memory.size() as i64;
    (missing <= MOST_PADDING).then_some((offset as usize, length as usize))
}

pub(super) fn address(word: U256) -> Address {
    Address::from_word(word.into())
}

const TABLE: InstructionTable<EthInterpreter, EvmContext> = {
    let mut table = metered::TABLE;
    table[SLOAD as usize] = Instruction::new(slot::<SLOAD>);
    table[SSTORE as usize] = Instruction::new(slot::<SSTORE>);
    table[BALANCE as usize] = Instruction::new(account::<BALANCE>);
    table[EXTCODESIZE as usize] = Instruction::new(account::<EXTCODESIZE>);
    table[EXTCODEHASH as usize] = Instruction::new(account::<EXTCODEHASH>);
    table[EXTCODECOPY as usize] = Instruction::new(account::<EXTCODECOPY>);
    table[KECCAK256 as usize] = Instruction::new(keccak256);
    table[MLOAD as usize] = Instruction::new(word::<MLOAD, 1, 32>);
    table[MSTORE as usize] = Instruction::new(word::<MSTORE, 2, 32>);
    table[MSTORE8 as usize] = Instruction::new(word::<MSTORE8, 2, 1>);
    table[CALL as usize] = Instruction::new(run::<CALL>);
    table[SELFDESTRUCT as usize] = Instruction::new(selfdestruct);
    table
};

/// MLOAD, MSTORE and MSTORE8 fail with geth's reason if their memory area is too large.
fn word<const OPCODE: u8, const ITEMS: usize, const LENGTH: u8>(
    context: Context<'_>,
) -> InstructionExecResult {
    let stack = &context.interpreter.stack;
    let offset = stack
        .peek(0)
        .ok()
        .filter(|_| stack.len() >= ITEMS)
        .and_then(|item| u64::try_from(item).ok());
    let end = offset.map_or(0, |offset| u128::from(offset) + u128::from(LENGTH));
    match metered::memory_failure(end) {
        Some(failure) => Err(failure),
        None => run::<OPCODE>(context),
    }
}

/// Return a fork's instructions, metered and with notes. KECCAK256 charges its fixed cost itself.
pub(super) fn instructions(spec: SpecId) -> EthInstructions<EthInterpreter, EvmContext> {
    let mut gas_table = gas_table_spec(spec);
    gas_table[usize::from(KECCAK256)] = 0;
    EthInstructions::new(TABLE, gas_table, spec)
}
