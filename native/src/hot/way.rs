//! The ways on which a body comes to be answered.

use crate::{hot::values::RunsOn, slots::CallSlots};

/// Where long calls come from.
pub(super) trait Crowd {
    /// One comes; whether others do beside it, so that it is not run on the event loop.
    fn comes(&self) -> bool;
}

/// How a body is answered.
#[derive(Clone, Copy)]
pub(super) enum Way<'a> {
    /// On an event loop, in a turn of which it is known what it has left.
    Turn,
    /// There as well, but a whole request or frame, with at most so many bytes. It is tried again where it is not
    /// answered. Without a crowd long calls are run as all others.
    Whole { longest: usize, crowd: Option<&'a dyn Crowd> },
    /// A whole request, in a thread of the pool.
    Pool { longest: usize },
    /// In a thread of Python's. Calls wait for a slot; `reads`: what they ask for that is not remembered may be read.
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

    /// Bytes of the longest answer; what is longer is tried again.
    pub(super) fn longest(self) -> Option<usize> {
        match self {
            Self::Whole { longest, .. } | Self::Pool { longest } => Some(longest),
            Self::Turn | Self::Thread { .. } => None,
        }
    }

    /// Where calls find a slot, with the first of them.
    pub(super) fn call_slots(self) -> Option<&'a CallSlots> {
        match self {
            Self::Thread { call_slots, .. } => Some(call_slots),
            _ => None,
        }
    }

    pub(super) fn crowd(self) -> Option<&'a dyn Crowd> {
        match self {
            Self::Whole { crowd, .. } => crowd,
            _ => None,
        }
    }

    pub(super) fn reads(self) -> bool {
        matches!(self, Self::Thread { reads: true, .. })
    }
}
