//! Limits of a call, or of all runs of an estimate together: the gas that they may use, and a
//! deadline.
//!
//! The running program sees neither limit: its gas is that of the message. A meter counts the used
//! gas at every instruction that loops must pass or that takes more than a few nanoseconds
//! (`metered`), at each entry into a frame and each exit, and before each precompile (`frames`).
//! The clock is checked after a certain amount of gas, and at each query to the state (`reader`).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use revm::{context_interface::context::ContextError, interpreter::InstructionResult};

use crate::{
    call::CallFailure,
    environment::EvmContext,
    slots::{CallSlots, Turn},
};

/// Gas between two checks of the clock: at most a few milliseconds of work.
const CLOCK_GAS: u64 = 50_000;

/// Maximum gas of precompiles that a second is enough for. Their gas is known before they run, and the
/// clock cannot be checked while they run, so a precompile is not started if its gas may take it
/// past the deadline. The slowest per gas (pairings, sums on elliptic curves) take 20 to 40 ns per
/// gas, MODEXP 10 to 20.
const PRECOMPILE_GAS_PER_SECOND: f64 = 25e6;

/// The share of its time by which a call may be late.
const TOLERANCE: f64 = 0.1;

/// The custom errors of revm that end an interrupted run.
pub(crate) const GAS: &str = "gas allowance used up";
pub(crate) const TIME: &str = "time limit reached";
/// The custom error that ends a recorded run with too many bytes.
pub(crate) const SIZE: &str = "trace too large";

/// Return the limit that a custom error of revm means, if any.
pub(crate) fn reached(words: &str) -> Option<&'static str> {
    [GAS, TIME, SIZE].into_iter().find(|limit| *limit == words)
}

/// The limits of a call, or of all runs of an estimate together.
#[derive(Default)]
pub(crate) struct Limits<'a> {
    pub(crate) gas: Option<Allowance>,
    pub(crate) seconds: Option<f64>,
    /// The call slot that it already has.
    pub(crate) turn: Option<Arc<Turn>>,
    /// The slots of which it takes one. None if it keeps the interpreter lock, so that no others
    /// run.
    pub(crate) call_slots: Option<&'a CallSlots>,
}

/// Gas that may be used, and a counter for the used gas, which is updated however the call ends.
pub(crate) struct Allowance {
    pub(crate) gas: u64,
    pub(crate) used: Arc<AtomicU64>,
}

/// Counts the used gas, and ends a run that reaches a limit.
pub(crate) struct Meter {
    /// Remaining gas of the allowance.
    allowance: u64,
    /// Counter of the used gas; None without an allowance.
    used: Option<Arc<AtomicU64>>,
    deadline: Option<Instant>,
    /// The latest time at which a precompile may end.
    latest: Option<Instant>,
    /// Gas until the clock is checked again.
    unread: u64,
    turn: Option<Arc<Turn>>,
    /// Gas of the running frame when these values were last updated.
    mark: u64,
    /// Gas of the running frame below which these values must be updated.
    floor: u64,
}

impl Default for Meter {
    fn default() -> Self {
        Self::without_slot(Limits::default())
    }
}

impl Meter {
    /// Return a meter for a call that may start now; wait for a slot, unless the deadline comes
    /// first.
    pub(crate) fn new(limits: Limits<'_>) -> Result<Self, CallFailure> {
        let call_slots = limits.call_slots;
        let mut meter = Self::without_slot(limits);
        if let Some(call_slots) = call_slots {
            let turn = call_slots.enter(meter.deadline).ok_or(CallFailure::Interrupted(TIME))?;
            meter.turn = Some(turn);
        }
        Ok(meter)
    }

    /// Return a meter for a call that does not wait for a slot.
    fn without_slot(limits: Limits<'_>) -> Self {
        let (allowance, used) =
            limits.gas.map_or((u64::MAX, None), |given| (given.gas, Some(given.used)));
        Self {
            allowance,
            used,
            deadline: limits.seconds.and_then(from_now),
            latest: limits.seconds.and_then(|seconds| from_now(seconds * (1.0 + TOLERANCE))),
            unread: CLOCK_GAS,
            turn: limits.turn,
            mark: 0,
            floor: 0,
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn turn(&self) -> Option<Arc<Turn>> {
        self.turn.clone()
    }

    /// Start metering a frame with this much gas, when it starts or continues.
    pub(crate) fn enter(&mut self, remaining: u64) {
        self.mark = remaining;
        self.floor = remaining.saturating_sub(self.allowance.min(self.unread));
    }

    /// Account for the gas that the running frame has used so far; return the limit that was
    /// reached, if any.
    pub(crate) fn settle(&mut self, remaining: u64) -> Option<&'static str> {
        let reached = self.spend(self.mark.saturating_sub(remaining));
        self.enter(remaining);
        reached
    }

    /// Return whether `settle` must be called for the running frame.
    #[inline]
    pub(crate) fn is_due(&self, remaining: u64) -> bool {
        remaining < self.floor
    }

    /// Return how much gas the running frame may still use within the allowance.
    #[inline]
    pub(crate) fn left(&self, remaining: u64) -> u64 {
        self.allowance.saturating_sub(self.mark.saturating_sub(remaining))
    }

    /// Account for used gas; return the limit that was reached, if any.
    pub(crate) fn spend(&mut self, gas: u64) -> Option<&'static str> {
        if let Some(used) = &self.used {
            used.fetch_add(gas, Ordering::Relaxed);
            let Some(left) = self.allowance.checked_sub(gas) else {
                return Some(GAS);
            };
            self.allowance = left;
        }
        match self.unread.checked_sub(gas) {
            Some(unread) => {
                self.unread = unread;
                None
            }
            None => {
                self.unread = CLOCK_GAS;
                let in_time = self.turn.as_ref().is_none_or(|turn| turn.take_turns())
                    && self.deadline.is_none_or(|deadline| Instant::now() < deadline);
                if in_time { None } else { Some(TIME) }
            }
        }
    }

    /// Return how much gas a precompile may use, and the limit that is reached if it needs more.
    pub(crate) fn for_precompile(&self) -> (u64, &'static str) {
        let time = self.latest.map_or(u64::MAX, |latest| {
            let left = latest.saturating_duration_since(Instant::now());
            (left.as_secs_f64() * PRECOMPILE_GAS_PER_SECOND) as u64
        });
        if time < self.allowance { (time, TIME) } else { (self.allowance, GAS) }
    }
}

/// Return the time after some seconds, or None if it is beyond the clock's range.
fn from_now(seconds: f64) -> Option<Instant> {
    let beyond = if seconds > 0.0 { Duration::MAX } else { Duration::ZERO };
    let duration = Duration::try_from_secs_f64(seconds).unwrap_or(beyond);
    Instant::now().checked_add(duration)
}

/// End the run from within an instruction.
#[cold]
pub(crate) fn interrupt(context: &mut EvmContext, limit: &str) -> InstructionResult {
    context.error = Err(ContextError::Custom(limit.into()));
    InstructionResult::FatalExternalError
}
