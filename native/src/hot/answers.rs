//! Fast answers to frequent requests, from request bytes to response bytes: about the head, or
//! cached results.
//!
//! Python's dispatcher defines the correct answers. It also answers all requests that are not
//! answered here, and caches results here that stay valid during an epoch. An epoch ends with every
//! change of the head, of the state, or of overrides such as edited balances.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Instant,
};

use pyo3::{IntoPyObjectExt, prelude::*, types::PyBytes};

use crate::{
    convert::{Addr, Word, bytes},
    environment::{Env, Environment},
    hot::{
        call::{CallEnvironment, Estimates, Share},
        frames::FrameAnswers,
        loop_time::LoopTime,
        memory::StateMemory,
        respond::{BatchLimits, Refusal},
        values::{ResultKey, Values},
        way::Way,
        whole::WholeAnswers,
    },
    reader::Unread,
    slots::CallSlots,
};

/// Number of blocks up to the head that are cached.
const RECENT_BLOCKS: u64 = 128;

/// Largest result about a transaction that is cached, in bytes.
const LONGEST_KEPT: usize = 64 << 10;

/// The answers for one chain's head. Cached results about accepted blocks use at most `most_bytes`.
#[pyclass(frozen)]
pub(crate) struct HotAnswers {
    pub(super) memory: Py<StateMemory>,
    pub(super) values: Mutex<Values>,
    most_bytes: usize,
    pub(super) gas: u64,
    pub(super) seconds: f64,
    pub(super) long_seconds: f64,
    thread_seconds: f64,
    /// The time budget of calls in whole requests and frames, for which the remaining time of the
    /// event loop's turn is unknown.
    pub(super) time: Mutex<LoopTime>,
}

#[pymethods]
impl HotAnswers {
    /// `gas` and `seconds` limit the calls of one body together, `whole_seconds` the time that
    /// calls in whole requests and frames take from the event loop, and `thread_seconds` the calls
    /// of one body in a thread. A call of at least `long_seconds` is worth a thread.
    #[new]
    fn new(
        memory: Py<StateMemory>,
        most_bytes: usize,
        gas: u64,
        seconds: f64,
        whole_seconds: f64,
        thread_seconds: f64,
        long_seconds: f64,
    ) -> Self {
        let values = Values::new();
        let time = Mutex::new(LoopTime::new(whole_seconds, Instant::now()));
        Self {
            memory,
            values: Mutex::new(values),
            most_bytes,
            gas,
            seconds,
            long_seconds,
            thread_seconds,
            time,
        }
    }

    /// The current epoch. A result may be cached only if it was computed in this epoch.
    #[getter]
    fn epoch(&self) -> u64 {
        self.values().epoch
    }

    /// Answer and cache nothing until the next head, because the dispatcher may use the new head
    /// from now on.
    fn begin_move(&self) {
        let mut values = self.values();
        values.head = None;
        values.end_epoch();
    }

    /// Set another head. With `begins`, drop the cached results about blocks, which may belong to
    /// another chain.
    fn set_head(&self, number: u64, begins: bool) {
        let mut values = self.values();
        values.head = Some(number);
        if begins {
            values.accepted.clear();
            values.bytes = 0;
        }
        values.end_epoch();
    }

    /// Drop everything that depends on the state or on overrides.
    fn end_epoch(&self) {
        self.values().end_epoch();
    }

    /// Cache the result of a method without params.
    fn keep(&self, epoch: u64, method: String, result: Vec<u8>) {
        let mut values = self.values();
        if values.takes(epoch) {
            values.results.insert(method, result);
        }
    }

    /// Cache the result of a method about a transaction of an accepted block.
    fn keep_by_hash(&self, epoch: u64, method: &str, hash: Word, result: &[u8]) {
        let key = match method {
            "eth_getTransactionReceipt" => ResultKey::Receipt(hash.0),
            "eth_getTransactionByHash" => ResultKey::Transaction(hash.0),
            _ => return,
        };
        let mut values = self.values();
        if values.takes(epoch) && result.len() <= LONGEST_KEPT {
            values.keep(key, result.into(), self.most_bytes);
        }
    }

    /// Cache an accepted block, with full transactions or with their hashes, if it is recent.
    /// Otherwise a client that reads the chain from its beginning would evict everything.
    fn keep_block(&self, epoch: u64, number: u64, hash: Word, full: bool, result: &[u8]) {
        let mut values = self.values();
        let recent = values.head.is_some_and(|head| number.saturating_add(RECENT_BLOCKS) > head);
        if values.takes(epoch) && recent {
            let result = Arc::<[u8]>::from(result);
            values.keep(ResultKey::BlockByNumber(number, full), result.clone(), self.most_bytes);
            values.keep(ResultKey::BlockByHash(hash.0, full), result, self.most_bytes);
        }
    }

    /// Cache the environment of calls at the head, unless its numbers are too large for revm.
    /// `watched` is an account that only Python may read.
    fn keep_environment(&self, epoch: u64, env: &Bound<'_, PyAny>, gas_cap: u64, watched: Addr) {
        let Ok(env) = env.extract::<Env>() else { return };
        let number = env.number;
        let Ok(environment) = Environment::new(env) else { return };
        let mut values = self.values();
        if values.takes(epoch) {
            let watched = watched.0;
            let call_environment = CallEnvironment { number, environment, gas_cap, watched };
            values.call_environment = Some(Arc::new(call_environment));
        }
    }

    /// Cache the parameters of gas estimates at the head (see `Estimates`); `is_default`: also for
    /// requests that name no block.
    fn keep_estimates(
        &self,
        epoch: u64,
        gas: u64,
        most_gas: u64,
        error_ratio: f64,
        is_default: bool,
    ) {
        let mut values = self.values();
        if values.takes(epoch) {
            let known = values.estimates.as_ref().is_some_and(|known| known.is_default);
            let is_default = is_default || known;
            values.estimates = Some(Estimates { gas, most_gas, error_ratio, is_default });
        }
    }

    /// Return the number of cached results about accepted blocks, and their size in bytes.
    fn kept(&self) -> (usize, usize) {
        let values = self.values();
        (values.accepted.len(), values.bytes)
    }

    /// Return the answer to a body with its method's name, or for a batch the number of calls by
    /// name. Return None if the dispatcher must answer, as for batches with too many calls or
    /// bytes. An empty answer means that the request takes too long for an event loop, as do all
    /// calls without `may_call`.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        may_call: bool,
        most_calls: usize,
        most_bytes: usize,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyAny>)>> {
        let seconds = may_call.then_some(self.seconds);
        let share = seconds.map(|seconds| Share { gas: Some(self.gas), seconds, turn: None });
        let limits = BatchLimits { most_calls, most_bytes };
        match self.respond(body, share, limits, Way::Turn) {
            Ok((out, names)) => Ok(Some((PyBytes::new(py, &out), names.to_python(py)?))),
            Err(Refusal::TooLong) => Ok(Some((PyBytes::new(py, b""), py.None().into_bound(py)))),
            Err(_) => Ok(None),
        }
    }

    /// Answer a body in a thread, without the interpreter lock; calls wait for a slot. Also return
    /// None if they take too long; with `reads` return an `UnreadState` if they can be answered
    /// once that state is in memory.
    fn answer_in_thread<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        call_slots: &CallSlots,
        reads: bool,
        most_calls: usize,
        most_bytes: usize,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let limits = BatchLimits { most_calls, most_bytes };
        let answered = py.detach(|| {
            let share = Share { gas: None, seconds: self.thread_seconds, turn: None };
            self.respond(body, Some(share), limits, Way::Thread { call_slots, reads })
        });
        match answered {
            Ok((out, names)) => {
                (PyBytes::new(py, &out), names.to_python(py)?).into_bound_py_any(py).map(Some)
            }
            Err(Refusal::Unread(number, unread)) => {
                UnreadState { number, unread }.into_bound_py_any(py).map(Some)
            }
            Err(_) => Ok(None),
        }
    }

    /// Return the answers to whole HTTP requests. `on_answered` is called with the names of the answered
    /// calls, as in `answer`, and the seconds taken. If long calls arrive on two connections within
    /// `near_seconds`, they run in `threads` threads.
    fn whole_requests(
        slf: &Bound<'_, Self>,
        on_answered: Py<PyAny>,
        most_calls: usize,
        most_bytes: usize,
        threads: usize,
        near_seconds: f64,
    ) -> WholeAnswers {
        let limits = BatchLimits { most_calls, most_bytes };
        WholeAnswers::new(slf.clone().unbind(), on_answered, limits, threads, near_seconds)
    }

    /// Return the answers to WebSocket frames that are whole messages; `longest` is the largest
    /// answer in bytes that does not count against the limits for unread answers.
    fn whole_frames(
        slf: &Bound<'_, Self>,
        on_answered: Py<PyAny>,
        most_calls: usize,
        most_bytes: usize,
        longest: usize,
    ) -> FrameAnswers {
        FrameAnswers::new(
            slf.clone().unbind(),
            on_answered,
            BatchLimits { most_calls, most_bytes },
            longest,
        )
    }
}

impl HotAnswers {
    pub(super) fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The state at a height that the calls of a body need and that is not in memory.
#[pyclass(frozen)]
pub(crate) struct UnreadState {
    #[pyo3(get)]
    number: u64,
    unread: Unread,
}

#[pymethods]
impl UnreadState {
    /// The missing accounts, by address.
    #[getter]
    fn accounts<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.unread.accounts.iter().map(|address| bytes(py, address.as_slice())).collect()
    }

    /// The missing slots, each with its address.
    #[getter]
    fn slots<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let slots = self.unread.slots.iter();
        slots
            .map(|(address, slot)| (bytes(py, address.as_slice()), bytes(py, slot.as_slice())))
            .collect()
    }
}
