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
        call::{self, Estimates, Heavy, Kind, Purpose, Ran, Share, Surroundings},
        memory::{Account, Head, StateMemory},
        request::{self, Body, Call},
        values::{ResultKey, RunsOn},
        way::{Crowd, Way},
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
struct Round<'a> {
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

impl Round<'_> {
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
        surroundings: &Surroundings,
        wanted: request::Message,
    ) -> Answered<bool> {
        let state = self.head.at(surroundings.number);
        let notes = Arc::clone(&self.notes);
        call::find_unread(surroundings, state, wanted, self.share()?, &notes);
        let found = !self.unread().is_empty();
        self.noted_at = self.noted_at.or(found.then_some(surroundings.number));
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
    pub(crate) fn told<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
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
        let mut round = Round {
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
                self.call(&mut round, &call)?;
                Names::One(call.method)
            }
            Some(Body::Many(calls)) if (1..=limits.most_calls).contains(&calls.len()) => {
                self.many(&mut round, &calls)?
            }
            _ => return Err(Refusal::Unknown),
        };
        match round.noted_at {
            Some(number) => Err(Refusal::Unread(number, round.unread().clone())),
            None => Ok((round.out, names)),
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
        crowd: Option<&dyn Crowd>,
        now: Instant,
    ) -> Answered<(Vec<u8>, Names<'a>)> {
        let is_batch = body.first() == Some(&b'[');
        let mut time = self.time.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let seconds = if is_batch { None } else { time.available(now) };
        let seconds = seconds.map(|seconds| seconds.min(self.seconds));
        let share = seconds.map(|seconds| Share { gas: Some(self.gas), seconds, turn: None });
        let crowd = crowd.filter(|_| !is_batch);
        let answered = self.respond(body, share, limits, Way::Whole { longest, crowd });
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

    fn many<'a>(&self, round: &mut Round<'_>, calls: &[Call<'a>]) -> Answered<Names<'a>> {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for (place, call) in calls.iter().enumerate() {
            round.out.push(if place == 0 { b'[' } else { b',' });
            self.call(round, call)?;
            if round.out.len() > LONGEST && !matches!(round.way, Way::Thread { .. }) {
                return Err(Refusal::TooLong);
            }
            if round.out.len() > round.most_bytes {
                return Err(Refusal::Unknown);
            }
            match counts.iter_mut().find(|(method, _)| *method == call.method) {
                Some((_, count)) => *count += 1,
                None => counts.push((call.method, 1)),
            }
        }
        round.out.push(b']');
        Ok(Names::Many(counts))
    }

    /// Write the answer to one call.
    fn call(&self, round: &mut Round<'_>, call: &Call<'_>) -> Answered<()> {
        let id = known(call.id())?;
        round.out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        round.out.extend_from_slice(id.as_bytes());
        round.out.extend_from_slice(b",\"result\":");
        match call.method {
            "eth_getBalance" => {
                let (_, balance, _) = self.account(round, call)?.unwrap_or_default();
                quantity(&mut round.out, &balance);
            }
            "eth_getTransactionCount" => {
                let (nonce, _, _) = self.account(round, call)?.unwrap_or_default();
                quantity(&mut round.out, &U256::from(nonce));
            }
            "eth_getCode" => self.code(round, call)?,
            "eth_getStorageAt" => self.slot(round, call)?,
            "eth_call" => self.run(round, call, Purpose::Call)?,
            "eth_estimateGas" => self.run(round, call, Purpose::Estimate)?,
            method => self.result(round, call, method)?,
        }
        round.out.push(b'}');
        Ok(())
    }

    /// Return the state at the head, if the memory is at that height.
    fn head(&self, round: &Round<'_>) -> Answered<Head> {
        Ok(round.head.at(known(self.values().head)?))
    }

    fn account(&self, round: &Round<'_>, call: &Call<'_>) -> Answered<Account> {
        let address = match known(call.texts())?[..] {
            [address] => address,
            [address, block] if request::is_head(block) => address,
            _ => return Err(Refusal::Unknown),
        };
        known(self.head(round)?.account(&known(request::address(address))?))
    }

    fn code(&self, round: &mut Round<'_>, call: &Call<'_>) -> Answered<()> {
        let code_hash = self.account(round, call)?.map_or(KECCAK_EMPTY, |(_, _, hash)| hash);
        if code_hash == KECCAK_EMPTY {
            round.out.extend_from_slice(b"\"0x\"");
        } else {
            let code = known(codes::get(&code_hash))?;
            data(&mut round.out, code.original_byte_slice());
        }
        Ok(())
    }

    fn slot(&self, round: &mut Round<'_>, call: &Call<'_>) -> Answered<()> {
        let (address, slot) = match known(call.texts())?[..] {
            [address, slot] => (address, slot),
            [address, slot, block] if request::is_head(block) => (address, slot),
            _ => return Err(Refusal::Unknown),
        };
        let address = known(request::address(address))?;
        let slot = known(request::slot(slot))?;
        let value = known(self.head(round)?.slot(address, slot))?;
        data(&mut round.out, value.as_slice());
        Ok(())
    }

    /// Run a call, or estimate its gas.
    fn run(&self, round: &mut Round<'_>, call: &Call<'_>, purpose: Purpose) -> Answered<()> {
        let message = known(call.message())?;
        let state = self.head(round)?;
        let kind = Heavy::kind(&message, purpose);
        let (surroundings, rules) = self.surroundings(&message, purpose)?;
        self.pass_by(round, &kind)?;
        // Two digits per byte, and the characters around them.
        let room =
            round.way.longest().map(|longest| longest.saturating_sub(round.out.len() + 4) / 2);
        let share = round.share()?;
        let begun = Instant::now();
        let wanted = message.clone();
        if let Some(rules) = rules {
            let ran = call::estimate(&surroundings, &rules, state, message, share);
            if let Some(gas) = self.settled(round, kind, ran, &surroundings, wanted)? {
                quantity(&mut round.out, &U256::from(gas));
                self.note_time(round.way, kind, begun);
            }
        } else {
            let ran = call::run(&surroundings, state, message, room, share);
            if let Some(output) = self.settled(round, kind, ran, &surroundings, wanted)? {
                data(&mut round.out, &output);
                self.note_time(round.way, kind, begun);
            }
        }
        Ok(())
    }

    /// Return an error for a call that should not be tried this way.
    fn pass_by(&self, round: &Round<'_>, kind: &Kind) -> Answered<()> {
        let mut values = self.values();
        if let Some(crowd) = round.way.crowd()
            && values.long.contains(kind)
            && crowd.comes()
            && !values.heavy(RunsOn::Pool).passes(kind)
        {
            return Err(Refusal::Long);
        }
        let runs_on = round.way.runs_on();
        // A call in the pool has already passed this check.
        let may_pass = round.share.is_some() && !matches!(runs_on, RunsOn::Pool);
        let passes = may_pass && values.heavy(runs_on).passes(kind);
        if round.share.is_none() || passes { Err(Refusal::TooLong) } else { Ok(()) }
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
            way.crowd().inspect(|crowd| {
                crowd.comes();
            });
        }
    }

    /// Return the environment of calls, and for an estimate its parameters.
    fn surroundings(
        &self,
        message: &request::Message,
        purpose: Purpose,
    ) -> Answered<(Arc<Surroundings>, Option<Estimates>)> {
        let values = self.values();
        let surroundings = known(values.surroundings.clone())?;
        if Some(surroundings.number) != values.head {
            return Err(Refusal::Unknown);
        }
        if purpose == Purpose::Call {
            return Ok((surroundings, None));
        }
        let rules = known(values.estimates.clone())?;
        if !message.names_block && !rules.is_default {
            return Err(Refusal::Unknown);
        }
        Ok((surroundings, Some(rules)))
    }

    /// Record and return the result of a call. Return None if it needs state that is not in memory,
    /// but that can be read for it in a thread.
    fn settled<T>(
        &self,
        round: &mut Round<'_>,
        kind: Kind,
        ran: Ran<T>,
        surroundings: &Surroundings,
        wanted: request::Message,
    ) -> Answered<Option<T>> {
        if ran.is_unread && round.way.reads() && round.find_unread(surroundings, wanted)? {
            return Ok(None);
        }
        self.values().heavy(round.way.runs_on()).note(kind, &ran);
        let refusal = if ran.is_too_long() { Refusal::TooLong } else { Refusal::Unknown };
        ran.found.map(Some).ok_or(refusal)
    }

    /// Write the cached result of another method.
    fn result(&self, round: &mut Round<'_>, call: &Call<'_>, method: &str) -> Answered<()> {
        let values = self.values();
        let head = values.head;
        let result: &[u8] = match method {
            "eth_getTransactionReceipt"
            | "eth_getTransactionByHash"
            | "eth_getBlockByNumber"
            | "eth_getBlockByHash" => {
                let asked = known(asked(call, method, known(head)?))?;
                known(values.accepted.get(&asked))?
            }
            _ if call.has_no_params() => known(values.results.get(method))?,
            _ => return Err(Refusal::Unknown),
        };
        round.out.extend_from_slice(result);
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
fn asked(call: &Call<'_>, method: &str, head: u64) -> Option<ResultKey> {
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
