//! Calls at the head, in the environment that Python has kept, on what is remembered of the state.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use revm::primitives::{Address, Bytes};

use crate::{
    call::{CallFailure, call},
    environment::Environment,
    hot::{memory::Head, request},
    limits::{Allowance, Limits},
    message::Message,
    reader::Reader,
};

/// Gas of a call that is run once more on an event loop, by Python, when it comes to nothing here.
const TWICE: u64 = 20_000;

/// Where calls at a height are run.
pub(crate) struct Surroundings {
    pub(crate) number: u64,
    pub(crate) environment: Environment,
    /// Gas that one of them has at most.
    pub(crate) gas_cap: u64,
    /// An account of which only Python may say anything.
    pub(crate) watched: Address,
}

/// What the calls of one request may use together.
pub(crate) struct Share {
    pub(crate) gas: u64,
    pub(crate) seconds: f64,
}

/// What came of a call.
pub(crate) enum Outcome {
    Output(Bytes),
    /// It takes too long for an event loop.
    TooLong,
    /// It is for Python to say.
    Unknown,
}

/// Run a call, and take what it used from the share.
pub(crate) fn run(
    surroundings: &Surroundings,
    state: Head,
    wanted: request::Message,
    share: &mut Share,
) -> Outcome {
    let gas = wanted.gas.unwrap_or(surroundings.gas_cap).min(surroundings.gas_cap);
    let message = Message::plain(wanted.from, wanted.to, gas, wanted.value, wanted.data);
    let used = Arc::new(AtomicU64::new(0));
    let allowance = Allowance { gas: share.gas, used: Arc::clone(&used) };
    let limits = Limits { gas: Some(allowance), seconds: Some(share.seconds), call_slots: None };
    let reader = Reader::of_memory(state, surroundings.watched);
    let outcome = call(&surroundings.environment, message, reader, limits, false);
    let used = used.load(Ordering::Relaxed);
    share.gas = share.gas.saturating_sub(used);
    match outcome {
        Ok(answer) if answer.error.is_none() => Outcome::Output(answer.output),
        Err(CallFailure::Interrupted(_)) => Outcome::TooLong,
        _ if used > TWICE => Outcome::TooLong,
        _ => Outcome::Unknown,
    }
}
