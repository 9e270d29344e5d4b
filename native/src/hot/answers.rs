//! Answers to frequent requests, from bytes to bytes: what is asked of the head, or was asked before.
//!
//! Python's dispatcher is the definition of each of them; what is not answered here it answers, and
//! leaves here what stays true as long as the epoch is the same. An epoch ends with every change of
//! the head, of the state or of what was set by hand.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Instant,
};

use pyo3::{IntoPyObjectExt, prelude::*, types::PyBytes};

use crate::{
    convert::{Addr, Word, bytes},
    environment::{Env, Environment},
    hot::{
        call::{Estimates, Share, Surroundings},
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

/// Blocks up to the head that are kept.
const RECENT_BLOCKS: u64 = 128;

/// Longest result about a transaction that is kept.
const LONGEST_KEPT: usize = 64 << 10;

/// Answers of one chain's head. Its results about accepted blocks take `most_bytes` at most.
#[pyclass(frozen)]
pub(crate) struct HotAnswers {
    pub(super) memory: Py<StateMemory>,
    pub(super) values: Mutex<Values>,
    most_bytes: usize,
    pub(super) gas: u64,
    pub(super) seconds: f64,
    pub(super) long_seconds: f64,
    thread_seconds: f64,
    /// What calls in whole requests and frames may take, which are in no turn of the event loop that is known.
    pub(super) time: Mutex<LoopTime>,
}

#[pymethods]
impl HotAnswers {
    /// `gas` and `seconds` are what the calls of one body may use together, `whole_seconds` what those in whole
    /// requests and frames may take of the event loop, `thread_seconds` those of a body in a thread. Who takes
    /// `long_seconds` is worth a thread.
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

    /// What is kept must have been found out in this epoch.
    #[getter]
    fn epoch(&self) -> u64 {
        self.values().epoch
    }

    /// Answer and keep nothing until there is another head: the dispatcher may show it from now on.
    fn begin_move(&self) {
        let mut values = self.values();
        values.head = None;
        values.end_epoch();
    }

    /// Take another head; `begins`: what is kept of blocks may be of another chain.
    fn set_head(&self, number: u64, begins: bool) {
        let mut values = self.values();
        values.head = Some(number);
        if begins {
            values.accepted.clear();
            values.bytes = 0;
        }
        values.end_epoch();
    }

    /// Forget what depends on the state or on what was set by hand.
    fn end_epoch(&self) {
        self.values().end_epoch();
    }

    /// Keep the result of a method without params.
    fn keep(&self, epoch: u64, method: String, result: Vec<u8>) {
        let mut values = self.values();
        if values.takes(epoch) {
            values.results.insert(method, result);
        }
    }

    /// Keep the result of a method about a transaction of an accepted block.
    fn keep_by_hash(&self, epoch: u64, method: &str, hash: Word, result: &[u8]) {
        let asked = match method {
            "eth_getTransactionReceipt" => ResultKey::Receipt(hash.0),
            "eth_getTransactionByHash" => ResultKey::Transaction(hash.0),
            _ => return,
        };
        let mut values = self.values();
        if values.takes(epoch) && result.len() <= LONGEST_KEPT {
            values.keep(asked, result.into(), self.most_bytes);
        }
    }

    /// Keep an accepted block, with whole transactions or with their hashes, if it is a recent one: whoever reads the
    /// chain from its beginning would have all that is kept forgotten.
    fn keep_block(&self, epoch: u64, number: u64, hash: Word, full: bool, result: &[u8]) {
        let mut values = self.values();
        let recent = values.head.is_some_and(|head| number.saturating_add(RECENT_BLOCKS) > head);
        if values.takes(epoch) && recent {
            let result = Arc::<[u8]>::from(result);
            values.keep(ResultKey::BlockByNumber(number, full), result.clone(), self.most_bytes);
            values.keep(ResultKey::BlockByHash(hash.0, full), result, self.most_bytes);
        }
    }

    /// Keep where calls at the head are run, unless revm cannot count so high; `watched`: an account of which only
    /// Python may say anything.
    fn keep_environment(&self, epoch: u64, env: &Bound<'_, PyAny>, gas_cap: u64, watched: Addr) {
        let Ok(env) = env.extract::<Env>() else { return };
        let number = env.number;
        let Ok(environment) = Environment::new(env) else { return };
        let mut values = self.values();
        if values.takes(epoch) {
            let watched = watched.0;
            let surroundings = Surroundings { number, environment, gas_cap, watched };
            values.surroundings = Some(Arc::new(surroundings));
        }
    }

    /// Keep how gas is estimated at the head, as `Estimates` has it; `is_default`: also where no block is named.
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

    /// How many results about accepted blocks are kept, and their bytes.
    fn kept(&self) -> (usize, usize) {
        let values = self.values();
        (values.accepted.len(), values.bytes)
    }

    /// The answer to a body with the name of its method, or of a batch the number of calls by name; None: it is for
    /// the dispatcher, as is a batch of more calls or bytes. An empty answer: it takes too long for an event loop, as
    /// calls do that are not allowed.
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
            Ok((out, names)) => Ok(Some((PyBytes::new(py, &out), names.told(py)?))),
            Err(Refusal::TooLong) => Ok(Some((PyBytes::new(py, b""), py.None().into_bound(py)))),
            Err(_) => Ok(None),
        }
    }

    /// The same in a thread, without the interpreter lock: calls wait for a slot. None as well where they take too long;
    /// with `reads` an `UnreadState` where they can be answered once that is remembered.
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
                (PyBytes::new(py, &out), names.told(py)?).into_bound_py_any(py).map(Some)
            }
            Err(Refusal::Unread(number, unread)) => {
                UnreadState { number, unread }.into_bound_py_any(py).map(Some)
            }
            Err(_) => Ok(None),
        }
    }

    /// What answers whole requests over HTTP; `told` takes the names of what was answered, as `answer` gives them, and
    /// the seconds it took. Long calls that come on two connections within `near_seconds` are run in so many threads.
    fn whole_requests(
        slf: &Bound<'_, Self>,
        told: Py<PyAny>,
        most_calls: usize,
        most_bytes: usize,
        threads: usize,
        near_seconds: f64,
    ) -> WholeAnswers {
        let limits = BatchLimits { most_calls, most_bytes };
        WholeAnswers::new(slf.clone().unbind(), told, limits, threads, near_seconds)
    }

    /// What answers frames of WebSockets that are whole messages; `longest`: bytes of an answer that need not be counted
    /// until it is read.
    fn whole_frames(
        slf: &Bound<'_, Self>,
        told: Py<PyAny>,
        most_calls: usize,
        most_bytes: usize,
        longest: usize,
    ) -> FrameAnswers {
        FrameAnswers::new(
            slf.clone().unbind(),
            told,
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

/// What the calls of a body asked for that is not remembered of the state at a height.
#[pyclass(frozen)]
pub(crate) struct UnreadState {
    #[pyo3(get)]
    number: u64,
    unread: Unread,
}

#[pymethods]
impl UnreadState {
    /// Addresses.
    #[getter]
    fn accounts<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.unread.accounts.iter().map(|address| bytes(py, address.as_slice())).collect()
    }

    /// Addresses and slots.
    #[getter]
    fn slots<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let slots = self.unread.slots.iter();
        slots
            .map(|(address, slot)| (bytes(py, address.as_slice()), bytes(py, slot.as_slice())))
            .collect()
    }
}
