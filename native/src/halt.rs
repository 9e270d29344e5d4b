//! How a call failed, in geth's words. Some of them carry numbers or names that only a look at
//! the last instruction tells; the call is then run a second time under `LastStep`. Where gas
//! runs out in an instruction that would have failed anyway, "out of gas" is said.

use revm::{
    Inspector,
    bytecode::opcode::{DUPN, EXCHANGE, OPCODE_INFO, SLOTNUM, SWAPN},
    context_interface::{
        ContextTr, JournalTr,
        result::{HaltReason, OutOfGasError},
    },
    interpreter::{
        Interpreter, InterpreterAction,
        interpreter_types::{Jumps, LoopControl},
    },
};

use crate::environment::EvmContext;

/// How all words for a lack of gas begin.
pub(crate) const OUT_OF_GAS: &str = "out of gas";

/// Items that the stack holds at most.
const STACK_LIMIT: usize = 1024;

/// Instructions that revm knows and no fork up to Osaka has.
const UNSCHEDULED: [u8; 4] = [SLOTNUM, DUPN, SWAPN, EXCHANGE];

/// The last instruction of the outermost frame.
#[derive(Default)]
pub(crate) struct LastStep {
    opcode: u8,
    stack: usize,
    /// It ended the frame as it should: a failure came after the code was run.
    returned: bool,
}

impl Inspector<EvmContext> for LastStep {
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext) {
        if context.journal().depth() == 1 {
            self.opcode = interpreter.bytecode.opcode();
            self.stack = interpreter.stack.len();
            self.returned = false;
        }
    }

    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext) {
        if context.journal().depth() == 1 {
            self.returned = matches!(
                interpreter.bytecode.action(),
                Some(InterpreterAction::Return(end)) if end.result.is_ok()
            );
        }
    }
}

/// Whether the words for a reason need a look at the last instruction.
pub(crate) fn needs_last_step(reason: &HaltReason, is_create: bool) -> bool {
    match reason {
        HaltReason::OpcodeNotFound
        | HaltReason::NotActivated
        | HaltReason::StackUnderflow
        | HaltReason::StackOverflow => true,
        HaltReason::OutOfGas(_) => is_create,
        _ => false,
    }
}

/// Geth's words for why the EVM halted.
pub(crate) fn words(reason: &HaltReason, last: &LastStep) -> String {
    match reason {
        HaltReason::OutOfGas(_) if last.returned => {
            "contract creation code storage out of gas".into()
        }
        HaltReason::OutOfGas(OutOfGasError::InvalidOperand) => "gas uint64 overflow".into(),
        HaltReason::OutOfGas(OutOfGasError::ReentrancySentry) => {
            format!("{OUT_OF_GAS}: not enough gas for reentrancy sentry")
        }
        HaltReason::OutOfGas(_) => OUT_OF_GAS.into(),
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => {
            format!("invalid opcode: {}", opcode_name(last.opcode))
        }
        HaltReason::InvalidFEOpcode => "invalid opcode: INVALID".into(),
        HaltReason::InvalidJump => "invalid jump destination".into(),
        HaltReason::StackUnderflow | HaltReason::StackOverflow => stack_words(last),
        HaltReason::OutOfOffset => "return data out of bounds".into(),
        HaltReason::CreateCollision => "contract address collision".into(),
        HaltReason::PrecompileError | HaltReason::PrecompileErrorWithContext(_) => {
            "precompile failed".into()
        }
        HaltReason::NonceOverflow => "nonce uint64 overflow".into(),
        HaltReason::CreateContractSizeLimit => "max code size exceeded".into(),
        HaltReason::CreateContractStartingWithEF => "invalid code: must not begin with 0xef".into(),
        HaltReason::CreateInitCodeSizeLimit => "max initcode size exceeded".into(),
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            "write protection".into()
        }
        HaltReason::OutOfFunds | HaltReason::OverflowPayment => {
            "insufficient balance for transfer".into()
        }
        HaltReason::CallTooDeep => "max call depth exceeded".into(),
    }
}

/// revm calls a DUP of what is not there an overflow; geth looks for an underflow first.
fn stack_words(last: &LastStep) -> String {
    let (inputs, outputs) = OPCODE_INFO[usize::from(last.opcode)]
        .map_or((0, 0), |info| (usize::from(info.inputs()), usize::from(info.outputs())));
    if last.stack < inputs {
        return format!("stack underflow ({} <=> {inputs})", last.stack);
    }
    format!("stack limit reached {} ({})", last.stack, STACK_LIMIT + inputs - outputs)
}

fn opcode_name(opcode: u8) -> String {
    OPCODE_INFO[usize::from(opcode)]
        .filter(|_| !UNSCHEDULED.contains(&opcode))
        .map_or_else(|| format!("opcode {opcode:#x} not defined"), |info| info.name().into())
}
