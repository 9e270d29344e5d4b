//! Whole requests over HTTP: heads that Python has read before, and bodies that are answered here.

use std::{
    collections::HashMap,
    io::Write,
    sync::{Mutex, MutexGuard},
    time::Instant,
};

use pyo3::{prelude::*, types::PyBytes};

use crate::hot::{
    answers::HotAnswers,
    respond::{BatchLimits, Names},
};

/// Bytes of a head that is looked for.
const LONGEST_HEAD: usize = 2_048;

/// Bytes of a body that is answered whatever else this turn of the event loop has to do.
const LONGEST_BODY: usize = 1_024;

/// Heads that are remembered: clients repeat theirs, but for the length of the body.
const HEADS: usize = 4_096;

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

/// Answers to whole requests of one interface.
#[pyclass(frozen)]
pub(crate) struct WholeAnswers {
    answers: Py<HotAnswers>,
    /// Told the names of what was answered, as `HotAnswers.answer` gives them, and the seconds it took.
    told: Py<PyAny>,
    limits: BatchLimits,
    heads: Mutex<Heads>,
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

    /// The response to one whole request; None for everything else.
    fn serve<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        defaults: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let started = Instant::now();
        let Some((answer, names, mut response)) = self.response(data, defaults, started) else {
            return Ok(None);
        };
        response.extend_from_slice(&answer);
        self.told.bind(py).call1((names.told(py)?, started.elapsed().as_secs_f64()))?;
        Ok(Some(PyBytes::new(py, &response)))
    }
}

/// An answer, what it is an answer to, and the head of the response.
type Response<'a> = (Vec<u8>, Names<'a>, Vec<u8>);

impl WholeAnswers {
    pub(crate) fn new(answers: Py<HotAnswers>, told: Py<PyAny>, limits: BatchLimits) -> Self {
        Self { answers, told, limits, heads: Mutex::default() }
    }

    fn heads(&self) -> MutexGuard<'_, Heads> {
        self.heads.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn response<'a>(
        &self,
        data: &'a [u8],
        defaults: &Bound<'_, PyAny>,
        now: Instant,
    ) -> Option<Response<'a>> {
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
        let known = heads.known.get(&data[..end]).filter(|known| known.length == body.len())?;
        let (answer, names) = self.answers.get().whole(body, self.limits, known.longest, now)?;
        let mut head = Vec::with_capacity(known.start.len() + answer.len() + 16);
        head.extend_from_slice(&known.start);
        write!(head, "{}\r\n\r\n", answer.len()).ok()?;
        Some((answer, names, head))
    }
}
