//! From a request body to the answer: which result is requested, and how it is written.

use std::{
    sync::{Arc, MutexGuard},
    time::Instant,
};

use pyo3::{IntoPyObjectExt, prelude::*, types::PyDict};
use revm::primitives::{KECCAK_EMPTY, U256, hex};

use crate::{
    codes,
    hot::{
        answers::HotAnswers,
        call::{self, CallEnvironment, CallOutcome, Estimates, Kind, Purpose, Share, SlowKinds},
        memory::{Account, Head, StateMemory},
        request::{self, Body, Call},
        values::{ResultKey, RunsOn},
        way::{ConcurrentCalls, Way},
    },
    reader::{Notes, Unread},
};

/// Size of a batch's answers in bytes beyond which a thread must answer it.
const LONGEST: usize = 1 << 20;

/// Maximum seconds of a call in a thread of the pool. The last call of its kind was short enough for
/// an event loop, but the thread may have to wait for a processor.
const SECONDS_IN_POOL: f64 = 0.005;

/// The reason why a request is not answered.
pub(super) enum Refusal {
    /// It cannot be answered here; Python must answer.
    Unknown,
    /// It takes too long for an event loop.
    TooLong,
    /// It should be run in another thread.
    Long,
    /// It can be answered once this state at a height is in memory.
    Unread(u64, Unread),
}

pub(super) type Answered<T> = Result<T, Refusal>;

fn known<T>(value: Option<T>) -> Answered<T> {
    value.ok_or(Refusal::Unknown)
}

/// The limits of a batch.
#[derive(Clone, Copy)]
pub(crate) struct BatchLimits {
    pub(crate) most_calls: usize,
    pub(crate) most_bytes: usize,
}

/// A body that is being answered.
struct BodyAnswer<'a> {
    head: &'a StateMemory,
    way: Way<'a>,
    /// The remaining limits of calls; None if no calls may be run.
    share: Option<Share>,
    /// Seconds that all calls may use together.
    seconds: f64,
    begun: Option<Instant>,
    most_bytes: usize,
    /// The state that calls in a thread need and that is not in memory, and its height.
    notes: Notes,
    noted_at: Option<u64>,
    out: Vec<u8>,
}

impl BodyAnswer<'_> {
    /// Return the limits of a call that starts now, if there is time left for it.
    ///
    /// Small calls do not check the clock themselves, so without this check many of them could end
    /// far too late.
    fn share(&mut self) -> Answered<&mut Share> {
        let share = self.share.as_mut().ok_or(Refusal::TooLong)?;
        if let Some(call_slots) = self.way.call_slots()
            && share.turn.is_none()
        {
            share.turn = call_slots.enter(None);
        }
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let goes_on = share.turn.as_ref().is_none_or(|turn| turn.take_turns());
        share.seconds = self.seconds - begun.elapsed().as_secs_f64();
        if goes_on && share.seconds > 0.0 { Ok(share) } else { Err(Refusal::TooLong) }
    }

    /// Note the state that a call needs and that is not in memory; return whether there is any.
    fn find_unread(
        &mut self,
        call_environment: &CallEnvironment,
        wanted: request::Message,
    ) -> Answered<bool> {
        let state = self.head.at(call_environment.number);
        let notes = Arc::clone(&self.notes);
        call::find_unread(call_environment, state, wanted, self.share()?, &notes);
        let found = !self.unread().is_empty();
        self.noted_at = self.noted_at.or(found.then_some(call_environment.number));
        Ok(found)
    }

    fn unread(&self) -> MutexGuard<'_, Unread> {
        self.notes.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The method names of the answered calls.
pub(crate) enum Names<'a> {
    One(&'a str),
    /// The number of calls of a batch by method.
    Many(Vec<(&'a str, usize)>),
}

impl Names<'_> {
    /// Return the names for Python's callback.
    pub(crate) fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::One(method) => method.into_bound_py_any(py),
            Self::Many(counts) => {
                let names = PyDict::new(py);
                for (method, count) in counts {
                    names.set_item(method, count)?;
                }
                Ok(names.into_any())
            }
        }
    }
}

impl HotAnswers {
    /// Answer a body, with a share of the limits for calls, or without any calls.
    pub(super) fn respond<'a>(
        &self,
        body: &'a [u8],
        share: Option<Share>,
        limits: BatchLimits,
        way: Way<'_>,
    ) -> Answered<(Vec<u8>, Names<'a>)> {
        let mut body_answer = BodyAnswer {
            head: self.memory.get(),
            way,
            seconds: share.as_ref().map_or(0.0, |share| share.seconds),
            share,
            begun: None,
            most_bytes: limits.most_bytes,
            notes: Notes::default(),
            noted_at: None,
            out: Vec::with_capacity(256),
        };
        let names = match request::read(body) {
            Some(Body::One(call)) => {
                self.call(&mut body_answer, &call)?;
                Names::One(call.method)
            }
            Some(Body::Many(calls)) if (1..=limits.most_calls).contains(&calls.len()) => {
                self.many(&mut body_answer, &calls)?
            }
            _ => return Err(Refusal::Unknown),
        };
        match body_answer.noted_at {
            Some(number) => Err(Refusal::Unread(number, body_answer.unread().clone())),
            None => Ok((body_answer.out, names)),
        }
    }

    /// Answer the body of a whole request or frame that has just arrived.
    ///
    /// Batches with calls are left to Python, because a later request of the batch may not be
    /// answerable here.
    pub(super) fn whole<'a>(
        &self,
        body: &'a [u8],
        limits: BatchLimits,
        longest: usize,
        concurrent: Option<&dyn ConcurrentCalls>,
        now: Instant,
    ) -> Answered<(Vec<u8>, Names<'a>)> {
        let is_batch = body.first() == Some(&b'[');
        let mut time = self.time.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let seconds = if is_batch { None } else { time.available(now) };
        let seconds = seconds.map(|seconds| seconds.min(self.seconds));
        let share = seconds.map(|seconds| Share { gas: Some(self.gas), seconds, turn: None });
        let concurrent = concurrent.filter(|_| !is_batch);
        let answered = self.respond(body, share, limits, Way::Whole { longest, concurrent });
        time.take(now.elapsed().as_secs_f64());
        fitting(answered, longest)
    }

    /// Answer a body with long calls, in a thread of the pool.
    pub(super) fn pooled<'a>(
        &self,
        body: &'a [u8],
        limits: BatchLimits,
        longest: usize,
    ) -> Answered<(Vec<u8>, Names<'a>)> {
        let share = Share { gas: None, seconds: SECONDS_IN_POOL, turn: None };
        fitting(self.respond(body, Some(share), limits, Way::Pool { longest }), longest)
    }

    fn many<'a>(
        &self,
        body_answer: &mut BodyAnswer<'_>,
        calls: &[Call<'a>],
    ) -> Answered<Names<'a>> {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for (place, call) in calls.iter().enumerate() {
            body_answer.out.push(if place == 0 { b'[' } else { b',' });
            self.call(body_answer, call)?;
            if body_answer.out.len() > LONGEST && !matches!(body_answer.way, Way::Thread { .. }) {
                return Err(Refusal::TooLong);
            }
            if body_answer.out.len() > body_answer.most_bytes {
                return Err(Refusal::Unknown);
            }
            match counts.iter_mut().find(|(method, _)| *method == call.method) {
                Some((_, count)) => *count += 1,
                None => counts.push((call.method, 1)),
            }
        }
        body_answer.out.push(b']');
        Ok(Names::Many(counts))
    }

    /// Write the answer to one call.
    fn call(&self, body_answer: &mut BodyAnswer<'_>, call: &Call<'_>) -> Answered<()> {
        let id = known(call.id())?;
        body_answer.out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        body_answer.out.extend_from_slice(id.as_bytes());
        body_answer.out.extend_from_slice(b",\"result\":");
        match call.method {
            "eth_getBalance" => {
                let (_, balance, _) = self.account(body_answer, call)?.unwrap_or_default();
                quantity(&mut body_answer.out, &balance);
            }
            "eth_getTransactionCount" => {
                let (nonce, _, _) = self.account(body_answer, call)?.unwrap_or_default();
                quantity(&mut body_answer.out, &U256::from(nonce));
            }
            "eth_getCode" => self.code(body_answer, call)?,
            "eth_getStorageAt" => self.slot(body_answer, call)?,
            "eth_call" => self.run(body_answer, call, Purpose::Call)?,
            "eth_estimateGas" => self.run(body_answer, call, Purpose::Estimate)?,
            method => self.result(body_answer, call, method)?,
        }
        body_answer.out.push(b'}');
        Ok(())
    }

    /// Return the state at the head, if the memory is at that height.
    fn head(&self, body_answer: &BodyAnswer<'_>) -> Answered<Head> {
        Ok(body_answer.head.at(known(self.values().head)?))
    }

    fn account(&self, body_answer: &BodyAnswer<'_>, call: &Call<'_>) -> Answered<Account> {
        let address = match known(call.texts())?[..] {
            [address] => address,
            [address, block] if request::is_head(block) => address,
            _ => return Err(Refusal::Unknown),
        };
        known(self.head(body_answer)?.account(&known(request::address(address))?))
    }

    fn code(&self, body_answer: &mut BodyAnswer<'_>, call: &Call<'_>) -> Answered<()> {
        let code_hash = self.account(body_answer, call)?.map_or(KECCAK_EMPTY, |(_, _, hash)| hash);
        if code_hash == KECCAK_EMPTY {
            body_answer.out.extend_from_slice(b"\"0x\"");
        } else {
            let code = known(codes::get(&code_hash))?;
            data(&mut body_answer.out, code.original_byte_slice());
        }
        Ok(())
    }

    fn slot(&self, body_answer: &mut BodyAnswer<'_>, call: &Call<'_>) -> Answered<()> {
        let (address, slot) = match known(call.texts())?[..] {
            [address, slot] => (address, slot),
            [address, slot, block] if request::is_head(block) => (address, slot),
            _ => return Err(Refusal::Unknown),
        };
        let address = known(request::address(address))?;
        let slot = known(request::slot(slot))?;
        let value = known(self.head(body_answer)?.slot(address, slot))?;
        data(&mut body_answer.out, value.as_slice());
        Ok(())
    }

    /// Run a call, or estimate its gas.
    fn run(
        &self,
        body_answer: &mut BodyAnswer<'_>,
        call: &Call<'_>,
        purpose: Purpose,
    ) -> Answered<()> {
        let message = known(call.message())?;
        let state = self.head(body_answer)?;
        let kind = SlowKinds::kind(&message, purpose);
        let (call_environment, rules) = self.call_environment(&message, purpose)?;
        self.pass_by(body_answer, &kind)?;
        // Two digits per byte, and the characters around them.
        let room = body_answer
            .way
            .longest()
            .map(|longest| longest.saturating_sub(body_answer.out.len() + 4) / 2);
        let share = body_answer.share()?;
        let begun = Instant::now();
        let wanted = message.clone();
        if let Some(rules) = rules {
            let ran = call::estimate(&call_environment, &rules, state, message, share);
            if let Some(gas) = self.settled(body_answer, kind, ran, &call_environment, wanted)? {
                quantity(&mut body_answer.out, &U256::from(gas));
                self.note_time(body_answer.way, kind, begun);
            }
        } else {
            let ran = call::run(&call_environment, state, message, room, share);
            if let Some(output) = self.settled(body_answer, kind, ran, &call_environment, wanted)? {
                data(&mut body_answer.out, &output);
                self.note_time(body_answer.way, kind, begun);
            }
        }
        Ok(())
    }

    /// Return an error for a call that should not be tried this way.
    fn pass_by(&self, body_answer: &BodyAnswer<'_>, kind: &Kind) -> Answered<()> {
        let mut values = self.values();
        if let Some(concurrent) = body_answer.way.concurrent()
            && values.long.contains(kind)
            && concurrent.note_long_call()
            && !values.heavy(RunsOn::Pool).passes(kind)
        {
            return Err(Refusal::Long);
        }
        let runs_on = body_answer.way.runs_on();
        // A call in the pool has already passed this check.
        let may_pass = body_answer.share.is_some() && !matches!(runs_on, RunsOn::Pool);
        let passes = may_pass && values.heavy(runs_on).passes(kind);
        if body_answer.share.is_none() || passes { Err(Refusal::TooLong) } else { Ok(()) }
    }

    /// Record whether an answered call was long. Calls in Python's threads are ignored: they may be
    /// far too long for the pool.
    fn note_time(&self, way: Way<'_>, kind: Kind, begun: Instant) {
        if matches!(way, Way::Thread { .. }) {
            return;
        }
        let is_long = begun.elapsed().as_secs_f64() >= self.long_seconds;
        self.values().long.note(kind, is_long);
        if is_long {
            way.concurrent().inspect(|concurrent| {
                concurrent.note_long_call();
            });
        }
    }

    /// Return the environment of calls, and for an estimate its parameters.
    fn call_environment(
        &self,
        message: &request::Message,
        purpose: Purpose,
    ) -> Answered<(Arc<CallEnvironment>, Option<Estimates>)> {
        let values = self.values();
        let call_environment = known(values.call_environment.clone())?;
        if Some(call_environment.number) != values.head {
            return Err(Refusal::Unknown);
        }
        if purpose == Purpose::Call {
            return Ok((call_environment, None));
        }
        let rules = known(values.estimates.clone())?;
        if !message.names_block && !rules.is_default {
            return Err(Refusal::Unknown);
        }
        Ok((call_environment, Some(rules)))
    }

    /// Record and return the result of a call. Return None if it needs state that is not in memory,
    /// but that can be read for it in a thread.
    fn settled<T>(
        &self,
        body_answer: &mut BodyAnswer<'_>,
        kind: Kind,
        ran: CallOutcome<T>,
        call_environment: &CallEnvironment,
        wanted: request::Message,
    ) -> Answered<Option<T>> {
        if ran.is_unread
            && body_answer.way.reads()
            && body_answer.find_unread(call_environment, wanted)?
        {
            return Ok(None);
        }
        self.values().heavy(body_answer.way.runs_on()).note(kind, &ran);
        let refusal = if ran.is_too_long() { Refusal::TooLong } else { Refusal::Unknown };
        ran.found.map(Some).ok_or(refusal)
    }

    /// Write the cached result of another method.
    fn result(
        &self,
        body_answer: &mut BodyAnswer<'_>,
        call: &Call<'_>,
        method: &str,
    ) -> Answered<()> {
        let values = self.values();
        let head = values.head;
        let result: &[u8] = match method {
            "eth_getTransactionReceipt"
            | "eth_getTransactionByHash"
            | "eth_getBlockByNumber"
            | "eth_getBlockByHash" => {
                let key = known(result_key(call, method, known(head)?))?;
                known(values.accepted.get(&key))?
            }
            _ if call.has_no_params() => known(values.results.get(method))?,
            _ => return Err(Refusal::Unknown),
        };
        body_answer.out.extend_from_slice(result);
        Ok(())
    }
}

/// Reject an answer that is longer than `longest` bytes.
fn fitting(
    answered: Answered<(Vec<u8>, Names<'_>)>,
    longest: usize,
) -> Answered<(Vec<u8>, Names<'_>)> {
    answered
        .and_then(|found| if found.0.len() <= longest { Ok(found) } else { Err(Refusal::Unknown) })
}

/// Return the cache key of a request about an accepted block.
fn result_key(call: &Call<'_>, method: &str, head: u64) -> Option<ResultKey> {
    let hash = || match call.texts()?[..] {
        [hash] => request::word(hash),
        _ => None,
    };
    match method {
        "eth_getTransactionReceipt" => hash().map(ResultKey::Receipt),
        "eth_getTransactionByHash" => hash().map(ResultKey::Transaction),
        "eth_getBlockByHash" => {
            let (hash, full) = call.block()?;
            Some(ResultKey::BlockByHash(request::word(hash)?, full))
        }
        _ => {
            let (block, full) = call.block()?;
            let number = if request::is_head(block) { head } else { request::number(block)? };
            Some(ResultKey::BlockByNumber(number, full))
        }
    }
}

fn quantity(out: &mut Vec<u8>, value: &U256) {
    out.extend_from_slice(format!("\"{value:#x}\"").as_bytes());
}

/// Write bytes as a JSON string in hexadecimal.
pub(crate) fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"\"0x");
    let start = out.len();
    out.resize(start + 2 * bytes.len(), 0);
    hex::encode_to_slice(bytes, &mut out[start..]).expect("room for two digits a byte");
    out.push(b'"');
}
