//! One instruction: the state before it runs, and its cost.

use revm::{
    bytecode::opcode::{LOG0, LOG4, TLOAD, TSTORE},
    interpreter::{
        FrameInput, InstructionExecResult, InstructionResult, Interpreter, InterpreterAction,
        instructions::GasTable,
        interpreter_types::{Jumps, MemoryTr},
    },
    primitives::{Address, U256},
};

use super::costs;
use crate::{
    environment::EvmContext,
    halt::{self, LastStep},
};

/// Maximum number of stack items that an instruction takes, except for DUP and SWAP.
const MOST_INPUTS: usize = 7;

/// An instruction that is about to run.
pub(super) struct Step {
    pub(super) pc: usize,
    pub(super) opcode: u8,
    pub(super) gas: u64,
    /// Size of the memory in bytes.
    pub(super) memory: usize,
    /// Number of items on the stack.
    pub(super) stack: usize,
    /// Number of entries in the journal.
    pub(super) journal: usize,
    /// The account whose storage and balance are used.
    pub(super) contract: Address,
    top: [U256; MOST_INPUTS],
}

impl Step {
    pub(super) fn new(interpreter: &Interpreter, context: &EvmContext) -> Self {
        let items = interpreter.stack.data();
        let opcode = interpreter.bytecode.opcode();
        let mut top = [U256::ZERO; MOST_INPUTS];
        if costs::is_dynamic(opcode) || matches!(opcode, TLOAD | TSTORE) {
            for (kept, item) in top.iter_mut().zip(items.iter().rev()) {
                *kept = *item;
            }
        }
        Self {
            pc: interpreter.bytecode.pc(),
            opcode,
            gas: interpreter.gas.remaining(),
            memory: interpreter.memory.size(),
            stack: items.len(),
            journal: context.journaled_state.journal.len(),
            contract: interpreter.input.target_address,
            top,
        }
    }

    /// Return an item of the stack, counted from its top; only for instructions whose cost depends
    /// on the stack, and for TLOAD and TSTORE.
    pub(super) fn item(&self, depth: usize) -> U256 {
        self.top[depth]
    }
}

/// The result of a step.
pub(super) struct StepResult {
    pub(super) cost: u64,
    /// The reason why it could not be executed; it may also fail without such a reason.
    pub(super) error: Option<String>,
    /// The refund that it would have caused if it had not run out of gas.
    pub(super) refund: i64,
    /// Whether it failed, with or without such a reason.
    pub(super) failed: bool,
}

impl StepResult {
    pub(super) fn new(
        step: &Step,
        interpreter: &Interpreter,
        context: &mut EvmContext,
        gas_table: &GasTable,
        outcome: InstructionExecResult,
    ) -> Self {
        use InstructionResult as Ended;
        let base = || costs::base(step.opcode, gas_table, context);
        let (cost, error) = match outcome {
            Ok(()) | Err(Ended::Stop | Ended::Return | Ended::SelfDestruct | Ended::Revert) => {
                let cost = step.gas - interpreter.gas.remaining();
                return Self { cost, error: None, refund: 0, failed: false };
            }
            Err(Ended::Suspend) => {
                let cost = step.gas - interpreter.gas.remaining() - passed_on(interpreter);
                return Self { cost, error: None, refund: 0, failed: false };
            }
            Err(Ended::OutOfGas | Ended::MemoryOOG) => {
                let cost = costs::wanted(step, gas_table, context);
                let refund = costs::refund(step, context);
                return Self { cost, error: Some(halt::OUT_OF_GAS.into()), refund, failed: true };
            }
            Err(Ended::OutOfOffset) => (costs::wanted(step, gas_table, context), None),
            Err(Ended::StackUnderflow | Ended::StackOverflow) => {
                let last = LastStep::at(step.opcode, step.stack);
                (base(), Some(halt::stack_words(&last)))
            }
            // Geth charges the gas of these before it checks whether the call is static.
            Err(Ended::StateChangeDuringStaticCall)
                if matches!(step.opcode, LOG0..=LOG4 | TSTORE) =>
            {
                (costs::wanted(step, gas_table, context), None)
            }
            Err(
                failure @ (Ended::StateChangeDuringStaticCall
                | Ended::CallNotAllowedInsideStatic
                | Ended::ReentrancySentryOOG
                | Ended::InvalidOperandOOG
                | Ended::MemoryLimitOOG),
            ) => (base(), halt::frame_words(failure, &LastStep::default(), &context.cfg)),
            Err(Ended::CreateInitCodeSizeLimit) => {
                (base(), context.chain.failure.as_deref().map(str::to_owned))
            }
            Err(Ended::InvalidJump) => (base(), None),
            Err(_) => (0, None),
        };
        Self { cost, error, refund: 0, failed: true }
    }
}

/// Return the gas that CREATE and CREATE2 pass to the new frame, which is not part of their own
/// cost.
fn passed_on(interpreter: &Interpreter) -> u64 {
    match &interpreter.bytecode.action {
        Some(InterpreterAction::NewFrame(FrameInput::Create(inputs))) => inputs.gas_limit(),
        _ => 0,
    }
}

/// Write an instruction's name as in geth, where DIFFICULTY keeps its old name.
pub(super) fn write_name(out: &mut Vec<u8>, opcode: u8) {
    out.push(b'"');
    match halt::known_name(opcode) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => out.extend_from_slice(format!("opcode {opcode:#x} not defined").as_bytes()),
    }
    out.push(b'"');
}
