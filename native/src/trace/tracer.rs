//! An EVM that records what it runs. Only steps and the vmTrace need to inspect each instruction;
//! without them it runs as fast as untraced.

use revm::{
    context::{Evm, FrameStack, TxEnv},
    context_interface::{
        ContextSetters, ContextTr, JournalTr,
        cfg::gas::InitialAndFloorGas,
        result::{EVMError, ExecutionResult, HaltReason},
    },
    handler::{
        EvmTr, FrameResult, Handler, ItemOrResult, instructions::InstructionProvider,
        post_execution, pre_execution,
    },
    interpreter::{
        GasTracker, InstructionResult, Interpreter, InterpreterAction,
        instructions::{GasTable, InstructionTable},
        interpreter::EthInterpreter,
        interpreter_action::FrameInit,
        interpreter_types::LegacyBytecode,
    },
    primitives::{Address, Bytes, Log},
};

use super::{
    BYTES_PER_GAS, Recording,
    frames::Frames,
    notes::{self, Preimages},
    recorder::Recorder,
    state::{self, TouchedState},
    steps::Steps,
    vm::Vm,
};
use crate::{
    coreth,
    environment::EvmContext,
    frames::{self, EvmOf, Next, Run, RunError, StartError},
    halt::{LastStep, Returned},
    message,
    precompiles::ChangedPrecompiles,
    runner, stateful,
};

type TraceEvm = EvmOf<Recorder, ChangedPrecompiles>;

/// Mainnet's rules with this crate's frame loop, recorded.
struct TraceHandler;

impl Handler for TraceHandler {
    type Evm = TraceEvm;
    type Error = RunError;
    type HaltReason = HaltReason;

    /// Save the refund of authorizations, which geth's refund counter includes from the start.
    fn apply_eip7702_auth_list(
        &self,
        evm: &mut TraceEvm,
        gas: &mut GasTracker,
    ) -> Result<Option<u64>, RunError> {
        let refund = pre_execution::apply_eip7702_auth_list::<_, RunError>(&mut evm.ctx, gas)?;
        evm.inspector.authorized = refund.unwrap_or_default() as i64;
        Ok(refund)
    }

    fn validate_initial_tx_gas(&self, evm: &mut TraceEvm) -> Result<InitialAndFloorGas, RunError> {
        stateful::initial_gas(&mut evm.ctx)
    }

    fn reward_beneficiary(
        &self,
        evm: &mut TraceEvm,
        result: &mut FrameResult,
    ) -> Result<(), RunError> {
        if evm.ctx.chain.coreth.is_some() {
            coreth::reward(&mut evm.ctx, result.gas())?;
            return Ok(());
        }
        post_execution::reward_beneficiary(&mut evm.ctx, result.gas()).map_err(RunError::from)
    }

    fn run_exec_loop(
        &mut self,
        evm: &mut TraceEvm,
        first: FrameInit,
    ) -> Result<FrameResult, RunError> {
        frames::run::<Recorded, _, _>(evm, first)
    }
}

/// Runs that are recorded.
struct Recorded;

impl Run<Recorder, ChangedPrecompiles> for Recorded {
    fn enter(evm: &mut TraceEvm, frame: &FrameInit, is_own: bool) -> Result<(), StartError> {
        let has_caller = evm.frame_stack.index().is_some() && !is_own;
        let refunded =
            if has_caller { evm.frame_stack.get().interpreter.gas.refunded() } else { 0 };
        evm.inspector.enter(&mut evm.ctx, frame, refunded)
    }

    fn start(evm: &mut TraceEvm, frame: FrameInit) -> Result<Option<FrameResult>, StartError> {
        evm.frame_init(frame).map(frames::ended)
    }

    fn resume(evm: &mut TraceEvm) -> Result<Next, StartError> {
        run(evm)
    }

    fn exit(evm: &mut TraceEvm, result: &FrameResult, is_own: bool) -> Result<(), StartError> {
        if is_own {
            evm.inspector.exit_around(&mut evm.ctx, result)
        } else {
            evm.inspector.exit(&mut evm.ctx, result, &LastStep::default())
        }
    }
}

fn run(evm: &mut TraceEvm) -> Result<Next, StartError> {
    let Evm { ctx: context, inspector: recorder, instruction, frame_stack, .. } = evm;
    let frame = frame_stack.get();
    let (table, gas_table) = (instruction.instruction_table(), instruction.gas_table());
    // Geth executes nothing if there is no code.
    let has_code = frame.interpreter.bytecode.bytecode_len() > 0;
    let action = if has_code && recorder.follows() {
        // The calls of the contract of native assets run no code of their own.
        let depth = frame.depth - context.chain.asset_calls.len();
        recorder.resume(depth, &frame.interpreter);
        follow(&mut frame.interpreter, context, recorder, table, gas_table)?
    } else {
        frame.interpreter.run_plain(table, gas_table, context)
    };
    let (ended, returned) = match &action {
        InterpreterAction::Return(end) => (Some(end.result), Returned::new(end, context)),
        InterpreterAction::NewFrame(_) => (None, None),
    };
    if ended.is_some() && has_code {
        recorder.end();
    }
    if ended == Some(InstructionResult::SelfDestruct) {
        recorder.destroy(context, frame.interpreter.input.target_address)?;
    }
    let next = frame.process_next_action::<_, StartError>(context, action)?;
    if let ItemOrResult::Result(result) = &next {
        frame.set_finished(true);
        let last = LastStep::of(&frame.interpreter, returned);
        recorder.exit(context, result, &last)?;
    }
    Ok(next)
}

/// Run a frame instruction by instruction, as long as they are recorded.
fn follow(
    interpreter: &mut Interpreter,
    context: &mut EvmContext,
    recorder: &mut Recorder,
    table: &InstructionTable<EthInterpreter, EvmContext>,
    gas_table: &GasTable,
) -> Result<InterpreterAction, StartError> {
    while recorder.follows() {
        let step = recorder.before(interpreter, context);
        let outcome = interpreter.step(table, gas_table, context);
        let written = recorder.after(step, interpreter, context, gas_table, outcome)?;
        if let Some(limit) = context.chain.meter.spend((written / BYTES_PER_GAS) as u64) {
            return Err(StartError::Custom(limit.into()));
        }
        if let Err(ended) = outcome {
            if interpreter.bytecode.action.is_none() {
                interpreter.halt(ended);
            }
            return Ok(interpreter.take_next_action());
        }
    }
    Ok(interpreter.run_plain(table, gas_table, context))
}

/// The result of a transaction, and its recording.
pub(crate) struct Trace {
    pub(crate) succeeded: bool,
    pub(crate) gas_limit: u64,
    pub(crate) gas_used: u64,
    pub(crate) gas_peak: u64,
    pub(crate) output: Bytes,
    pub(crate) error: Option<String>,
    pub(crate) logs: Vec<Log>,
    pub(crate) contract: Option<Address>,
    pub(crate) frames: Frames,
    pub(crate) state: Option<TouchedState>,
    pub(crate) steps: Vec<u8>,
    pub(crate) vm: Vec<u8>,
    pub(crate) preimages: Vec<Bytes>,
}

/// Executes transactions one after another, each on the state after the previous one.
pub(super) struct Tracer {
    evm: TraceEvm,
    /// Bytes that may still be recorded.
    left: u64,
}

impl Tracer {
    pub(super) fn new(
        context: EvmContext,
        precompiles: ChangedPrecompiles,
        most_bytes: u64,
    ) -> Self {
        let instruction = notes::instructions(context.cfg.spec);
        let evm = Evm {
            ctx: context,
            inspector: Recorder::default(),
            instruction,
            precompiles,
            frame_stack: FrameStack::new(),
        };
        Self { evm, left: most_bytes }
    }

    pub(super) fn context(&mut self) -> &mut EvmContext {
        &mut self.evm.ctx
    }

    /// Execute a transaction; `contract` is the address of the contract that it creates.
    pub(super) fn execute(
        &mut self,
        tx: TxEnv,
        contract: Option<Address>,
        recording: &Recording,
    ) -> Result<Trace, RunError> {
        let evm = &mut self.evm;
        evm.inspector = Recorder::new(recording);
        let mut notes = Recorder::notes(recording, self.left);
        if let Some(touched) = &mut notes.touched {
            state::note_touched(touched, &mut evm.ctx, &tx, contract)?;
        }
        evm.ctx.chain.notes = Some(notes);
        if let Some(limit) = evm.ctx.chain.meter.spend(message::preparation(&tx)) {
            return Err(EVMError::Custom(limit.into()));
        }
        let gas_limit = tx.gas_limit;
        evm.ctx.set_tx(tx);
        let result = TraceHandler.run(evm);
        let changed = evm.ctx.journal_mut().finalize();
        let result = result?;
        let Some(mut notes) = evm.ctx.chain.notes.take() else {
            unreachable!("nobody takes the notes away while a transaction runs")
        };
        let overlay = &mut evm.ctx.journaled_state.database;
        let accounts = match notes.touched.take() {
            Some(touched) => state::look_up(touched, overlay, &mut notes)?,
            None => Vec::new(),
        };
        self.left = notes.left;
        let changes = overlay.commit_recorded(changed);
        let state =
            (recording.state || recording.changes).then_some(TouchedState { accounts, changes });
        Ok(trace(result, gas_limit, contract, &mut evm.inspector, state, notes.preimages))
    }
}

fn trace(
    result: ExecutionResult,
    gas_limit: u64,
    contract: Option<Address>,
    recorder: &mut Recorder,
    state: Option<TouchedState>,
    preimages: Option<Preimages>,
) -> Trace {
    let recorder = std::mem::take(recorder);
    // For a creation that failed because of the sender's maximum nonce, revm reports success, but
    // it is a failure.
    let succeeded = result.is_success() && recorder.top.error.is_none();
    Trace {
        succeeded,
        gas_limit,
        gas_used: result.gas().tx_gas_used(),
        gas_peak: runner::peak(&result),
        output: recorder.top.output,
        error: recorder.top.error,
        logs: if succeeded { result.into_logs() } else { Vec::new() },
        contract,
        frames: recorder.frames.unwrap_or_default(),
        state,
        steps: recorder.steps.map(Steps::into_json).unwrap_or_default(),
        vm: recorder.vm.map(Vm::into_json).unwrap_or_default(),
        preimages: preimages.map(|preimages| preimages.in_order).unwrap_or_default(),
    }
}
