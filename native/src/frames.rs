//! Frames, one inside the other, as revm runs them; with the meter read between them, and with
//! EIP-7610: nothing is created where there is storage.

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

use crate::{environment::EvmContext, reader::ReaderError};

/// Init code is looked through for jump destinations before it runs, which no fork before
/// Shanghai charges for: bytes for one gas.
const INIT_CODE_BYTES_PER_GAS: usize = 16;

/// An EVM on our context, with an inspector and precompiles of some kind.
pub(crate) type EvmOf<I, P> =
    Evm<EvmContext, I, EthInstructions<EthInterpreter, EvmContext>, P, EthFrame<EthInterpreter>>;

/// Why a run came to nothing.
pub(crate) type RunError = EVMError<ReaderError, InvalidTransaction>;

/// Why a frame could not begin or go on.
pub(crate) type StartError = ContextError<ReaderError>;
/// What a frame stops at: another one that it calls, or its result.
pub(crate) type Next = FrameInitOrResult<EthFrame>;

/// Run the first frame and all that it calls.
pub(crate) fn run<I, P>(evm: &mut EvmOf<I, P>, first: FrameInit) -> Result<FrameResult, RunError>
where
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    run_by(evm, first, start, EvmOf::frame_run)
}

/// Run them under the inspector.
pub(crate) fn inspect<I, P>(
    evm: &mut EvmOf<I, P>,
    first: FrameInit,
) -> Result<FrameResult, RunError>
where
    I: Inspector<EvmContext>,
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    let start = |evm: &mut EvmOf<I, P>, frame: FrameInit| match collision(&mut evm.ctx, &frame)? {
        None => evm.inspect_frame_init(frame).map(ended),
        collided => Ok(collided),
    };
    run_by(evm, first, start, EvmOf::inspect_frame_run)
}

/// Begin a frame; how it ended, if it did at once.
pub(crate) fn start<I, P>(
    evm: &mut EvmOf<I, P>,
    frame: FrameInit,
) -> Result<Option<FrameResult>, StartError>
where
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    match collision(&mut evm.ctx, &frame)? {
        None => evm.frame_init(frame).map(ended),
        collided => Ok(collided),
    }
}

/// The result of a frame that ended where it began: a precompile's, or of an account without code.
fn ended(begun: ItemOrResult<&mut EthFrame, FrameResult>) -> Option<FrameResult> {
    match begun {
        ItemOrResult::Item(_) => None,
        ItemOrResult::Result(result) => Some(result),
    }
}

/// Run frames one by one: `start` begins one and says how it ended if it did at once, `run` goes on
/// with the innermost until it calls another or ends.
pub(crate) fn run_by<I, P>(
    evm: &mut EvmOf<I, P>,
    first: FrameInit,
    start: impl Fn(&mut EvmOf<I, P>, FrameInit) -> Result<Option<FrameResult>, StartError>,
    run: impl Fn(&mut EvmOf<I, P>) -> Result<Next, StartError>,
) -> Result<FrameResult, RunError>
where
    P: PrecompileProvider<EvmContext, Output = InterpreterResult>,
{
    spend(&mut evm.ctx, beforehand(&first))?;
    if let Some(result) = start(evm, first)? {
        return Ok(result);
    }
    loop {
        let remaining = remaining(evm);
        evm.ctx.chain.meter.enter(remaining);
        let result = match run(evm)? {
            ItemOrResult::Item(inner) => {
                settle(evm, handed_on(&inner))?;
                spend(&mut evm.ctx, beforehand(&inner))?;
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

/// Gas of the running frame.
fn remaining<I, P>(evm: &mut EvmOf<I, P>) -> u64 {
    evm.frame_stack.get().interpreter.gas.remaining()
}

/// The running frame stops for now, or for good; what it gave to another one was not used here.
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

/// What a frame costs before its first instruction.
fn beforehand(frame: &FrameInit) -> u64 {
    match &frame.frame_input {
        FrameInput::Create(inputs) => (inputs.init_code().len() / INIT_CODE_BYTES_PER_GAS) as u64,
        _ => 0,
    }
}

/// The result of a creation where there is storage already, which may be of an account without nonce
/// and code (EIP-7610): as if there were code. revm looks at nonce and code alone.
///
/// The state is only asked when those are in the way of nothing, and the account exists.
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
