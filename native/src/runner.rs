//! An EVM that runs calls one after another, each on the original state.

use std::{marker::PhantomData, mem};

use revm::{
    Inspector,
    context::{Evm, TxEnv},
    context_interface::{
        FrameStack,
        cfg::gas::InitialAndFloorGas,
        result::{EVMError, ExecutionResult, HaltReason},
    },
    handler::{FrameResult, Handler},
    inspector::InspectorHandler,
    interpreter::{interpreter::EthInterpreter, interpreter_action::FrameInit},
    primitives::{Bytes, TxKind},
};

use crate::{
    call::{Answer, CallFailure},
    environment::EvmContext,
    frames::{self, EvmOf, Inspected, Plain, RunError},
    halt::{self, LastStep},
    limits, message, metered,
    precompiles::ChangedPrecompiles,
    stateful,
};

type CallEvm<I> = EvmOf<I, ChangedPrecompiles>;
type RunResult = Result<ExecutionResult, RunError>;

/// Mainnet's rules without the fee for the block's beneficiary. A call's changes are discarded, so
/// nothing can observe that fee, and the beneficiary's account need not be read.
struct CallHandler<I>(PhantomData<I>);

impl<I> Handler for CallHandler<I> {
    type Evm = CallEvm<I>;
    type Error = RunError;
    type HaltReason = HaltReason;

    fn reward_beneficiary(&self, _: &mut CallEvm<I>, _: &mut FrameResult) -> Result<(), RunError> {
        Ok(())
    }

    fn validate_initial_tx_gas(
        &self,
        evm: &mut CallEvm<I>,
    ) -> Result<InitialAndFloorGas, RunError> {
        stateful::initial_gas(&mut evm.ctx)
    }

    fn run_exec_loop(
        &mut self,
        evm: &mut CallEvm<I>,
        first: FrameInit,
    ) -> Result<FrameResult, RunError> {
        frames::run::<Plain, _, _>(evm, first)
    }
}

impl<I: Inspector<EvmContext>> InspectorHandler for CallHandler<I> {
    type IT = EthInterpreter;

    fn inspect_run_exec_loop(
        &mut self,
        evm: &mut CallEvm<I>,
        first: FrameInit,
    ) -> Result<FrameResult, RunError> {
        frames::run::<Inspected, _, _>(evm, first)
    }
}

/// Runs calls under an inspector, or without one, which is faster.
pub(crate) struct Runner<I> {
    evm: CallEvm<I>,
    run: fn(&mut CallEvm<I>) -> RunResult,
}

impl Runner<()> {
    /// Return an EVM without an inspector, which stops when the context's meter reaches a limit.
    pub(crate) fn new(context: EvmContext, precompiles: ChangedPrecompiles) -> Self {
        let instruction = metered::instructions(context.cfg.spec, context.chain.coreth.is_some());
        // Do not preallocate frames for the deepest nesting: most calls do not nest, and a frame
        // has 32 KiB.
        let frame_stack = FrameStack::new();
        let evm = Evm { ctx: context, inspector: (), instruction, precompiles, frame_stack };
        Self { evm, run: |evm| CallHandler(PhantomData).run(evm) }
    }
}

impl<I> Runner<I> {
    /// Return the same EVM with another inspector.
    pub(crate) fn inspected_by<J: Inspector<EvmContext>>(self, inspector: J) -> Runner<J> {
        let evm = self.evm.with_inspector(inspector);
        Runner { evm, run: |evm| CallHandler(PhantomData).inspect_run(evm) }
    }

    pub(crate) fn inspector(&mut self) -> &mut I {
        &mut self.evm.inspector
    }

    pub(crate) fn context(&mut self) -> &mut EvmContext {
        &mut self.evm.ctx
    }

    /// Run a call if its sender has the funds, and discard its changes.
    pub(crate) fn run(&mut self, tx: &TxEnv) -> Result<ExecutionResult, CallFailure> {
        message::check_funds(&mut self.evm.ctx, tx)?;
        if let Some(limit) = self.evm.ctx.chain.meter.spend(message::preparation(tx)) {
            return Err(CallFailure::Interrupted(limit));
        }
        self.evm.ctx.tx = tx.clone();
        let result = (self.run)(&mut self.evm);
        self.evm.ctx.journaled_state.finalize();
        result.map_err(|error| failure(error, &self.evm.ctx))
    }

    /// Return the answer for the result of this call.
    pub(crate) fn answer(self, result: ExecutionResult, tx: &TxEnv) -> Result<Answer, CallFailure> {
        let gas = result.gas();
        let mut answer = Answer {
            output: Bytes::new(),
            gas_used: gas.tx_gas_used(),
            gas_peak: peak(&result),
            error: None,
            logs: Vec::new(),
            access_list: None,
        };
        match result {
            ExecutionResult::Success { logs, output, .. } => {
                answer.output = output.into_data();
                answer.logs = logs;
            }
            ExecutionResult::Revert { output, .. } => {
                answer.output = output;
                answer.error = Some(halt::REVERTED.into());
            }
            ExecutionResult::Halt { reason, .. } => {
                answer.error = Some(self.explain(&reason, tx)?);
            }
        }
        Ok(answer)
    }

    /// Return the reason why the EVM halted, if necessary after a second run that records the last
    /// instruction. The meter counts both as one call.
    fn explain(mut self, reason: &HaltReason, tx: &TxEnv) -> Result<String, CallFailure> {
        if matches!(
            reason,
            HaltReason::PrecompileError
                | HaltReason::PrecompileErrorWithContext(_)
                | HaltReason::CreateInitCodeSizeLimit
        ) && let Some(words) = self.context().chain.failure.take()
        {
            return Ok(words.into());
        }
        let rules = self.context().cfg.clone();
        let mut last = LastStep::default();
        if halt::needs_last_step(reason, matches!(tx.kind, TxKind::Create)) {
            let mut again = self.inspected_by(last);
            again.run(tx)?;
            last = mem::take(again.inspector());
        }
        Ok(halt::words(reason, &last, &rules))
    }
}

/// Return the failure of the transaction of a context.
pub(crate) fn failure(error: RunError, context: &EvmContext) -> CallFailure {
    match error {
        EVMError::Database(error) => error.into(),
        EVMError::Transaction(error) => message::refused(&error, &context.tx, context),
        EVMError::Custom(words) => match limits::reached(&words) {
            Some(limit) => CallFailure::Interrupted(limit),
            None => CallFailure::Rejected(words),
        },
        other => CallFailure::Rejected(other.to_string()),
    }
}

/// Return the most gas that was in use, before refunds.
pub(crate) fn peak(result: &ExecutionResult) -> u64 {
    let gas = result.gas();
    gas.total_gas_spent().max(gas.floor_gas())
}
