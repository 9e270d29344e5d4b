//! Calls at the head, in the environment that Python has kept, on what is remembered of the state.

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

/// Gas of a call that is run once more on an event loop, by Python, when it comes to nothing here.
const TWICE: u64 = 20_000;

/// So many calls like those that took too long are not begun on an event loop, before one is again.
const PASSED: u8 = 15;

/// Calls of a kind that take too long one after the other before others are passed by: it may have been the machine.
const STRIKES: u8 = 2;

/// Kinds of calls that are remembered for having taken too long.
const KINDS: usize = 1_024;

/// What a call is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    Call,
    Estimate,
}

/// What for and what is called, the length of the data and its first bytes: what a call of a kind takes, another one
/// does.
pub(crate) type Kind = (Purpose, Address, usize, [u8; 4]);

/// Calls that took too long for an event loop lately: to begin them there again would be for nothing.
#[derive(Default)]
pub(crate) struct Heavy {
    kinds: HashMap<Kind, Strikes, DefaultHashBuilder>,
    /// Whether those count as well that came to nothing for another reason.
    counts_all: bool,
}

#[derive(Default)]
struct Strikes {
    count: u8,
    /// Calls that are still to be passed by.
    passes: u8,
}

impl Heavy {
    /// For calls that are begun elsewhere once more whenever they come to nothing here.
    pub(crate) fn of_all_that_fail() -> Self {
        Self { counts_all: true, ..Self::default() }
    }

    pub(crate) fn kind(message: &request::Message, purpose: Purpose) -> Kind {
        let mut selector = [0; 4];
        let known = message.data.len().min(selector.len());
        selector[..known].copy_from_slice(&message.data[..known]);
        (purpose, message.to, message.data.len(), selector)
    }

    /// Whether to pass a call by; it counts.
    pub(crate) fn passes(&mut self, kind: &Kind) -> bool {
        let Some(strikes) = self.kinds.get_mut(kind) else { return false };
        let passes = strikes.passes > 0;
        strikes.passes -= u8::from(passes);
        passes
    }

    /// Take note of what came of a call.
    pub(crate) fn note<T>(&mut self, kind: Kind, ran: &Ran<T>) {
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

/// Calls that took so long that another thread is worth it where others come beside them.
#[derive(Default)]
pub(crate) struct Long(HashSet<Kind, DefaultHashBuilder>);

impl Long {
    /// Whether the last call of a kind was long.
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

/// Where calls at a height are run.
pub(crate) struct Surroundings {
    pub(crate) number: u64,
    pub(crate) environment: Environment,
    /// Gas that one of them has at most.
    pub(crate) gas_cap: u64,
    /// An account of which only Python may say anything.
    pub(crate) watched: Address,
}

impl Surroundings {
    /// A call as it is run here.
    fn message(&self, wanted: request::Message) -> Message {
        let gas = wanted.gas.unwrap_or(self.gas_cap).min(self.gas_cap);
        Message::plain(wanted.from, wanted.to, gas, wanted.value, wanted.data)
    }
}

/// How gas is estimated at a height.
#[derive(Clone)]
pub(crate) struct Estimates {
    /// What is tried first where a message names none, and the most that is tried.
    pub(crate) gas: u64,
    pub(crate) most_gas: u64,
    /// By how much an estimate may be too high.
    pub(crate) error_ratio: f64,
    /// Whether what names no block is about this height.
    pub(crate) is_default: bool,
}

/// What the calls of one request may use together.
pub(crate) struct Share {
    /// None: as much as they want.
    pub(crate) gas: Option<u64>,
    pub(crate) seconds: f64,
    /// Of those in a thread: they take turns with all others.
    pub(crate) turn: Option<Arc<Turn>>,
}

/// What came of a call.
pub(crate) struct Ran<T> {
    /// None: it is for Python to say.
    pub(crate) found: Option<T>,
    /// Whether it takes too long to be tried where it was.
    pub(crate) late: bool,
    /// Whether it asked for something that is not remembered.
    pub(crate) is_unread: bool,
    used: u64,
}

impl<T> Ran<T> {
    /// Whether it is too much for an event loop, also for Python's.
    pub(crate) fn is_too_long(&self) -> bool {
        self.late || self.used > TWICE
    }
}

/// Run a call; what it returns, if that is no longer than there is room for.
pub(crate) fn run(
    surroundings: &Surroundings,
    state: Head,
    wanted: request::Message,
    room: Option<usize>,
    share: &mut Share,
) -> Ran<Bytes> {
    let message = surroundings.message(wanted);
    let reader = Reader::of_memory(state, surroundings.watched);
    within(share, |limits| {
        let answer = call(&surroundings.environment, message, reader, limits, false)?;
        let fits = room.is_none_or(|room| answer.output.len() <= room);
        Ok((answer.error.is_none() && fits).then_some(answer.output))
    })
}

/// Run a call to find out what it asks for that is not remembered; that is added to the notes.
pub(crate) fn find_unread(
    surroundings: &Surroundings,
    state: Head,
    wanted: request::Message,
    share: &mut Share,
    notes: &Notes,
) {
    let message = surroundings.message(wanted);
    let reader = Reader::noting(state, surroundings.watched, Arc::clone(notes));
    within(share, |limits| {
        call(&surroundings.environment, message, reader, limits, false).map(|_| None::<()>)
    });
}

/// Find the least gas with which a call works.
pub(crate) fn estimate(
    surroundings: &Surroundings,
    rules: &Estimates,
    state: Head,
    wanted: request::Message,
    share: &mut Share,
) -> Ran<u64> {
    let gas = wanted.gas.filter(|gas| *gas >= TRANSFER_GAS).unwrap_or(rules.gas);
    let gas = gas.min(rules.most_gas);
    let message = Message::plain(wanted.from, wanted.to, gas, wanted.value, wanted.data);
    let reader = Reader::of_memory(state, surroundings.watched);
    within(share, |limits| {
        let found =
            find_gas(&surroundings.environment, message, reader, limits, rules.error_ratio)?;
        Ok(if let Estimate::Gas(gas) = found { Some(gas) } else { None })
    })
}

/// Take from the share what a call uses.
fn within<T>(
    share: &mut Share,
    run: impl FnOnce(Limits<'_>) -> Result<Option<T>, CallFailure>,
) -> Ran<T> {
    let used = Arc::new(AtomicU64::new(0));
    let allowance = share.gas.map(|gas| Allowance { gas, used: Arc::clone(&used) });
    let turn = share.turn.clone();
    let limits = Limits { gas: allowance, seconds: Some(share.seconds), turn, call_slots: None };
    let outcome = run(limits);
    let used = used.load(Ordering::Relaxed);
    share.gas = share.gas.map(|gas| gas.saturating_sub(used));
    let late = matches!(outcome, Err(CallFailure::Interrupted(_)));
    let is_unread = matches!(outcome, Err(CallFailure::Reader(_)));
    Ran { found: outcome.ok().flatten(), late, is_unread, used }
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

    fn passed(heavy: &mut Heavy, kind: &Kind) -> usize {
        (0..100).take_while(|_| heavy.passes(kind)).count()
    }

    #[test]
    fn calls_like_those_that_took_too_long_are_passed_by_for_a_while() {
        let mut heavy = Heavy::default();
        let kind = Heavy::kind(&message(1, &[1, 2, 3, 4, 5]), Purpose::Call);
        let alike = Heavy::kind(&message(1, &[1, 2, 3, 4, 6]), Purpose::Call);
        let mut seen = Vec::new();
        for _ in 0..3 {
            heavy.strike(kind);
            seen.push(passed(&mut heavy, &alike));
        }
        assert_eq!(seen, [0, usize::from(PASSED), usize::from(PASSED)]);
    }

    #[test]
    fn a_call_that_fits_makes_up_for_one_that_did_not() {
        let mut heavy = Heavy::default();
        let kind = Heavy::kind(&message(1, &[]), Purpose::Call);
        for _ in 0..3 {
            heavy.strike(kind);
            heavy.fitted(&kind);
            assert_eq!(passed(&mut heavy, &kind), 0);
        }
    }

    #[test]
    fn other_calls_are_not_passed_by() {
        let mut heavy = Heavy::default();
        for _ in 0..STRIKES {
            heavy.strike(Heavy::kind(&message(1, &[1, 2, 3]), Purpose::Call));
        }
        assert!(!heavy.passes(&Heavy::kind(&message(1, &[1, 2, 3]), Purpose::Estimate)));
        for other in [message(2, &[1, 2, 3]), message(1, &[1, 2]), message(1, &[1, 2, 4])] {
            assert!(!heavy.passes(&Heavy::kind(&other, Purpose::Call)));
        }
    }

    #[test]
    fn calls_that_fail_otherwise_count_where_all_do() {
        let kind = Heavy::kind(&message(1, &[]), Purpose::Call);
        for (mut heavy, expected) in
            [(Heavy::default(), 0), (Heavy::of_all_that_fail(), usize::from(PASSED))]
        {
            for _ in 0..STRIKES {
                heavy
                    .note(kind, &Ran::<()> { found: None, late: false, is_unread: false, used: 0 });
            }
            assert_eq!(passed(&mut heavy, &kind), expected);
        }
    }

    #[test]
    fn no_more_kinds_are_remembered_than_fit() {
        let (mut heavy, mut long) = (Heavy::default(), Long::default());
        for length in 0..=KINDS {
            let kind = (Purpose::Call, Address::ZERO, length, [0; 4]);
            heavy.strike(kind);
            long.note(kind, true);
        }
        assert_eq!((heavy.kinds.len(), long.0.len()), (1, 1));
    }

    #[test]
    fn whether_calls_are_long_the_last_one_says() {
        let mut long = Long::default();
        let kind = Heavy::kind(&message(1, &[]), Purpose::Call);
        let other = Heavy::kind(&message(2, &[]), Purpose::Call);
        for is_long in [false, true, true, false] {
            long.note(kind, is_long);
            assert_eq!((long.contains(&kind), long.contains(&other)), (is_long, false));
        }
    }
}
