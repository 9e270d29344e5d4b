//! Calls at the head, in an environment cached by Python, on the state in memory.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use revm::primitives::{Address, Bytes, map::DefaultHashBuilder};

use crate::{
    call::{CallFailure, call},
    environment::Environment,
    estimate::{Estimate, TRANSFER_GAS, estimate as find_gas},
    hot::{memory::Head, request},
    limits::{Allowance, Limits},
    message::Message,
    reader::{Notes, Reader},
    slots::Turn,
};

/// Maximum gas of a call that Python may run again on an event loop after it failed here.
const TWICE: u64 = 20_000;

/// Number of calls of a kind that are skipped after calls of that kind took too long, before one is
/// tried again.
const PASSED: u8 = 15;

/// Number of consecutive calls of a kind that take too long before others are skipped; the first
/// may have been slowed down by the machine.
const STRIKES: u8 = 2;

/// Maximum number of kinds of slow calls that are recorded.
const KINDS: usize = 1_024;

/// The purpose of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    Call,
    Estimate,
}

/// Purpose, recipient, length of the data and selector. Calls of one kind are expected to take the
/// same time.
pub(crate) type Kind = (Purpose, Address, usize, [u8; 4]);

/// Kinds of calls that recently took too long for an event loop, where trying them again would be
/// wasted work.
#[derive(Default)]
pub(crate) struct SlowKinds {
    kinds: HashMap<Kind, Strikes, DefaultHashBuilder>,
    /// Whether calls that failed for another reason count too.
    counts_all: bool,
}

#[derive(Default)]
struct Strikes {
    count: u8,
    /// Number of calls that are still to be skipped.
    passes: u8,
}

impl SlowKinds {
    /// For calls that are started again elsewhere whenever they fail here.
    pub(crate) fn of_all_that_fail() -> Self {
        Self { counts_all: true, ..Self::default() }
    }

    pub(crate) fn kind(message: &request::Message, purpose: Purpose) -> Kind {
        let mut selector = [0; 4];
        let known = message.data.len().min(selector.len());
        selector[..known].copy_from_slice(&message.data[..known]);
        (purpose, message.to, message.data.len(), selector)
    }

    /// Return whether to skip a call, and count it.
    pub(crate) fn passes(&mut self, kind: &Kind) -> bool {
        let Some(strikes) = self.kinds.get_mut(kind) else { return false };
        let passes = strikes.passes > 0;
        strikes.passes -= u8::from(passes);
        passes
    }

    /// Record the result of a call.
    pub(crate) fn note<T>(&mut self, kind: Kind, ran: &CallOutcome<T>) {
        if ran.found.is_some() {
            self.fitted(&kind);
        } else if ran.late || self.counts_all {
            self.strike(kind);
        }
    }

    fn strike(&mut self, kind: Kind) {
        if self.kinds.len() >= KINDS {
            self.kinds.clear();
        }
        let strikes = self.kinds.entry(kind).or_default();
        strikes.count = strikes.count.saturating_add(1);
        if strikes.count >= STRIKES {
            strikes.passes = PASSED;
        }
    }

    fn fitted(&mut self, kind: &Kind) {
        if !self.kinds.is_empty() {
            self.kinds.remove(kind);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.kinds.clear();
    }
}

/// Kinds of calls that are long enough for another thread if calls of other connections arrive at
/// the same time.
#[derive(Default)]
pub(crate) struct LongKinds(HashSet<Kind, DefaultHashBuilder>);

impl LongKinds {
    /// Return whether the last call of a kind was long.
    pub(crate) fn contains(&self, kind: &Kind) -> bool {
        self.0.contains(kind)
    }

    pub(crate) fn note(&mut self, kind: Kind, is_long: bool) {
        if is_long {
            if self.0.len() >= KINDS {
                self.0.clear();
            }
            self.0.insert(kind);
        } else if !self.0.is_empty() {
            self.0.remove(&kind);
        }
    }
}

/// The environment of calls at a height.
pub(crate) struct CallEnvironment {
    pub(crate) number: u64,
    pub(crate) environment: Environment,
    /// Maximum gas of one call.
    pub(crate) gas_cap: u64,
    /// An account that only Python may read.
    pub(crate) watched: Address,
}

impl CallEnvironment {
    /// Return a request's call as the EVM's message.
    fn message(&self, wanted: request::Message) -> Message {
        let gas = wanted.gas.unwrap_or(self.gas_cap).min(self.gas_cap);
        Message::plain(wanted.from, wanted.to, gas, wanted.value, wanted.data)
    }
}

/// The parameters of gas estimates at a height.
#[derive(Clone)]
pub(crate) struct Estimates {
    /// The gas limit that is tried first if the message has none, and the largest one that is
    /// tried.
    pub(crate) gas: u64,
    pub(crate) most_gas: u64,
    /// The ratio by which an estimate may be too high.
    pub(crate) error_ratio: f64,
    /// Whether requests that name no block mean this height.
    pub(crate) is_default: bool,
}

/// The limits that the calls of one request share.
pub(crate) struct Share {
    /// Remaining gas; None: unlimited.
    pub(crate) gas: Option<u64>,
    pub(crate) seconds: f64,
    /// The call slot of a thread, shared in turns with other threads.
    pub(crate) turn: Option<Arc<Turn>>,
}

/// The result of a call.
pub(crate) struct CallOutcome<T> {
    /// None: Python must answer.
    pub(crate) found: Option<T>,
    /// Whether it took too long to be tried here.
    pub(crate) late: bool,
    /// Whether it needed state that is not in memory.
    pub(crate) is_unread: bool,
    used: u64,
}

impl<T> CallOutcome<T> {
    /// Return whether the call is too long for an event loop, in Python too.
    pub(crate) fn is_too_long(&self) -> bool {
        self.late || self.used > TWICE
    }
}

/// Run a call; return its output unless it is longer than `room`.
pub(crate) fn run(
    call_environment: &CallEnvironment,
    state: Head,
    wanted: request::Message,
    room: Option<usize>,
    share: &mut Share,
) -> CallOutcome<Bytes> {
    let message = call_environment.message(wanted);
    let reader = Reader::of_memory(state, call_environment.watched);
    within(share, |limits| {
        let answer = call(&call_environment.environment, message, reader, limits, false)?;
        let fits = room.is_none_or(|room| answer.output.len() <= room);
        Ok((answer.error.is_none() && fits).then_some(answer.output))
    })
}

/// Run a call to find out which state it needs that is not in memory; add that state to the notes.
pub(crate) fn find_unread(
    call_environment: &CallEnvironment,
    state: Head,
    wanted: request::Message,
    share: &mut Share,
    notes: &Notes,
) {
    let message = call_environment.message(wanted);
    let reader = Reader::noting(state, call_environment.watched, Arc::clone(notes));
    within(share, |limits| {
        call(&call_environment.environment, message, reader, limits, false).map(|_| None::<()>)
    });
}

/// Find the least gas with which a call succeeds.
pub(crate) fn estimate(
    call_environment: &CallEnvironment,
    rules: &Estimates,
    state: Head,
    wanted: request::Message,
    share: &mut Share,
) -> CallOutcome<u64> {
    let gas = wanted.gas.filter(|gas| *gas >= TRANSFER_GAS).unwrap_or(rules.gas);
    let gas = gas.min(rules.most_gas);
    let message = Message::plain(wanted.from, wanted.to, gas, wanted.value, wanted.data);
    let reader = Reader::of_memory(state, call_environment.watched);
    within(share, |limits| {
        let found =
            find_gas(&call_environment.environment, message, reader, limits, rules.error_ratio)?;
        Ok(if let Estimate::Gas(gas) = found { Some(gas) } else { None })
    })
}

/// Run with the limits of the share, and deduct the gas that was used.
fn within<T>(
    share: &mut Share,
    run: impl FnOnce(Limits<'_>) -> Result<Option<T>, CallFailure>,
) -> CallOutcome<T> {
    let used = Arc::new(AtomicU64::new(0));
    let allowance = share.gas.map(|gas| Allowance { gas, used: Arc::clone(&used) });
    let turn = share.turn.clone();
    let limits = Limits { gas: allowance, seconds: Some(share.seconds), turn, call_slots: None };
    let outcome = run(limits);
    let used = used.load(Ordering::Relaxed);
    share.gas = share.gas.map(|gas| gas.saturating_sub(used));
    let late = matches!(outcome, Err(CallFailure::Interrupted(_)));
    let is_unread = matches!(outcome, Err(CallFailure::Reader(_)));
    CallOutcome { found: outcome.ok().flatten(), late, is_unread, used }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(to: u8, data: &'static [u8]) -> request::Message {
        request::Message {
            from: Address::ZERO,
            to: Address::repeat_byte(to),
            data: Bytes::from_static(data),
            value: Default::default(),
            gas: None,
            names_block: false,
        }
    }

    fn passed(heavy: &mut SlowKinds, kind: &Kind) -> usize {
        (0..100).take_while(|_| heavy.passes(kind)).count()
    }

    #[test]
    fn slow_kinds_are_skipped_for_a_while() {
        let mut heavy = SlowKinds::default();
        let kind = SlowKinds::kind(&message(1, &[1, 2, 3, 4, 5]), Purpose::Call);
        let same_kind = SlowKinds::kind(&message(1, &[1, 2, 3, 4, 6]), Purpose::Call);
        let mut seen = Vec::new();
        for _ in 0..3 {
            heavy.strike(kind);
            seen.push(passed(&mut heavy, &same_kind));
        }
        assert_eq!(seen, [0, usize::from(PASSED), usize::from(PASSED)]);
    }

    #[test]
    fn a_fast_call_offsets_a_slow_one() {
        let mut heavy = SlowKinds::default();
        let kind = SlowKinds::kind(&message(1, &[]), Purpose::Call);
        for _ in 0..3 {
            heavy.strike(kind);
            heavy.fitted(&kind);
            assert_eq!(passed(&mut heavy, &kind), 0);
        }
    }

    #[test]
    fn other_kinds_are_not_skipped() {
        let mut heavy = SlowKinds::default();
        for _ in 0..STRIKES {
            heavy.strike(SlowKinds::kind(&message(1, &[1, 2, 3]), Purpose::Call));
        }
        assert!(!heavy.passes(&SlowKinds::kind(&message(1, &[1, 2, 3]), Purpose::Estimate)));
        for other in [message(2, &[1, 2, 3]), message(1, &[1, 2]), message(1, &[1, 2, 4])] {
            assert!(!heavy.passes(&SlowKinds::kind(&other, Purpose::Call)));
        }
    }

    #[test]
    fn other_failures_count_if_all_failures_do() {
        let kind = SlowKinds::kind(&message(1, &[]), Purpose::Call);
        for (mut heavy, expected) in
            [(SlowKinds::default(), 0), (SlowKinds::of_all_that_fail(), usize::from(PASSED))]
        {
            for _ in 0..STRIKES {
                heavy.note(
                    kind,
                    &CallOutcome::<()> { found: None, late: false, is_unread: false, used: 0 },
                );
            }
            assert_eq!(passed(&mut heavy, &kind), expected);
        }
    }

    #[test]
    fn the_number_of_remembered_kinds_is_limited() {
        let (mut heavy, mut long) = (SlowKinds::default(), LongKinds::default());
        for length in 0..=KINDS {
            let kind = (Purpose::Call, Address::ZERO, length, [0; 4]);
            heavy.strike(kind);
            long.note(kind, true);
        }
        assert_eq!((heavy.kinds.len(), long.0.len()), (1, 1));
    }

    #[test]
    fn the_last_call_of_a_kind_decides_whether_it_is_long() {
        let mut long = LongKinds::default();
        let kind = SlowKinds::kind(&message(1, &[]), Purpose::Call);
        let other = SlowKinds::kind(&message(2, &[]), Purpose::Call);
        for is_long in [false, true, true, false] {
            long.note(kind, is_long);
            assert_eq!((long.contains(&kind), long.contains(&other)), (is_long, false));
        }
    }
}
