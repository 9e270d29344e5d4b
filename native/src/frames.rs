//! A call's frames, one inside the other, as revm runs them, with the meter read between them.

use revm::{
    Inspector,
    context_interface::context::ContextError,
    handler::{EthFrame, EvmTr, FrameInitOrResult, FrameResult, ItemOrResult},
    inspector::InspectorEvmTr,
    interpreter::{FrameInput, interpreter_action::FrameInit},
};

use crate::{
    reader::ReaderError,
    runner::{CallEvm, RunError},
};

/// Init code is looked through for jump destinations before it runs, which no fork before
/// Shanghai charges for: bytes for one gas.
const INIT_CODE_BYTES_PER_GAS: usize = 16;

type StartError = ContextError<ReaderError>;
type Next = FrameInitOrResult<EthFrame>;

/// Run the first frame and all that it calls.
pub(crate) fn run<I>(evm: &mut CallEvm<I>, first: FrameInit) -> Result<FrameResult, RunError> {
    let start = |evm: &mut CallEvm<I>, frame| evm.frame_init(frame).map(ended);
    run_by(evm, first, start, CallEvm::frame_run)
}

/// Run them under the inspector.
pub(crate) fn inspect<I: Inspector<crate::environment::EvmContext>>(
    evm: &mut CallEvm<I>,
    first: FrameInit,
) -> Result<FrameResult, RunError> {
    let start = |evm: &mut CallEvm<I>, frame| evm.inspect_frame_init(frame).map(ended);
    run_by(evm, first, start, CallEvm::inspect_frame_run)
}

/// The result of a frame that ended where it began: a precompile's, or of an account without code.
fn ended(begun: ItemOrResult<&mut EthFrame, FrameResult>) -> Option<FrameResult> {
    match begun {
        ItemOrResult::Item(_) => None,
        ItemOrResult::Result(result) => Some(result),
    }
}

fn run_by<I>(
    evm: &mut CallEvm<I>,
    first: FrameInit,
    start: impl Fn(&mut CallEvm<I>, FrameInit) -> Result<Option<FrameResult>, StartError>,
    run: impl Fn(&mut CallEvm<I>) -> Result<Next, StartError>,
) -> Result<FrameResult, RunError> {
    spend(evm, beforehand(&first))?;
    if let Some(result) = start(evm, first)? {
        return Ok(result);
    }
    loop {
        let remaining = remaining(evm);
        evm.ctx.chain.enter(remaining);
        let result = match run(evm)? {
            ItemOrResult::Item(inner) => {
                settle(evm, handed_on(&inner))?;
                spend(evm, beforehand(&inner))?;
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
fn remaining<I>(evm: &mut CallEvm<I>) -> u64 {
    evm.frame_stack.get().interpreter.gas.remaining()
}

/// The running frame stops for now, or for good; what it gave to another one was not used here.
fn settle<I>(evm: &mut CallEvm<I>, handed_on: u64) -> Result<(), RunError> {
    let remaining = remaining(evm) + handed_on;
    evm.ctx.chain.settle(remaining).map_or(Ok(()), |limit| Err(RunError::Custom(limit.into())))
}

fn spend<I>(evm: &mut CallEvm<I>, gas: u64) -> Result<(), RunError> {
    evm.ctx.chain.spend(gas).map_or(Ok(()), |limit| Err(RunError::Custom(limit.into())))
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
