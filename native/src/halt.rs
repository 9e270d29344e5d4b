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
        InstructionResult, Interpreter, InterpreterAction, SuccessOrHalt,
        interpreter_types::{Jumps, LegacyBytecode, LoopControl},
    },
    precompile::PrecompileHalt,
};

use crate::environment::EvmContext;

/// How all words for a lack of gas begin.
pub(crate) const OUT_OF_GAS: &str = "out of gas";

/// The words for a frame that gave up by itself.
pub(crate) const REVERTED: &str = "execution reverted";

/// The words for a precompile of whose failure no more is known.
const PRECOMPILE: &str = "precompiled failed";

/// The words for a creation by an account whose nonce cannot rise.
pub(crate) const NONCE_OVERFLOW: &str = "nonce uint64 overflow";

/// The words for a change where none is allowed.
pub(crate) const WRITE_PROTECTION: &str = "write protection";

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

impl LastStep {
    /// The last instruction of a frame that has come to its end, and whether that was as it should.
    pub(crate) fn of(interpreter: &Interpreter, returned: bool) -> Self {
        let pc = interpreter.bytecode.pc().wrapping_sub(1);
        let opcode = interpreter.bytecode.bytecode_slice().get(pc).copied().unwrap_or_default();
        Self { opcode, stack: interpreter.stack.len(), returned }
    }

    /// An instruction that is about to run.
    pub(crate) fn at(opcode: u8, stack: usize) -> Self {
        Self { opcode, stack, returned: false }
    }
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
            PRECOMPILE.into()
        }
        HaltReason::NonceOverflow => NONCE_OVERFLOW.into(),
        HaltReason::CreateContractSizeLimit => "max code size exceeded".into(),
        HaltReason::CreateContractStartingWithEF => "invalid code: must not begin with 0xef".into(),
        HaltReason::CreateInitCodeSizeLimit => "max initcode size exceeded".into(),
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            WRITE_PROTECTION.into()
        }
        HaltReason::OutOfFunds | HaltReason::OverflowPayment => {
            "insufficient balance for transfer".into()
        }
        HaltReason::CallTooDeep => "max call depth exceeded".into(),
    }
}

/// Geth's words for how a frame failed; None of one that did not.
pub(crate) fn frame_words(result: InstructionResult, last: &LastStep) -> Option<String> {
    match SuccessOrHalt::<HaltReason>::from(result) {
        SuccessOrHalt::Revert => Some(REVERTED.into()),
        SuccessOrHalt::Halt(reason) => Some(words(&reason, last)),
        _ => None,
    }
}

/// Geth's words for why a precompile failed, where it has words for that.
pub(crate) fn precompile_words(reason: &PrecompileHalt) -> &'static str {
    use PrecompileHalt as Halt;
    match reason {
        Halt::OutOfGas => OUT_OF_GAS,
        Halt::Blake2WrongFinalIndicatorFlag => "invalid final flag",
        Halt::ModexpEip7823LimitSize => {
            "one or more of base/exponent/modulus length exceeded 1024 bytes"
        }
        Halt::Bn254FieldPointNotAMember | Halt::Bn254AffineGFailedToCreate => {
            "bn256: malformed point"
        }
        Halt::Bn254PairLength => "bad elliptic curve pairing size",
        Halt::BlobMismatchedVersion => "mismatched hash",
        Halt::BlobVerifyKzgProofFailed => "error verifying kzg proof",
        Halt::NonCanonicalFp => "invalid fp.Element encoding",
        Halt::Bls12381G1NotOnCurve | Halt::Bls12381G2NotOnCurve => "point is not on curve",
        Halt::Bls12381G1NotInSubgroup => "g1 point is not on correct subgroup",
        Halt::Bls12381G2NotInSubgroup => "g2 point is not on correct subgroup",
        Halt::Bls12381FpPaddingInvalid => "invalid field element top bytes",
        Halt::Blake2WrongLength
        | Halt::BlobInvalidInputLength
        | Halt::Bls12381ScalarInputLength
        | Halt::Bls12381G1AddInputLength
        | Halt::Bls12381G1MsmInputLength
        | Halt::Bls12381G2AddInputLength
        | Halt::Bls12381G2MsmInputLength
        | Halt::Bls12381PairingInputLength
        | Halt::Bls12381MapFpToG1InputLength
        | Halt::Bls12381MapFp2ToG2InputLength => "invalid input length",
        _ => PRECOMPILE,
    }
}

/// revm calls a DUP of what is not there an overflow; geth looks for an underflow first.
pub(crate) fn stack_words(last: &LastStep) -> String {
    let (inputs, outputs) = OPCODE_INFO[usize::from(last.opcode)]
        .map_or((0, 0), |info| (usize::from(info.inputs()), usize::from(info.outputs())));
    if last.stack < inputs {
        return format!("stack underflow ({} <=> {inputs})", last.stack);
    }
    format!("stack limit reached {} ({})", last.stack, STACK_LIMIT + inputs - outputs)
}

/// An instruction's name as geth writes it.
fn opcode_name(opcode: u8) -> String {
    known_name(opcode).map_or_else(|| format!("opcode {opcode:#x} not defined"), |name| name.into())
}

/// The name of an instruction that some fork has.
pub(crate) fn known_name(opcode: u8) -> Option<&'static str> {
    OPCODE_INFO[usize::from(opcode)]
        .as_ref()
        .filter(|_| !UNSCHEDULED.contains(&opcode))
        .map(|info| info.name())
}
