//! The recorded call frames, depth first and without recursion.

use std::borrow::Cow;

use revm::{
    context::CfgEnv,
    context_interface::{CreateScheme, journaled_state::JournalTr},
    handler::FrameResult,
    interpreter::{
        CallInputs, CallScheme, CreateInputs, FrameInput, InstructionResult,
        interpreter_action::FrameInit,
    },
    primitives::{Address, Bytes, U256},
};

use super::opcodes::OpcodeUse;
use crate::{
    environment::EvmContext,
    halt::{self, LastStep},
};

/// Memory of a frame besides its data; there may be very many empty frames.
pub(super) const FRAME_BYTES: usize = 256;

/// The port's `Frame`, without its logs.
pub(crate) struct CallFrame {
    pub(crate) depth: usize,
    pub(crate) kind: &'static str,
    pub(crate) sender: Address,
    pub(crate) to: Option<Address>,
    pub(crate) value: Option<U256>,
    pub(crate) gas: u64,
    pub(crate) gas_used: u64,
    pub(crate) input: Bytes,
    pub(crate) output: Bytes,
    pub(crate) error: Option<String>,
    pub(crate) precompile: bool,
    /// The record of its instructions; None if it ran none or if they are not recorded.
    pub(crate) opcodes: Option<Box<OpcodeUse>>,
}

/// The frame of a log, and the number of the frame's calls before the log.
pub(crate) struct LogPlace {
    pub(crate) frame: usize,
    pub(crate) position: usize,
}

/// A frame that has not ended.
struct OpenFrame {
    frame: usize,
    calls: usize,
}

/// The frames of a transaction.
#[derive(Default)]
pub(crate) struct Frames {
    pub(crate) list: Vec<CallFrame>,
    /// One for each log of the journal, in order; reverted logs are removed from the end.
    pub(crate) logs: Vec<LogPlace>,
    open: Vec<OpenFrame>,
}

impl Frames {
    /// Record the start of a frame, even if it fails to start.
    pub(super) fn enter(&mut self, context: &EvmContext, frame: &FrameInit) {
        self.place_logs(context);
        if let Some(caller) = self.open.last_mut() {
            caller.calls += 1;
        }
        self.open.push(OpenFrame { frame: self.list.len(), calls: 0 });
        let depth = frame.depth;
        self.list.push(match &frame.frame_input {
            FrameInput::Call(inputs) => called(context, inputs, depth),
            FrameInput::Create(inputs) => created(context, inputs, depth),
            FrameInput::Empty => return,
        });
    }

    /// Record the end of the innermost frame.
    pub(super) fn exit(&mut self, context: &EvmContext, end: End<'_>) {
        if end.error.is_none() {
            self.place_logs(context);
        } else {
            self.logs.truncate(context.journaled_state.logs().len());
        }
        let Some(open) = self.open.pop() else { return };
        let frame = &mut self.list[open.frame];
        frame.gas_used = end.gas_used(frame.gas);
        frame.output = end.output;
        frame.precompile = end.precompile;
        if !end.started {
            frame.to = frame.to.filter(|_| !frame.kind.starts_with("CREATE"));
        }
        frame.error = end.error.map(str::to_owned);
    }

    /// Record the SELFDESTRUCT of the innermost frame.
    pub(super) fn destroy(&mut self, contract: Address, beneficiary: Address, balance: U256) {
        let depth = self.open.len();
        self.list.push(CallFrame {
            depth,
            kind: "SELFDESTRUCT",
            sender: contract,
            to: Some(beneficiary),
            value: Some(balance),
            gas: 0,
            gas_used: 0,
            input: Bytes::new(),
            output: Bytes::new(),
            error: None,
            precompile: false,
            opcodes: None,
        });
    }

    /// Return the record of the innermost frame's instructions.
    pub(super) fn opcodes(&mut self) -> Option<&mut OpcodeUse> {
        let frame = &mut self.list[self.open.last()?.frame];
        Some(frame.opcodes.get_or_insert_default())
    }

    /// Assign the logs since the last call of this function to the innermost frame.
    fn place_logs(&mut self, context: &EvmContext) {
        if let Some(open) = self.open.last() {
            let place = || LogPlace { frame: open.frame, position: open.calls };
            self.logs.resize_with(context.journaled_state.logs().len(), place);
        }
    }
}

fn called(context: &EvmContext, inputs: &CallInputs, depth: usize) -> CallFrame {
    let (kind, sender) = match inputs.scheme {
        CallScheme::Call => ("CALL", inputs.caller),
        CallScheme::CallCode => ("CALLCODE", inputs.caller),
        CallScheme::DelegateCall => ("DELEGATECALL", inputs.target_address),
        CallScheme::StaticCall => ("STATICCALL", inputs.caller),
    };
    CallFrame {
        depth,
        kind,
        sender,
        to: Some(inputs.bytecode_address),
        value: (inputs.scheme != CallScheme::StaticCall).then(|| inputs.value.get()),
        gas: inputs.gas_limit,
        gas_used: 0,
        input: inputs.input.bytes(context),
        output: Bytes::new(),
        error: None,
        precompile: false,
        opcodes: None,
    }
}

fn created(context: &EvmContext, inputs: &CreateInputs, depth: usize) -> CallFrame {
    CallFrame {
        depth,
        kind: match inputs.scheme() {
            CreateScheme::Create2 { .. } => "CREATE2",
            _ => "CREATE",
        },
        sender: inputs.caller(),
        to: Some(created_address(context, inputs)),
        value: Some(inputs.value()),
        gas: inputs.gas_limit(),
        gas_used: 0,
        input: inputs.init_code().clone(),
        output: Bytes::new(),
        error: None,
        precompile: false,
        opcodes: None,
    }
}

/// Return the address of a contract whose creation starts now.
pub(super) fn created_address(context: &EvmContext, inputs: &CreateInputs) -> Address {
    let caller = context.journaled_state.state.get(&inputs.caller());
    inputs.created_address(caller.map_or(0, |account| account.info.nonce))
}

/// How a frame ended.
pub(super) struct End<'a> {
    pub(super) error: Option<&'a str>,
    pub(super) output: Bytes,
    precompile: bool,
    /// Whether it started, so was not refused because of balance, nonce or depth.
    started: bool,
    halted: bool,
    remaining: u64,
}

/// Return geth's message for the failure of a frame; `failure` has it if revm's reason is too
/// coarse.
pub(super) fn error(
    result: &FrameResult,
    last: &LastStep,
    failure: Option<Cow<'static, str>>,
    rules: &CfgEnv,
) -> Option<String> {
    match (result, result.instruction_result()) {
        (FrameResult::Create(outcome), InstructionResult::Return) if outcome.address.is_none() => {
            Some(halt::NONCE_OVERFLOW.into())
        }
        (_, InstructionResult::PrecompileError | InstructionResult::CreateInitCodeSizeLimit)
            if failure.is_some() =>
        {
            failure.map(Cow::into_owned)
        }
        (_, instruction_result) => halt::frame_words(instruction_result, last, rules),
    }
}

impl<'a> End<'a> {
    pub(super) fn new(result: &FrameResult, error: Option<&'a str>) -> Self {
        let outcome = result.interpreter_result();
        let speaks = error.is_none() || outcome.result == InstructionResult::Revert;
        let refused = matches!(
            outcome.result,
            InstructionResult::CallTooDeep | InstructionResult::OutOfFunds
        ) || error == Some(halt::NONCE_OVERFLOW);
        Self {
            error,
            output: if speaks { outcome.output.clone() } else { Bytes::new() },
            precompile: matches!(result, FrameResult::Call(call) if call.was_precompile_called),
            started: !refused,
            halted: outcome.result.is_halt(),
            remaining: outcome.gas.remaining(),
        }
    }

    fn gas_used(&self, given: u64) -> u64 {
        if self.halted { given } else { given.saturating_sub(self.remaining) }
    }
}
