//! The least gas with which a call succeeds, found by bisection like in geth. Each account and slot
//! is read from the state only once, however many times the call is run.

use revm::{context::TxEnv, context_interface::result::ExecutionResult, primitives::TxKind};

use crate::{
    call::{Answer, CallFailure, prepare},
    environment::Environment,
    halt,
    limits::Limits,
    message::Message,
    reader::Reader,
    runner::{self, Runner},
};

/// Gas of a plain value transfer.
pub(crate) const TRANSFER_GAS: u64 = 21_000;

/// Gas stipend of a call with value (EIP-150).
const CALL_STIPEND: u64 = 2_300;

/// The result of an estimate.
pub(crate) enum Estimate {
    /// A gas limit with which the call succeeds.
    Gas(u64),
    /// The message's gas limit is not enough.
    NotEnough,
    /// The call fails with the message's gas limit, for another reason than a lack of gas.
    Fails(Answer),
}

/// Find the least gas limit up to the message's; the result may be too high by the given ratio.
pub(crate) fn estimate(
    environment: &Environment,
    message: Message,
    reader: Reader,
    limits: Limits<'_>,
    error_ratio: f64,
) -> Result<Estimate, CallFailure> {
    let (mut runner, mut tx) = prepare(environment, message, reader, limits)?;
    let mut highest = tx.gas_limit;
    if is_plain(&mut runner, &tx)? && transfers(&mut runner, &mut tx)? {
        return Ok(Estimate::Gas(TRANSFER_GAS));
    }
    let result = match attempt(&mut runner, &mut tx, highest)? {
        Some(result) if result.is_success() => result,
        Some(result) => return Ok(failed(runner.answer(result, &tx)?)),
        None => return Ok(Estimate::NotEnough),
    };
    let mut lowest = result.gas().tx_gas_used() - 1;
    let guess = ((u128::from(runner::peak(&result)) + u128::from(CALL_STIPEND)) * 64 / 63)
        .try_into()
        .unwrap_or(u64::MAX);
    if guess < highest {
        narrow(&mut runner, &mut tx, guess, &mut lowest, &mut highest)?;
    }
    while lowest + 1 < highest && (highest - lowest) as f64 / highest as f64 >= error_ratio {
        // Most calls need little more than they use, so try the low side first.
        let middle = (lowest + (highest - lowest) / 2).min(lowest.saturating_mul(2));
        narrow(&mut runner, &mut tx, middle, &mut lowest, &mut highest)?;
    }
    Ok(Estimate::Gas(highest))
}

fn failed(answer: Answer) -> Estimate {
    if answer.error.as_ref().is_some_and(|words| words.starts_with(halt::OUT_OF_GAS)) {
        return Estimate::NotEnough;
    }
    Estimate::Fails(answer)
}

/// Return whether a call may be a plain transfer: no data, and no code at the recipient.
fn is_plain<I>(runner: &mut Runner<I>, tx: &TxEnv) -> Result<bool, CallFailure> {
    match tx.kind {
        TxKind::Call(to) if tx.data.is_empty() => {
            Ok(!runner.context().journaled_state.database.has_code(to)?)
        }
        _ => Ok(false),
    }
}

/// Return whether the call succeeds with the gas of a transfer. It is run because an access list,
/// for example, makes a transfer more expensive. A rejection is reported by the later run with all
/// gas.
fn transfers<I>(runner: &mut Runner<I>, tx: &mut TxEnv) -> Result<bool, CallFailure> {
    match attempt(runner, tx, TRANSFER_GAS) {
        Ok(result) => Ok(result.is_some_and(|result| result.is_success())),
        Err(CallFailure::Rejected(_)) => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn narrow<I>(
    runner: &mut Runner<I>,
    tx: &mut TxEnv,
    gas: u64,
    lowest: &mut u64,
    highest: &mut u64,
) -> Result<(), CallFailure> {
    match attempt(runner, tx, gas)? {
        Some(result) if result.is_success() => *highest = gas,
        _ => *lowest = gas,
    }
    Ok(())
}

/// Run with a gas limit; return None if it is below the intrinsic gas.
fn attempt<I>(
    runner: &mut Runner<I>,
    tx: &mut TxEnv,
    gas: u64,
) -> Result<Option<ExecutionResult>, CallFailure> {
    tx.gas_limit = gas;
    match runner.run(tx) {
        Ok(result) => Ok(Some(result)),
        Err(CallFailure::GasTooLow(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}
