//! What instructions note while they are traced, so that tracing needs no look at each of them:
//! what they touch, what they hash, and which contract is destroyed in favour of whom.

use std::collections::{BTreeMap, BTreeSet};

use revm::{
    bytecode::opcode::*,
    handler::instructions::EthInstructions,
    interpreter::{
        Instruction, InstructionContext, InstructionExecResult, InstructionResult,
        InstructionTable, instructions::gas_table_spec, interpreter::EthInterpreter,
    },
    primitives::{Address, B256, B256Map, Bytes, U256, hardfork::SpecId},
};

use crate::{
    environment::EvmContext,
    limits::{self, SIZE},
    metered,
};

type Context<'a> = InstructionContext<'a, EvmContext, EthInterpreter>;

/// Accounts and their slots that were touched (tracing.md 6).
#[derive(Default)]
pub(crate) struct Touched(pub(super) BTreeMap<Address, BTreeSet<U256>>);

impl Touched {
    pub(super) fn account(&mut self, address: Address) {
        self.0.entry(address).or_default();
    }

    fn slot(&mut self, address: Address, slot: U256) {
        self.0.entry(address).or_default().insert(slot);
    }
}

/// What was hashed, each once.
#[derive(Default)]
pub(crate) struct Preimages {
    seen: B256Map<()>,
    pub(super) in_order: Vec<Bytes>,
}

/// Notes of one transaction.
pub(crate) struct Notes {
    /// Bytes that may still be recorded, in this transaction and those after it.
    pub(super) left: u64,
    pub(super) touched: Option<Touched>,
    pub(super) preimages: Option<Preimages>,
    /// The beneficiary of the frame that ended in SELFDESTRUCT, and the balance.
    pub(super) destroyed: Option<(Address, U256)>,
    /// Why the last precompile failed.
    pub(crate) precompile: Option<&'static str>,
}

impl Notes {
    pub(super) fn new(left: u64) -> Self {
        Self { left, touched: None, preimages: None, destroyed: None, precompile: None }
    }

    /// Whether so many bytes more may be recorded; they count then.
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

/// The metered instruction of an opcode.
fn run<const OPCODE: u8>(context: Context<'_>) -> InstructionExecResult {
    const { metered::TABLE[OPCODE as usize] }.execute(context)
}

/// SLOAD and SSTORE touch their slot, unless they fail.
fn slot<const OPCODE: u8>(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let slot = interpreter.stack.peek(0).unwrap_or_default();
    run::<OPCODE>(InstructionContext { interpreter, host: &mut *host })?;
    if let Some(touched) = host.chain.notes.as_mut().and_then(|notes| notes.touched.as_mut()) {
        touched.slot(interpreter.input.target_address, slot);
    }
    Ok(())
}

/// BALANCE and EXTCODE… touch the account on top of the stack, unless they fail.
fn account<const OPCODE: u8>(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let address = address(interpreter.stack.peek(0).unwrap_or_default());
    run::<OPCODE>(InstructionContext { interpreter, host: &mut *host })?;
    if let Some(touched) = host.chain.notes.as_mut().and_then(|notes| notes.touched.as_mut()) {
        touched.account(address);
    }
    Ok(())
}

/// SELFDESTRUCT touches its beneficiary; revm's journal does not say of each how much was moved.
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

fn keccak256(context: Context<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let [offset, length] = [0, 1].map(|depth| {
        usize::try_from(interpreter.stack.peek(depth).unwrap_or_default()).unwrap_or(0)
    });
    run::<KECCAK256>(InstructionContext { interpreter, host: &mut *host })?;
    let Some(notes) = &mut host.chain.notes else { return Ok(()) };
    let Some(preimages) = &mut notes.preimages else { return Ok(()) };
    let hash = B256::from(interpreter.stack.peek(0).unwrap_or_default());
    if preimages.seen.insert(hash, ()).is_none() {
        let data = match length {
            0 => Bytes::new(),
            _ => Bytes::copy_from_slice(&interpreter.memory.slice_len(offset, length)),
        };
        preimages.in_order.push(data);
        if !notes.take(length) {
            return Err(limits::interrupt(host, SIZE));
        }
    }
    Ok(())
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
    table[SELFDESTRUCT as usize] = Instruction::new(selfdestruct);
    table
};

/// A fork's instructions, metered, with notes.
pub(super) fn instructions(spec: SpecId) -> EthInstructions<EthInterpreter, EvmContext> {
    EthInstructions::new(TABLE, gas_table_spec(spec), spec)
}
