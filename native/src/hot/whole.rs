//! Whole HTTP requests: heads that Python has parsed before, and bodies that are answered here.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use pyo3::{prelude::*, types::PyBytes};

use crate::hot::{
    answers::HotAnswers,
    pool::Pool,
    respond::{BatchLimits, Names, Refusal},
    way::ConcurrentCalls,
};

/// Largest head in bytes that is looked up.
const LONGEST_HEAD: usize = 2_048;

/// Largest body in bytes that is answered regardless of the other work in this turn of the event
/// loop.
const LONGEST_BODY: usize = 1_024;

/// Maximum number of heads that are remembered: clients repeat their heads, apart from the length
/// of the body.
const HEADS: usize = 4_096;

/// A request that has waited longer for a thread of the pool is answered where it came from,
/// because many calls of the longest allowed duration would delay all others.
const LONGEST_WAIT: Duration = Duration::from_millis(5);

const END: &[u8] = b"\r\n\r\n";

/// The data for answers to requests with a head.
struct KnownHead {
    /// Length of the body in bytes.
    length: usize,
    /// Largest answer in bytes that is neither compressed nor counted against limits.
    longest: usize,
    /// The start of the response, up to the content length.
    start: Vec<u8>,
}

#[derive(Default)]
struct Heads {
    known: HashMap<Vec<u8>, KnownHead>,
    /// The server's own headers, which are part of every start; the heads are dropped when this
    /// object is replaced.
    defaults: Option<Py<PyAny>>,
}

/// A request that another thread answers.
struct Job {
    body: Vec<u8>,
    /// The start of the response, from `KnownHead`.
    start: Vec<u8>,
    longest: usize,
    begun: Instant,
}

/// The response to a request, its method, and the seconds taken.
struct PooledAnswer {
    response: Vec<u8>,
    method: String,
    seconds: f64,
}

/// The result of a request.
enum Outcome<'a> {
    Answered(Vec<u8>, Names<'a>),
    Later(Job),
}

/// A connection whose long calls are recorded.
struct RequestConnection<'a> {
    whole: &'a WholeAnswers,
    connection: u64,
}

impl ConcurrentCalls for RequestConnection<'_> {
    fn note_long_call(&self) -> bool {
        let last = self.whole.last_long().replace((self.connection, Instant::now()));
        let is_beside = last
            .is_some_and(|(other, at)| other != self.connection && at.elapsed() <= self.whole.near);
        is_beside || self.whole.pool().as_ref().is_some_and(Pool::is_busy)
    }
}

/// Answers to whole requests of one API.
#[pyclass(frozen)]
pub(crate) struct WholeAnswers {
    answers: Py<HotAnswers>,
    /// Called with the names of the answered calls, as returned by `HotAnswers.answer`, and the
    /// seconds taken.
    on_answered: Py<PyAny>,
    limits: BatchLimits,
    heads: Mutex<Heads>,
    /// The connection and the time of the last long call.
    last_long: Mutex<Option<(u64, Instant)>>,
    /// Long calls of two connections within this time count as concurrent.
    near: Duration,
    threads: usize,
    /// The threads, started when they are first needed.
    pool: Mutex<Option<Pool<Job, PooledAnswer>>>,
}

#[pymethods]
impl WholeAnswers {
    /// Remember a head without its empty line: the length of its body, and the start of responses
    /// of at most `longest` bytes, with these headers of the server.
    fn keep_head(
        &self,
        head: Vec<u8>,
        length: usize,
        longest: usize,
        start: Vec<u8>,
        defaults: Py<PyAny>,
    ) {
        let mut heads = self.heads();
        if !heads.defaults.as_ref().is_some_and(|known| known.is(&defaults))
            || heads.known.len() >= HEADS
        {
            heads.known.clear();
        }
        heads.defaults = Some(defaults);
        heads.known.insert(head, KnownHead { length, longest, start });
    }

    /// Return the response to one whole request on a connection, or None if it cannot be answered
    /// here. If the response is empty, `finished` returns the real one later under the connection's
    /// number; this never happens for number 0.
    fn serve<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        defaults: &Bound<'py, PyAny>,
        connection: u64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let started = Instant::now();
        match self.outcome(data, defaults, connection, started) {
            Some(Outcome::Answered(response, names)) => {
                self.on_answered
                    .bind(py)
                    .call1((names.to_python(py)?, started.elapsed().as_secs_f64()))?;
                Ok(Some(PyBytes::new(py, &response)))
            }
            Some(Outcome::Later(job)) => {
                Ok(self.hand_over(py, connection, job).then(|| PyBytes::new(py, b"")))
            }
            None => Ok(None),
        }
    }

    /// Return the descriptor that becomes readable when `finished` has results; None before the
    /// first empty response.
    fn fileno(&self) -> Option<i32> {
        self.pool().as_ref().map(Pool::fileno)
    }

    /// Return the results of other threads by the connections' numbers: the response, or None if
    /// Python must answer.
    fn finished<'py>(&self, py: Python<'py>) -> Vec<(u64, Option<Bound<'py, PyBytes>>)> {
        let finished = self.pool().as_ref().map(Pool::finished).unwrap_or_default();
        let report = |found: PooledAnswer| {
            // If the callback fails, Python must answer.
            let reported = self.on_answered.bind(py).call1((found.method, found.seconds));
            reported.map_err(|error| error.write_unraisable(py, None)).ok()?;
            Some(PyBytes::new(py, &found.response))
        };
        finished
            .into_iter()
            .map(|(connection, found)| (connection, found.and_then(report)))
            .collect()
    }
}

impl WholeAnswers {
    pub(crate) fn new(
        answers: Py<HotAnswers>,
        on_answered: Py<PyAny>,
        limits: BatchLimits,
        threads: usize,
        near_seconds: f64,
    ) -> Self {
        let near = Duration::try_from_secs_f64(near_seconds).unwrap_or_default();
        Self {
            answers,
            on_answered,
            limits,
            heads: Mutex::default(),
            last_long: Mutex::default(),
            near,
            threads,
            pool: Mutex::default(),
        }
    }

    fn heads(&self) -> MutexGuard<'_, Heads> {
        self.heads.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn last_long(&self) -> MutexGuard<'_, Option<(u64, Instant)>> {
        self.last_long.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Return the pool of this process, if it exists.
    fn pool(&self) -> MutexGuard<'_, Option<Pool<Job, PooledAnswer>>> {
        let mut pool = self.pool.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if pool.as_ref().is_some_and(|pool| !pool.is_here()) {
            // The pool belongs to the parent process. Its lock may be held by a thread that does
            // not exist here, so dropping the pool could block forever.
            mem::forget(pool.take());
        }
        pool
    }

    fn outcome<'a>(
        &self,
        data: &'a [u8],
        defaults: &Bound<'_, PyAny>,
        connection: u64,
        now: Instant,
    ) -> Option<Outcome<'a>> {
        let end = data[..data.len().min(LONGEST_HEAD)]
            .windows(END.len())
            .position(|window| window == END)?;
        let body = &data[end + END.len()..];
        if body.len() > LONGEST_BODY {
            return None;
        }
        let heads = self.heads();
        if !heads.defaults.as_ref()?.is(defaults) {
            return None;
        }
        let KnownHead { longest, start, .. } =
            heads.known.get(&data[..end]).filter(|known| known.length == body.len())?;
        let request_connection = RequestConnection { whole: self, connection };
        let concurrent = (self.threads > 1 && connection != 0)
            .then_some(&request_connection as &dyn ConcurrentCalls);
        match self.answers.get().whole(body, self.limits, *longest, concurrent, now) {
            Ok((answer, names)) => Some(Outcome::Answered(response(start, &answer), names)),
            Err(Refusal::Long) => {
                let (body, start) = (body.to_vec(), start.clone());
                Some(Outcome::Later(Job { body, start, longest: *longest, begun: now }))
            }
            Err(_) => None,
        }
    }

    /// Queue a request for another thread; return whether it was queued.
    fn hand_over(&self, py: Python<'_>, connection: u64, job: Job) -> bool {
        let mut pool = self.pool();
        if pool.is_none() {
            let (answers, limits) = (self.answers.clone_ref(py), self.limits);
            let work = move |job| found(answers.get(), limits, job);
            *pool = Pool::start(self.threads, Arc::new(work)).ok();
        }
        pool.as_ref().is_some_and(|pool| pool.submit(connection, job))
    }
}

fn found(answers: &HotAnswers, limits: BatchLimits, job: Job) -> Option<PooledAnswer> {
    if job.begun.elapsed() > LONGEST_WAIT {
        return None;
    }
    let (answer, names) = answers.pooled(&job.body, limits, job.longest).ok()?;
    let Names::One(method) = names else { return None };
    Some(PooledAnswer {
        response: response(&job.start, &answer),
        method: method.to_owned(),
        seconds: job.begun.elapsed().as_secs_f64(),
    })
}

/// Build a response from its start and the answer.
fn response(start: &[u8], answer: &[u8]) -> Vec<u8> {
    let mut response = Vec::with_capacity(start.len() + answer.len() + 16);
    response.extend_from_slice(start);
    response.extend_from_slice(answer.len().to_string().as_bytes());
    response.extend_from_slice(END);
    response.extend_from_slice(answer);
    response
}
