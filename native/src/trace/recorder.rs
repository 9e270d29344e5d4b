//! The recording of one transaction while it runs: the hooks of the frame loop and the step loop.

use std::mem;

use revm::{
    handler::FrameResult,
    interpreter::{
        FrameInput, InstructionExecResult, InstructionResult, Interpreter, instructions::GasTable,
        interpreter_action::FrameInit,
    },
    primitives::{Address, Bytes},
};

use super::{
    Recording,
    frames::{self, End, FRAME_BYTES, Frames},
    notes::{Notes, Preimages, TouchedSlots},
    opcodes::Opcodes,
    step::{Step, StepResult},
    steps::Steps,
    vm::Vm,
};
use crate::{environment::EvmContext, frames::StartError, halt::LastStep, limits::SIZE};

/// The result of the outermost frame.
#[derive(Default)]
pub(super) struct TopFrameResult {
    pub(super) output: Bytes,
    pub(super) error: Option<String>,
}

/// Records one transaction.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) frames: Option<Frames>,
    pub(super) steps: Option<Steps>,
    pub(super) vm: Option<Vm>,
    opcodes: Option<Opcodes>,
    pub(super) top: TopFrameResult,
    /// For each frame that has not ended, the refunds of the frames around it and of
    /// authorizations.
    refunds: Vec<i64>,
    /// The failure of the frame that ended last.
    error: Option<String>,
    /// The refunds of authorizations.
    pub(super) authorized: i64,
    /// Bytes of the vmTrace that have been counted against the limit.
    counted: usize,
}

impl Recorder {
    pub(super) fn new(recording: &Recording) -> Self {
        Self {
            frames: recording.frames.then(Frames::default),
            steps: recording.steps.map(Steps::new),
            vm: recording.vm.then(Vm::default),
            opcodes: recording.opcodes.then(Opcodes::default),
            ..Self::default()
        }
    }

    /// Return empty notes for the instructions of a transaction.
    pub(super) fn notes(recording: &Recording, left: u64) -> Box<Notes> {
        let mut notes = Notes::new(left);
        notes.touched = recording.state.then(TouchedSlots::default);
        notes.preimages = recording.preimages.then(Preimages::default);
        Box::new(notes)
    }

    /// Record the start of a frame, even if it fails to start; `refunded` is its caller's refund
    /// counter.
    pub(super) fn enter(
        &mut self,
        context: &mut EvmContext,
        frame: &FrameInit,
        refunded: i64,
    ) -> Result<(), StartError> {
        let around = self.refunds.last().copied().unwrap_or(self.authorized);
        self.refunds.push(around + refunded);
        touch(context, frame);
        let Some(frames) = &mut self.frames else { return Ok(()) };
        frames.enter(context, frame);
        count(context, FRAME_BYTES + input_length(&frame.frame_input))
    }

    /// Record the end of the innermost frame; `last` was its last instruction.
    pub(super) fn exit(
        &mut self,
        context: &mut EvmContext,
        result: &FrameResult,
        last: &LastStep,
    ) -> Result<(), StartError> {
        self.refunds.pop();
        let failure = context.chain.failure.take();
        let is_top = self.refunds.is_empty();
        if !is_top && self.frames.is_none() && context.chain.asset_calls.is_empty() {
            return Ok(());
        }
        self.error = frames::error(result, last, failure, &context.cfg);
        self.ended(context, result)
    }

    /// Record the end of a call of the contract of native assets, which fails as the call that it
    /// made.
    pub(super) fn exit_around(
        &mut self,
        context: &mut EvmContext,
        result: &FrameResult,
    ) -> Result<(), StartError> {
        self.refunds.pop();
        self.ended(context, result)
    }

    fn ended(&mut self, context: &mut EvmContext, result: &FrameResult) -> Result<(), StartError> {
        let error = self.error.clone();
        let end = End::new(result, error.as_deref());
        let output = end.output.clone();
        if let Some(frames) = &mut self.frames {
            frames.exit(context, end);
            count(context, output.len())?;
        }
        if self.refunds.is_empty() {
            self.top = TopFrameResult { output, error };
        }
        Ok(())
    }

    /// Record that the innermost frame ended in SELFDESTRUCT.
    pub(super) fn destroy(
        &mut self,
        context: &mut EvmContext,
        contract: Address,
    ) -> Result<(), StartError> {
        let noted = context.chain.notes.as_mut().and_then(|notes| notes.destroyed.take());
        let (Some(frames), Some((beneficiary, balance))) = (&mut self.frames, noted) else {
            return Ok(());
        };
        frames.destroy(contract, beneficiary, balance);
        count(context, FRAME_BYTES)
    }

    /// Return whether each instruction must be inspected.
    pub(super) fn follows(&self) -> bool {
        self.vm.is_some()
            || self.opcodes.is_some()
            || self.steps.as_ref().is_some_and(Steps::is_open)
    }

    /// Record that the frame at this depth starts or resumes running its code.
    pub(super) fn resume(&mut self, depth: usize, interpreter: &Interpreter) {
        if let Some(vm) = &mut self.vm {
            vm.resume(depth, interpreter);
        }
    }

    /// Record that the running frame ends.
    pub(super) fn end(&mut self) {
        if let Some(vm) = &mut self.vm {
            vm.end();
        }
    }

    /// Record an instruction that is about to run.
    pub(super) fn before(&mut self, interpreter: &Interpreter, context: &EvmContext) -> Step {
        if let Some(steps) = self.steps.as_mut().filter(|steps| steps.is_open()) {
            steps.before(interpreter);
        }
        Step::new(interpreter, context)
    }

    /// Record an instruction that has run; return how many bytes were written.
    pub(super) fn after(
        &mut self,
        step: Step,
        interpreter: &Interpreter,
        context: &mut EvmContext,
        gas_table: &GasTable,
        outcome: InstructionExecResult,
    ) -> Result<usize, StartError> {
        let taken = StepResult::new(&step, interpreter, context, gas_table, outcome);
        let mut written = 0;
        if let Some(steps) = self.steps.as_mut().filter(|steps| steps.is_open()) {
            let depth = self.refunds.len();
            let around = self.refunds.last().copied().unwrap_or_default();
            let refund = around + interpreter.gas.refunded() + taken.refund;
            written += steps.after(&step, &taken, depth, refund, interpreter);
        }
        if let (Some(opcodes), Some(frames)) = (&mut self.opcodes, &mut self.frames)
            && let Some(frame) = frames.opcodes()
        {
            written += opcodes.record(&step, frame, context).map_err(StartError::Db)?;
        }
        if let Some(vm) = &mut self.vm {
            vm.after(step, &taken, outcome == Err(InstructionResult::Suspend), interpreter);
            written += vm.out.len() - mem::replace(&mut self.counted, vm.out.len());
        }
        count(context, written)?;
        Ok(written)
    }
}

/// Count recorded bytes; fail if they exceed the limit.
fn count(context: &mut EvmContext, bytes: usize) -> Result<(), StartError> {
    let fits = context.chain.notes.as_mut().is_none_or(|notes| notes.take(bytes));
    if fits { Ok(()) } else { Err(StartError::Custom(SIZE.into())) }
}

fn input_length(input: &FrameInput) -> usize {
    match input {
        FrameInput::Call(inputs) => inputs.input.len(),
        FrameInput::Create(inputs) => inputs.init_code().len(),
        FrameInput::Empty => 0,
    }
}

/// Note that the called or created account is touched, and the account that it delegates to. For a
/// transaction's recipient, the delegation before the transaction counts (`state`).
fn touch(context: &mut EvmContext, frame: &FrameInit) {
    if context.chain.notes.as_ref().is_none_or(|notes| notes.touched.is_none()) {
        return;
    }
    let (address, delegate) = match &frame.frame_input {
        FrameInput::Call(inputs) => {
            let address = inputs.bytecode_address;
            let account = context.journaled_state.state.get(&address);
            let code = account.and_then(|account| account.info.code.as_ref());
            let delegate = code.and_then(|code| code.eip7702_address());
            (address, delegate.filter(|_| frame.depth > 0))
        }
        FrameInput::Create(inputs) => (frames::created_address(context, inputs), None),
        FrameInput::Empty => return,
    };
    if let Some(touched) = context.chain.notes.as_mut().and_then(|notes| notes.touched.as_mut()) {
        touched.account(address);
        if let Some(delegate) = delegate {
            touched.account(delegate);
        }
    }
}
