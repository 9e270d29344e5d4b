//! The ways in which a body can be answered.

use crate::{hot::values::RunsOn, slots::CallSlots};

/// Detects long calls that arrive at the same time.
pub(super) trait ConcurrentCalls {
    /// Record a long call; return whether there are others, so that it should not run on the event
    /// loop.
    fn note_long_call(&self) -> bool;
}

/// The way in which a body is answered.
#[derive(Clone, Copy)]
pub(super) enum Way<'a> {
    /// On an event loop, in a turn whose remaining time is known.
    Turn,
    /// On an event loop too, but for a whole request or frame, with an answer of at most `longest`
    /// bytes. If it is not answered, it is tried again elsewhere. Without `concurrent`, long calls are
    /// run like all others.
    Whole { longest: usize, concurrent: Option<&'a dyn ConcurrentCalls> },
    /// A whole request, in a thread of the pool.
    Pool { longest: usize },
    /// In one of Python's threads. Calls wait for a slot; `reads`: state that is not in memory can
    /// be read for them.
    Thread { call_slots: &'a CallSlots, reads: bool },
}

impl<'a> Way<'a> {
    pub(super) fn runs_on(self) -> RunsOn {
        match self {
            Self::Turn => RunsOn::Loop,
            Self::Whole { .. } => RunsOn::WholeOnLoop,
            Self::Pool { .. } => RunsOn::Pool,
            Self::Thread { .. } => RunsOn::Thread,
        }
    }

    /// Largest answer in bytes; a request with a longer one is tried again elsewhere.
    pub(super) fn longest(self) -> Option<usize> {
        match self {
            Self::Whole { longest, .. } | Self::Pool { longest } => Some(longest),
            Self::Turn | Self::Thread { .. } => None,
        }
    }

    /// The call slots, one of which is taken by the first call.
    pub(super) fn call_slots(self) -> Option<&'a CallSlots> {
        match self {
            Self::Thread { call_slots, .. } => Some(call_slots),
            _ => None,
        }
    }

    pub(super) fn concurrent(self) -> Option<&'a dyn ConcurrentCalls> {
        match self {
            Self::Whole { concurrent, .. } => concurrent,
            _ => None,
        }
    }

    pub(super) fn reads(self) -> bool {
        matches!(self, Self::Thread { reads: true, .. })
    }
}
