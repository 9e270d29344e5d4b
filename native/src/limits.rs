//! Limits of a call, or of the runs of an estimate together: how much gas they may use, and until
//! when they may run.
//!
//! Neither is seen by the program that runs: its gas is what the message says. A meter counts what
//! was used, at every instruction that loops must pass or that costs more than a few nanoseconds
//! (`metered`), at each entry into a frame and each exit, and before each precompile (`frames`).
//! The clock is read by gas used, and at each question to the state (`reader`).

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

/// Gas between two looks at the clock: some milliseconds of the slowest work for its gas.
const CLOCK_GAS: u64 = 50_000;

/// Gas of precompiles that a second is enough for. Their gas is known before they run and the
/// clock cannot be read within, so one is not begun whose gas may outlast the deadline. The slowest
/// for their gas (pairings, sums on elliptic curves) take 20 to 40 ns for each, MODEXP 10 to 20.
const PRECOMPILE_GAS_PER_SECOND: f64 = 25e6;

/// By which part of its time a call may be late.
const TOLERANCE: f64 = 0.1;

/// What an interrupted run ends with, as revm's custom error.
pub(crate) const GAS: &str = "gas allowance used up";
pub(crate) const TIME: &str = "time limit reached";
/// What a recorded run ends with that came to too many bytes.
pub(crate) const SIZE: &str = "trace too large";

/// Which limit a custom error of revm means, if it means one.
pub(crate) fn reached(words: &str) -> Option<&'static str> {
    [GAS, TIME, SIZE].into_iter().find(|limit| *limit == words)
}

/// How far a call, or the runs of an estimate together, may go.
#[derive(Default)]
pub(crate) struct Limits<'a> {
    pub(crate) gas: Option<Allowance>,
    pub(crate) seconds: Option<f64>,
    /// The slot that it has already.
    pub(crate) turn: Option<Arc<Turn>>,
    /// Where it finds one to run beside others in; None where it keeps the interpreter lock and is alone.
    pub(crate) call_slots: Option<&'a CallSlots>,
}

/// Gas that may be used, and where it is written what was: it counts however the call ends.
pub(crate) struct Allowance {
    pub(crate) gas: u64,
    pub(crate) used: Arc<AtomicU64>,
}

/// What was used, and when a run has to end.
pub(crate) struct Meter {
    /// What may still be used.
    allowance: u64,
    /// Where that is counted; None without an allowance.
    used: Option<Arc<AtomicU64>>,
    deadline: Option<Instant>,
    /// How late a precompile may end.
    latest: Option<Instant>,
    /// Gas until the clock is read again.
    unread: u64,
    turn: Option<Arc<Turn>>,
    /// What the running frame had when the above were true.
    mark: u64,
    /// When it has less, the above have to be brought up to date.
    floor: u64,
}

impl Default for Meter {
    fn default() -> Self {
        Self::without_slot(Limits::default())
    }
}

impl Meter {
    /// A meter of a call that may begin now: waits for a slot, unless time is up before one is free.
    pub(crate) fn new(limits: Limits<'_>) -> Result<Self, CallFailure> {
        let call_slots = limits.call_slots;
        let mut meter = Self::without_slot(limits);
        if let Some(call_slots) = call_slots {
            let turn = call_slots.enter(meter.deadline).ok_or(CallFailure::Interrupted(TIME))?;
            meter.turn = Some(turn);
        }
        Ok(meter)
    }

    /// A meter of a call that waits for no slot.
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

    /// A frame with so much gas begins or goes on.
    pub(crate) fn enter(&mut self, remaining: u64) {
        self.mark = remaining;
        self.floor = remaining.saturating_sub(self.allowance.min(self.unread));
    }

    /// The frame that was entered has so much gas now; which limit it reached, if one.
    pub(crate) fn settle(&mut self, remaining: u64) -> Option<&'static str> {
        let reached = self.spend(self.mark.saturating_sub(remaining));
        self.enter(remaining);
        reached
    }

    /// Whether the running frame must be settled.
    #[inline]
    pub(crate) fn is_due(&self, remaining: u64) -> bool {
        remaining < self.floor
    }

    /// What the running frame may use now that it has so much gas.
    #[inline]
    pub(crate) fn left(&self, remaining: u64) -> u64 {
        self.allowance.saturating_sub(self.mark.saturating_sub(remaining))
    }

    /// So much was used; which limit that reached, if one.
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

    /// How much gas a precompile may use, and the limit that is reached if it needs more.
    pub(crate) fn for_precompile(&self) -> (u64, &'static str) {
        let time = self.latest.map_or(u64::MAX, |latest| {
            let left = latest.saturating_duration_since(Instant::now());
            (left.as_secs_f64() * PRECOMPILE_GAS_PER_SECOND) as u64
        });
        if time < self.allowance { (time, TIME) } else { (self.allowance, GAS) }
    }
}

/// A time beyond what the clock can tell is none.
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
