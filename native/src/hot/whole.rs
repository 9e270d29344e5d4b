//! Whole requests over HTTP: heads that Python has read before, and bodies that are answered here.

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
    way::Crowd,
};

/// Bytes of a head that is looked for.
const LONGEST_HEAD: usize = 2_048;

/// Bytes of a body that is answered whatever else this turn of the event loop has to do.
const LONGEST_BODY: usize = 1_024;

/// Heads that are remembered: clients repeat theirs, but for the length of the body.
const HEADS: usize = 4_096;

/// A request that has waited longer for a thread of the pool is answered where it came from: many that take as long as
/// they may would keep all others waiting.
const LONGEST_WAIT: Duration = Duration::from_millis(5);

const END: &[u8] = b"\r\n\r\n";

/// A head, and how an answer to it begins.
struct Known {
    /// Bytes of the body.
    length: usize,
    /// Bytes of the longest answer that needs no thought: it is not compressed, nor counted.
    longest: usize,
    /// Up to the number of the answer's bytes.
    start: Vec<u8>,
}

#[derive(Default)]
struct Heads {
    known: HashMap<Vec<u8>, Known>,
    /// The server's own headers, which are in every start: another object when they are others.
    defaults: Option<Py<PyAny>>,
}

/// A request whose answer another thread finds.
struct Job {
    body: Vec<u8>,
    /// As that of its head.
    start: Vec<u8>,
    longest: usize,
    begun: Instant,
}

/// The response to a request, what it is an answer to, and the seconds it took.
struct Found {
    response: Vec<u8>,
    method: String,
    seconds: f64,
}

/// What becomes of a request.
enum Outcome<'a> {
    Answered(Vec<u8>, Names<'a>),
    Later(Job),
}

/// A connection among those that have long calls run.
struct Asker<'a> {
    whole: &'a WholeAnswers,
    connection: u64,
}

impl Crowd for Asker<'_> {
    fn comes(&self) -> bool {
        let last = self.whole.last_long().replace((self.connection, Instant::now()));
        let is_beside = last
            .is_some_and(|(other, at)| other != self.connection && at.elapsed() <= self.whole.near);
        is_beside || self.whole.pool().as_ref().is_some_and(Pool::is_busy)
    }
}

/// Answers to whole requests of one interface.
#[pyclass(frozen)]
pub(crate) struct WholeAnswers {
    answers: Py<HotAnswers>,
    /// Told the names of what was answered, as `HotAnswers.answer` gives them, and the seconds it took.
    told: Py<PyAny>,
    limits: BatchLimits,
    heads: Mutex<Heads>,
    /// On which connection a long call came last, and when.
    last_long: Mutex<Option<(u64, Instant)>>,
    /// So long after it those of other connections are beside it.
    near: Duration,
    threads: usize,
    /// Those threads, when there was something for them.
    pool: Mutex<Option<Pool<Job, Found>>>,
}

#[pymethods]
impl WholeAnswers {
    /// Remember a head without its empty line: the length of its body, and how an answer of at most `longest`
    /// bytes begins, with these headers of the server.
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
        heads.known.insert(head, Known { length, longest, start });
    }

    /// The response to one whole request on a connection; None for everything else. An empty one: `finished` has it
    /// later, by the number of the connection; for 0 it never has.
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
                self.told.bind(py).call1((names.told(py)?, started.elapsed().as_secs_f64()))?;
                Ok(Some(PyBytes::new(py, &response)))
            }
            Some(Outcome::Later(job)) => {
                Ok(self.hand_over(py, connection, job).then(|| PyBytes::new(py, b"")))
            }
            None => Ok(None),
        }
    }

    /// What can be read from when `finished` has something; None before the first empty answer.
    fn fileno(&self) -> Option<i32> {
        self.pool().as_ref().map(Pool::fileno)
    }

    /// What other threads have come to, by the numbers of the connections: the response, or None where it is not found
    /// there.
    fn finished<'py>(&self, py: Python<'py>) -> Vec<(u64, Option<Bound<'py, PyBytes>>)> {
        let finished = self.pool().as_ref().map(Pool::finished).unwrap_or_default();
        let told = |found: Found| {
            // What cannot be told goes the way of what is not found.
            let told = self.told.bind(py).call1((found.method, found.seconds));
            told.map_err(|error| error.write_unraisable(py, None)).ok()?;
            Some(PyBytes::new(py, &found.response))
        };
        finished.into_iter().map(|(connection, found)| (connection, found.and_then(told))).collect()
    }
}

impl WholeAnswers {
    pub(crate) fn new(
        answers: Py<HotAnswers>,
        told: Py<PyAny>,
        limits: BatchLimits,
        threads: usize,
        near_seconds: f64,
    ) -> Self {
        let near = Duration::try_from_secs_f64(near_seconds).unwrap_or_default();
        Self {
            answers,
            told,
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

    /// The pool of this process, if there is one.
    fn pool(&self) -> MutexGuard<'_, Option<Pool<Job, Found>>> {
        let mut pool = self.pool.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if pool.as_ref().is_some_and(|pool| !pool.is_here()) {
            // Its threads are the parent's, and so may its lock be: who would end it here might wait for ever.
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
        let Known { longest, start, .. } =
            heads.known.get(&data[..end]).filter(|known| known.length == body.len())?;
        let asker = Asker { whole: self, connection };
        let crowd = (self.threads > 1 && connection != 0).then_some(&asker as &dyn Crowd);
        match self.answers.get().whole(body, self.limits, *longest, crowd, now) {
            Ok((answer, names)) => Some(Outcome::Answered(response(start, &answer), names)),
            Err(Refusal::Long) => {
                let (body, start) = (body.to_vec(), start.clone());
                Some(Outcome::Later(Job { body, start, longest: *longest, begun: now }))
            }
            Err(_) => None,
        }
    }

    /// Have another thread find a response; whether it will.
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

fn found(answers: &HotAnswers, limits: BatchLimits, job: Job) -> Option<Found> {
    if job.begun.elapsed() > LONGEST_WAIT {
        return None;
    }
    let (answer, names) = answers.pooled(&job.body, limits, job.longest).ok()?;
    let Names::One(method) = names else { return None };
    Some(Found {
        response: response(&job.start, &answer),
        method: method.to_owned(),
        seconds: job.begun.elapsed().as_secs_f64(),
    })
}

/// A response, of which the start is known.
fn response(start: &[u8], answer: &[u8]) -> Vec<u8> {
    let mut response = Vec::with_capacity(start.len() + answer.len() + 16);
    response.extend_from_slice(start);
    response.extend_from_slice(answer.len().to_string().as_bytes());
    response.extend_from_slice(END);
    response.extend_from_slice(answer);
    response
}
