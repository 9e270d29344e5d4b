//! The nested frames of a run, executed by revm, with checks of the meter between them, with
//! EIP-7610: no contract is created at an address with storage, and with the calls of coreth's
//! contract of native assets.

use revm::{
    Inspector,
    context::Evm,
    context_interface::{
        ContextTr, JournalTr,
        context::ContextError,
        journaled_state::account::JournaledAccountTr,
        result::{EVMError, InvalidTransaction},
    },
    handler::{
        EthFrame, EvmTr, FrameInitOrResult, FrameResult, ItemOrResult, PrecompileProvider,
        instructions::EthInstructions,
    },
    inspector::InspectorEvmTr,
    interpreter::{
        CreateInputs, CreateOutcome, FrameInput, Gas, InstructionResult, InterpreterResult,
        interpreter::EthInterpreter, interpreter_action::FrameInit,
    },
    primitives::{Bytes, KECCAK_EMPTY, constants::CALL_STACK_LIMIT},
};

use crate::{
    assets::{self, Begun},
    environment::EvmContext,
    reader::ReaderError,
    stateful,
};

/// Bytes of init code per unit of gas that the meter counts for finding jump destinations, which
/// forks before Shanghai do not charge for.
const INIT_CODE_BYTES_PER_GAS: usize = 16;

/// An EVM on this crate's context, with some inspector and precompiles.
pub(crate) type EvmOf<I, P> =
    Evm<EvmContext, I, EthInstructions<EthInterpreter, EvmContext>, P, EthFrame<EthInterpreter>>;

/// The reason why a run failed.
pub(crate) type RunError = EVMError<ReaderError, InvalidTransaction>;

/// The reason why a frame could not start or continue.
pub(crate) type StartError = ContextError<ReaderError>;
/// The event at which a frame stops: a call of another frame, or its result.
pub(crate) type Next = FrameInitOrResult<EthFrame>;

/// How the frames of a run are started, continued and followed.
pub(crate) trait Run<I, P> {
    /// Follow the start of a frame, even if it fails to start. `is_own`: the contract of native assets
    /// calls it.
    fn enter(evm: &mut EvmOf<I, P>, frame: &FrameInit, is_own: bool) -> Result<(), StartError>;

    /// Start a frame; return its result if it ended immediately.
    fn start(evm: &mut EvmOf<I, P>, frame: FrameInit) -> Result<Option<FrameResult>, StartError>;

    /// Continue the innermost frame until it calls another or ends, and follow its end.
    fn resume(evm: &mut EvmOf<I, P>) -> Result<Next, StartError>;

    /// Follow the end of a frame that ran no code. `is_own`: it is a call of the contract of native
    /// assets, which ends as the call that it made.
    fn exit(evm: &mut EvmOf<I, P>, result: &FrameResult, is_own: bool) -> Result<(), StartError>;
}

/// Runs without an inspector.
pub(crate) struct Plain;

/// Runs under revm's inspector.
pub(crate) struct Inspected;

impl<I, P> Run<I, P> for Plain
where
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    fn enter(_: &mut EvmOf<I, P>, _: &FrameInit, _: bool) -> Result<(), StartError> {
        Ok(())
    }

    fn start(evm: &mut EvmOf<I, P>, frame: FrameInit) -> Result<Option<FrameResult>, StartError> {
        evm.frame_init(frame).map(ended)
    }

    fn resume(evm: &mut EvmOf<I, P>) -> Result<Next, StartError> {
        evm.frame_run()
    }

    fn exit(_: &mut EvmOf<I, P>, _: &FrameResult, _: bool) -> Result<(), StartError> {
        Ok(())
    }
}

impl<I, P> Run<I, P> for Inspected
where
    I: Inspector<EvmContext>,
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    fn enter(_: &mut EvmOf<I, P>, _: &FrameInit, _: bool) -> Result<(), StartError> {
        Ok(())
    }

    fn start(evm: &mut EvmOf<I, P>, frame: FrameInit) -> Result<Option<FrameResult>, StartError> {
        evm.inspect_frame_init(frame).map(ended)
    }

    fn resume(evm: &mut EvmOf<I, P>) -> Result<Next, StartError> {
        evm.inspect_frame_run()
    }

    fn exit(_: &mut EvmOf<I, P>, _: &FrameResult, _: bool) -> Result<(), StartError> {
        Ok(())
    }
}

/// Return the result of a frame that ended immediately: of a precompile, or of an account without
/// code.
pub(crate) fn ended(begun: ItemOrResult<&mut EthFrame, FrameResult>) -> Option<FrameResult> {
    match begun {
        ItemOrResult::Item(_) => None,
        ItemOrResult::Result(result) => Some(result),
    }
}

/// Run the first frame and all frames that it calls, one by one.
pub(crate) fn run<R, I, P>(evm: &mut EvmOf<I, P>, first: FrameInit) -> Result<FrameResult, RunError>
where
    R: Run<I, P>,
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    evm.ctx.chain.asset_calls.clear();
    spend(&mut evm.ctx, upfront_cost(&first))?;
    if let Some(result) = begin::<R, I, P>(evm, first)? {
        return Ok(result);
    }
    loop {
        let remaining = remaining(evm);
        evm.ctx.chain.meter.enter(remaining);
        let result = match R::resume(evm)? {
            ItemOrResult::Item(inner) => {
                settle(evm, handed_on(&inner))?;
                spend(&mut evm.ctx, upfront_cost(&inner))?;
                match begin::<R, I, P>(evm, inner)? {
                    None => continue,
                    Some(result) => result,
                }
            }
            ItemOrResult::Result(result) => {
                settle(evm, 0)?;
                finish::<R, I, P>(evm, result)?
            }
        };
        if let Some(result) = evm.frame_return_result(result)? {
            return Ok(result);
        }
    }
}

/// Begin a frame; return its result if it ended immediately.
fn begin<R, I, P>(
    evm: &mut EvmOf<I, P>,
    mut frame: FrameInit,
) -> Result<Option<FrameResult>, StartError>
where
    R: Run<I, P>,
{
    let mut is_own = false;
    let result = loop {
        R::enter(evm, &frame, is_own)?;
        if let Some(result) = refused(&mut evm.ctx, &frame)? {
            break result;
        }
        let height = height(evm);
        match assets::begin(&mut evm.ctx, frame, height)? {
            Begun::Other(frame) => match R::start(evm, frame)? {
                Some(result) => break result,
                None => {
                    assets::empty_created(evm)?;
                    return Ok(None);
                }
            },
            Begun::Ended(result) => break result,
            Begun::Calls(inner) => (frame, is_own) = (inner, true),
        }
    };
    R::exit(evm, &result, false)?;
    finish::<R, I, P>(evm, result).map(Some)
}

/// Return a frame's result; if the contract of native assets called it, that contract's.
fn finish<R, I, P>(
    evm: &mut EvmOf<I, P>,
    mut result: FrameResult,
) -> Result<FrameResult, StartError>
where
    R: Run<I, P>,
{
    while !evm.ctx.chain.asset_calls.is_empty() {
        let height = height(evm);
        let calls = &mut evm.ctx.chain.asset_calls;
        let Some(call) = calls.pop_if(|call| call.height == height) else { break };
        result = assets::end(&mut evm.ctx, call, result);
        R::exit(evm, &result, true)?;
    }
    Ok(result)
}

/// Return how many frames run code.
fn height<I, P>(evm: &mut EvmOf<I, P>) -> usize {
    match evm.frame_stack.index() {
        None => 0,
        Some(top) => top + usize::from(!evm.frame_stack.get().is_finished()),
    }
}

/// Return the remaining gas of the running frame.
fn remaining<I, P>(evm: &mut EvmOf<I, P>) -> u64 {
    evm.frame_stack.get().interpreter.gas.remaining()
}

/// Update the meter when the running frame pauses or ends; gas handed on to another frame was not
/// used here.
fn settle<I, P>(evm: &mut EvmOf<I, P>, handed_on: u64) -> Result<(), RunError> {
    let remaining = remaining(evm) + handed_on;
    let reached = evm.ctx.chain.meter.settle(remaining);
    reached.map_or(Ok(()), |limit| Err(RunError::Custom(limit.into())))
}

fn spend(context: &mut EvmContext, gas: u64) -> Result<(), RunError> {
    let reached = context.chain.meter.spend(gas);
    reached.map_or(Ok(()), |limit| Err(RunError::Custom(limit.into())))
}

fn handed_on(frame: &FrameInit) -> u64 {
    match &frame.frame_input {
        FrameInput::Call(inputs) => inputs.gas_limit,
        FrameInput::Create(inputs) => inputs.gas_limit(),
        FrameInput::Empty => 0,
    }
}

/// Return the metered cost of a frame before its first instruction.
fn upfront_cost(frame: &FrameInit) -> u64 {
    match &frame.frame_input {
        FrameInput::Create(inputs) => (inputs.init_code().len() / INIT_CODE_BYTES_PER_GAS) as u64,
        _ => 0,
    }
}

/// Return the result of a frame that this crate does not leave to revm: of a creation that is
/// refused, or of a call that does nothing.
fn refused(context: &mut EvmContext, frame: &FrameInit) -> Result<Option<FrameResult>, StartError> {
    if let Some(absent) = assets::absent(context, frame) {
        return Ok(Some(absent));
    }
    match collision(context, frame)? {
        None => stateful::denied(context, frame),
        collided => Ok(collided),
    }
}

/// Return a collision for a creation at an address with storage, even of an account without nonce
/// and code (EIP-7610), as if the account had code; revm checks only nonce and code.
///
/// The state is queried only if the account exists and has neither nonce nor code.
fn collision(
    context: &mut EvmContext,
    frame: &FrameInit,
) -> Result<Option<FrameResult>, StartError> {
    let FrameInput::Create(inputs) = &frame.frame_input else { return Ok(None) };
    if frame.depth > CALL_STACK_LIMIT as usize {
        return Ok(None);
    }
    let journal = context.journal_mut();
    let caller = journal.load_account_mut(inputs.caller())?;
    let nonce = caller.nonce();
    if *caller.balance() < inputs.value() || nonce == u64::MAX {
        return Ok(None);
    }
    let address = inputs.created_address(nonce);
    let there = journal.load_account(address)?;
    if there.info.nonce != 0 || there.info.code_hash != KECCAK_EMPTY {
        return Ok(None);
    }
    let written = there.storage.values().any(|slot| !slot.present_value.is_zero());
    if context.chain.coreth.is_some() {
        // The creation deletes balances of other assets. The state notes whether there are any.
        context.db_mut().had_storage(address)?;
        return Ok(None);
    }
    if !written && !context.db_mut().has_storage(address)? {
        return Ok(None);
    }
    context.journal_mut().load_account_mut(inputs.caller())?.bump_nonce();
    Ok(Some(collided(inputs)))
}

fn collided(inputs: &CreateInputs) -> FrameResult {
    FrameResult::Create(CreateOutcome {
        result: InterpreterResult {
            result: InstructionResult::CreateCollision,
            output: Bytes::new(),
            gas: Gas::new_with_regular_gas_and_reservoir(inputs.gas_limit(), inputs.reservoir()),
        },
        address: None,
        charged_create_state_gas: inputs.charged_create_state_gas(),
    })
}
