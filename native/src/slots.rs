//! Limits how many calls run at once. Many threads may have calls to run; if all of them ran at the
//! same time, the threads that answer other requests would rarely get a processor. So calls take
//! turns.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use pyo3::prelude::*;

/// How long a call runs while others wait.
const SLICE: Duration = Duration::from_millis(5);

#[derive(Default)]
struct State {
    /// Number of unused slots; negative if calls have returned from queries to the state.
    free: isize,
    /// Tickets of the waiting calls, first come first served.
    waiting: VecDeque<u64>,
    tickets: u64,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    freed: Condvar,
}

/// Slots in which calls run, for all threads of an engine.
#[pyclass(frozen)]
pub(crate) struct CallSlots(Arc<Shared>);

#[pymethods]
impl CallSlots {
    #[new]
    fn new(count: isize) -> Self {
        let state = Mutex::new(State { free: count, ..State::default() });
        Self(Arc::new(Shared { state, freed: Condvar::new() }))
    }
}

impl CallSlots {
    /// Wait for a slot; return None if none is free before the deadline.
    pub(crate) fn enter(&self, deadline: Option<Instant>) -> Option<Arc<Turn>> {
        let call_slots = Arc::clone(&self.0);
        call_slots.take(deadline).then(|| {
            let since = Mutex::new(Instant::now());
            Arc::new(Turn { call_slots, deadline, since, held: AtomicBool::new(true) })
        })
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn take(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.state();
        let ticket = state.tickets;
        state.tickets += 1;
        state.waiting.push_back(ticket);
        loop {
            if state.free > 0 && state.waiting.front() == Some(&ticket) {
                state.waiting.pop_front();
                state.free -= 1;
                self.freed.notify_all();
                return true;
            }
            let left = deadline.map_or(Duration::MAX, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                state.waiting.retain(|waiting| *waiting != ticket);
                self.freed.notify_all();
                return false;
            }
            // Longer than any call lasts, and short enough for every clock.
            let left = left.min(Duration::from_secs(3_600));
            state = match self.freed.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    fn give_back(&self) {
        self.state().free += 1;
        self.freed.notify_all();
    }
}

/// A call's use of a slot, which is released with its last reference.
pub(crate) struct Turn {
    call_slots: Arc<Shared>,
    deadline: Option<Instant>,
    since: Mutex<Instant>,
    held: AtomicBool,
}

impl Turn {
    /// Let other calls run if this one has run for its time slice; return whether there is still
    /// time afterwards.
    pub(crate) fn take_turns(&self) -> bool {
        let mut since = self.since.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if since.elapsed() < SLICE {
            return true;
        }
        {
            let state = self.call_slots.state();
            if state.free >= 0 && state.waiting.is_empty() {
                return true;
            }
        }
        self.pause();
        let taken = self.call_slots.take(self.deadline);
        self.held.store(taken, Ordering::Relaxed);
        *since = Instant::now();
        taken
    }

    /// Release the slot while the call waits for something other than a processor.
    pub(crate) fn pause(&self) {
        if self.held.swap(false, Ordering::Relaxed) {
            self.call_slots.give_back();
        }
    }

    /// Take the slot back immediately. If a call had to wait after each query, one with many
    /// queries would never end.
    pub(crate) fn resume(&self) {
        if !self.held.swap(true, Ordering::Relaxed) {
            self.call_slots.state().free -= 1;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.pause();
    }
}
