//! The nested frames of a run, executed by revm, with checks of the meter between them and with
//! EIP-7610: no contract is created at an address with storage.

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

use crate::{environment::EvmContext, reader::ReaderError, stateful};

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

/// Run the first frame and all frames that it calls.
pub(crate) fn run<I, P>(evm: &mut EvmOf<I, P>, first: FrameInit) -> Result<FrameResult, RunError>
where
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    run_by(evm, first, start, EvmOf::frame_run)
}

/// Run the frames under the inspector.
pub(crate) fn inspect<I, P>(
    evm: &mut EvmOf<I, P>,
    first: FrameInit,
) -> Result<FrameResult, RunError>
where
    I: Inspector<EvmContext>,
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    let start = |evm: &mut EvmOf<I, P>, frame: FrameInit| match refused(&mut evm.ctx, &frame)? {
        None => evm.inspect_frame_init(frame).map(ended),
        collided => Ok(collided),
    };
    run_by(evm, first, start, EvmOf::inspect_frame_run)
}

/// Start a frame; return its result if it ended immediately.
pub(crate) fn start<I, P>(
    evm: &mut EvmOf<I, P>,
    frame: FrameInit,
) -> Result<Option<FrameResult>, StartError>
where
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    match refused(&mut evm.ctx, &frame)? {
        None => evm.frame_init(frame).map(ended),
        collided => Ok(collided),
    }
}

/// Return the result of a frame that ended immediately: of a precompile, or of an account without
/// code.
fn ended(begun: ItemOrResult<&mut EthFrame, FrameResult>) -> Option<FrameResult> {
    match begun {
        ItemOrResult::Item(_) => None,
        ItemOrResult::Result(result) => Some(result),
    }
}

/// Run frames one by one. `start` starts a frame and returns its result if it ended immediately;
/// `run` continues the innermost frame until it calls another or ends.
pub(crate) fn run_by<I, P>(
    evm: &mut EvmOf<I, P>,
    first: FrameInit,
    start: impl Fn(&mut EvmOf<I, P>, FrameInit) -> Result<Option<FrameResult>, StartError>,
    run: impl Fn(&mut EvmOf<I, P>) -> Result<Next, StartError>,
) -> Result<FrameResult, RunError>
where
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    spend(&mut evm.ctx, upfront_cost(&first))?;
    if let Some(result) = start(evm, first)? {
        return Ok(result);
    }
    loop {
        let remaining = remaining(evm);
        evm.ctx.chain.meter.enter(remaining);
        let result = match run(evm)? {
            ItemOrResult::Item(inner) => {
                settle(evm, handed_on(&inner))?;
                spend(&mut evm.ctx, upfront_cost(&inner))?;
                match start(evm, inner)? {
                    None => continue,
                    Some(result) => result,
                }
            }
            ItemOrResult::Result(result) => {
                settle(evm, 0)?;
                result
            }
        };
        if let Some(result) = evm.frame_return_result(result)? {
            return Ok(result);
        }
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

/// Return the result of a creation that this crate refuses in place of revm.
fn refused(context: &mut EvmContext, frame: &FrameInit) -> Result<Option<FrameResult>, StartError> {
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
