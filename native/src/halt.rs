//! Geth's error messages for failed calls. Some contain numbers or names that only the last
//! instruction shows; the call is then run a second time under `LastStep`. If gas runs out in an
//! instruction that would have failed anyway, the message is "out of gas".

use std::borrow::Cow;

use revm::{
    Inspector,
    bytecode::opcode::OPCODE_INFO,
    context::CfgEnv,
    context_interface::{
        Cfg, ContextTr, JournalTr,
        result::{HaltReason, OutOfGasError},
    },
    interpreter::{
        InstructionResult, Interpreter, InterpreterAction, InterpreterResult, SuccessOrHalt,
        interpreter_types::{Jumps, LegacyBytecode, LoopControl},
    },
    primitives::{U256, hardfork::SpecId},
};

use crate::environment::EvmContext;

/// Prefix of all messages for a lack of gas.
pub(crate) const OUT_OF_GAS: &str = "out of gas";

/// Message for a frame that reverted.
pub(crate) const REVERTED: &str = "execution reverted";

/// Message for a precompile that failed for an unknown reason.
pub(crate) const PRECOMPILE: &str = "precompiled failed";

/// Message for a creation by an account whose nonce is at its maximum.
pub(crate) const NONCE_OVERFLOW: &str = "nonce uint64 overflow";

/// Message for a state change in a static call.
pub(crate) const WRITE_PROTECTION: &str = "write protection";

/// Message for a price above 64 bits.
const GAS_OVERFLOW: &str = "gas uint64 overflow";

/// Message for a creation with too much init code.
const INIT_CODE_SIZE: &str = "max initcode size exceeded";

/// Message for a creation of too much code.
const CODE_SIZE: &str = "max code size exceeded";

/// Message for a creation that cannot pay for storing its code.
const CODE_STORAGE: &str = "contract creation code storage out of gas";

/// Message for a creation of code that EIP-3541 reserves.
const CODE_PREFIX: &str = "invalid code: must not begin with 0xef";

/// Maximum number of items on the stack.
const STACK_LIMIT: usize = 1024;

/// Instructions that have names in geth but not in revm; no fork up to Osaka has any of them.
const UNSCHEDULED: [(u8, &str); 16] = [
    (0xd0, "DATALOAD"),
    (0xd1, "DATALOADN"),
    (0xd2, "DATASIZE"),
    (0xd3, "DATACOPY"),
    (0xe0, "RJUMP"),
    (0xe1, "RJUMPI"),
    (0xe2, "RJUMPV"),
    (0xe3, "CALLF"),
    (0xe4, "RETF"),
    (0xe5, "JUMPF"),
    (0xec, "EOFCREATE"),
    (0xee, "RETURNCONTRACT"),
    (0xf7, "RETURNDATALOAD"),
    (0xf8, "EXTCALL"),
    (0xf9, "EXTDELEGATECALL"),
    (0xfb, "EXTSTATICCALL"),
];

/// The last instruction of the outermost frame.
#[derive(Default)]
pub(crate) struct LastStep {
    opcode: u8,
    stack: usize,
    /// Set if the code returned normally: the frame then failed after its code ran.
    returned: Option<Returned>,
}

/// The properties of a creation's returned code that decide why the creation failed.
#[derive(Clone, Copy)]
pub(crate) struct Returned {
    /// The code begins with 0xEF (EIP-3541).
    is_reserved: bool,
    /// The remaining gas does not pay for storing the code.
    is_unpaid: bool,
    size: usize,
    /// Largest allowed size of code.
    limit: usize,
}

impl Returned {
    pub(crate) fn new(end: &InterpreterResult, context: &EvmContext) -> Option<Self> {
        let is_london = context.cfg.spec.is_enabled_in(SpecId::LONDON);
        let price = context.cfg.gas_params().code_deposit_cost(end.output.len());
        end.result.is_ok().then(|| Self {
            is_reserved: is_london && end.output.first() == Some(&0xef),
            is_unpaid: price > end.gas.remaining(),
            size: end.output.len(),
            limit: context.cfg.max_code_size(),
        })
    }
}

impl LastStep {
    /// Return the last instruction of a frame that has ended, and the code that it returned.
    pub(crate) fn of(interpreter: &Interpreter, returned: Option<Returned>) -> Self {
        let pc = interpreter.bytecode.pc().wrapping_sub(1);
        let opcode = interpreter.bytecode.bytecode_slice().get(pc).copied().unwrap_or_default();
        Self { opcode, stack: interpreter.stack.len(), returned }
    }

    /// Return an instruction that is about to run.
    pub(crate) fn at(opcode: u8, stack: usize) -> Self {
        Self { opcode, stack, returned: None }
    }
}

impl Inspector<EvmContext> for LastStep {
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext) {
        if context.journal().depth() == 1 {
            self.opcode = interpreter.bytecode.opcode();
            self.stack = interpreter.stack.len();
            self.returned = None;
        }
    }

    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext) {
        if context.journal().depth() == 1 {
            self.returned = match interpreter.bytecode.action() {
                Some(InterpreterAction::Return(end)) => Returned::new(end, context),
                _ => None,
            };
        }
    }
}

/// Return whether the message for a reason depends on the last instruction.
pub(crate) fn needs_last_step(reason: &HaltReason, is_create: bool) -> bool {
    match reason {
        HaltReason::OpcodeNotFound
        | HaltReason::NotActivated
        | HaltReason::StackUnderflow
        | HaltReason::StackOverflow => true,
        HaltReason::OutOfGas(_) | HaltReason::CreateContractSizeLimit => is_create,
        _ => false,
    }
}

/// Return geth's message for the reason why the EVM halted; it has none for a chain's limit of
/// memory.
pub(crate) fn words(reason: &HaltReason, last: &LastStep, rules: &CfgEnv) -> String {
    match reason {
        HaltReason::OutOfGas(_) if last.returned.is_some() => CODE_STORAGE.into(),
        HaltReason::OutOfGas(OutOfGasError::InvalidOperand) => GAS_OVERFLOW.into(),
        HaltReason::OutOfGas(OutOfGasError::MemoryLimit) => match rules.memory_limit {
            u64::MAX => format!("{OUT_OF_GAS}: {GAS_OVERFLOW}"),
            limit => format!("memory limit of {limit} bytes reached"),
        },
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
            PRECOMPILE.into()
        }
        HaltReason::NonceOverflow => NONCE_OVERFLOW.into(),
        // Geth checks the first byte, charges the gas, and then checks the size.
        HaltReason::CreateContractSizeLimit => match last.returned {
            Some(Returned { is_reserved: true, .. }) => CODE_PREFIX.into(),
            Some(Returned { is_unpaid: true, .. }) => CODE_STORAGE.into(),
            Some(Returned { size, limit, .. }) => {
                format!("{CODE_SIZE}: code size {size} limit {limit}")
            }
            None => CODE_SIZE.into(),
        },
        HaltReason::CreateContractStartingWithEF => CODE_PREFIX.into(),
        HaltReason::CreateInitCodeSizeLimit => INIT_CODE_SIZE.into(),
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            WRITE_PROTECTION.into()
        }
        HaltReason::OutOfFunds | HaltReason::OverflowPayment => {
            "insufficient balance for transfer".into()
        }
        HaltReason::CallTooDeep => "max call depth exceeded".into(),
    }
}

/// Return geth's message for CREATE or CREATE2 with too much init code.
pub(crate) fn large_init_code(length: U256, limit: usize) -> Cow<'static, str> {
    format!("{OUT_OF_GAS}: {INIT_CODE_SIZE}: code size {length} limit {limit}").into()
}

/// Return geth's message for the failure of a frame, or None if it did not fail.
pub(crate) fn frame_words(
    result: InstructionResult,
    last: &LastStep,
    rules: &CfgEnv,
) -> Option<String> {
    match SuccessOrHalt::<HaltReason>::from(result) {
        SuccessOrHalt::Revert => Some(REVERTED.into()),
        SuccessOrHalt::Halt(reason) => Some(words(&reason, last, rules)),
        _ => None,
    }
}

/// Return geth's message for a stack error. revm reports an overflow for a DUP of a missing item;
/// geth checks for an underflow first.
pub(crate) fn stack_words(last: &LastStep) -> String {
    let (inputs, outputs) = OPCODE_INFO[usize::from(last.opcode)]
        .map_or((0, 0), |info| (usize::from(info.inputs()), usize::from(info.outputs())));
    if last.stack < inputs {
        return format!("stack underflow ({} <=> {inputs})", last.stack);
    }
    format!("stack limit reached {} ({})", last.stack, STACK_LIMIT + inputs - outputs)
}

/// Return an instruction's name as in geth's messages.
fn opcode_name(opcode: u8) -> String {
    known_name(opcode).map_or_else(|| format!("opcode {opcode:#x} not defined"), |name| name.into())
}

/// Return the name of an instruction that geth has a name for.
pub(crate) fn known_name(opcode: u8) -> Option<&'static str> {
    match &OPCODE_INFO[usize::from(opcode)] {
        Some(info) => Some(info.name()),
        None => UNSCHEDULED.iter().find(|(code, _)| *code == opcode).map(|(_, name)| *name),
    }
}
