//! Answers to frequent requests, from bytes to bytes: what is asked of the head, or was asked before.
//!
//! Python's dispatcher is the definition of each of them; what is not answered here it answers, and
//! leaves here what stays true as long as the epoch is the same. An epoch ends with every change of
//! the head, of the state or of what was set by hand.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
    time::Instant,
};

use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyBytes, PyDict},
};
use revm::primitives::{B256, KECCAK_EMPTY, U256, hex};

use crate::{
    codes,
    convert::{Addr, Word},
    environment::{Env, Environment},
    hot::{
        call::{self, Estimates, Heavy, Outcome, Share, Surroundings},
        kept::Kept,
        loop_time::LoopTime,
        memory::{Account, Head, StateMemory},
        request::{self, Body, Call},
    },
};

/// Bytes of a body's answers after which a thread goes on.
const LONGEST: usize = 1 << 20;

/// Longest result that is kept by a hash.
const LONGEST_KEPT: usize = 64 << 10;

/// Methods whose answers are kept by the hash that they are asked with.
const BY_HASH: [&str; 2] = ["eth_getTransactionReceipt", "eth_getTransactionByHash"];

struct Values {
    head: Option<u64>,
    epoch: u64,
    /// Results of methods without params, of this epoch.
    results: HashMap<String, Vec<u8>>,
    /// Results about transactions in accepted blocks, by the place of the method in `BY_HASH`.
    by_hash: Kept<(usize, B256), Box<[u8]>>,
    bytes: usize,
    surroundings: Option<Surroundings>,
    estimates: Option<Estimates>,
    heavy: Heavy,
    /// The same of calls in whole requests and frames, which have less time, and are tried again.
    heavy_whole: Heavy,
}

/// Why a request is not answered.
enum Refusal {
    /// Nobody here knows: it is Python's.
    Unknown,
    /// It takes too long for an event loop.
    TooLong,
}

type Answered<T> = Result<T, Refusal>;

fn known<T>(value: Option<T>) -> Answered<T> {
    value.ok_or(Refusal::Unknown)
}

/// Answers of one chain's head. Its results about accepted blocks take `most_bytes` at most.
#[pyclass(frozen)]
pub(crate) struct HotAnswers {
    memory: Py<StateMemory>,
    values: Mutex<Values>,
    most_bytes: usize,
    gas: u64,
    seconds: f64,
    /// What calls in whole requests and frames may take, which are in no turn of the event loop that is known.
    time: Mutex<LoopTime>,
}

#[pymethods]
impl HotAnswers {
    /// `gas` and `seconds` are what the calls of one body may use together, `whole_seconds` what those in whole
    /// requests and frames may take of the event loop.
    #[new]
    fn new(
        memory: Py<StateMemory>,
        most_bytes: usize,
        gas: u64,
        seconds: f64,
        whole_seconds: f64,
    ) -> Self {
        let values = Values {
            head: None,
            epoch: 0,
            results: HashMap::new(),
            by_hash: Kept::new(usize::MAX),
            bytes: 0,
            surroundings: None,
            estimates: None,
            heavy: Heavy::default(),
            heavy_whole: Heavy::of_all_that_fail(),
        };
        let time = Mutex::new(LoopTime::new(whole_seconds, Instant::now()));
        Self { memory, values: Mutex::new(values), most_bytes, gas, seconds, time }
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
            values.by_hash.clear();
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
        let Some(place) = BY_HASH.iter().position(|one| *one == method) else { return };
        let mut values = self.values();
        if !values.takes(epoch) || result.len() > LONGEST_KEPT {
            return;
        }
        if values.by_hash.get(&(place, hash.0)).is_none() {
            values.bytes += result.len();
            values.by_hash.put((place, hash.0), result.into());
        }
        while values.bytes > self.most_bytes {
            let dropped = values.by_hash.drop_oldest();
            values.bytes -= dropped.map_or(values.bytes, |dropped| dropped.len());
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
            values.surroundings = Some(Surroundings { number, environment, gas_cap, watched });
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

    /// How many results are kept by hash, and their bytes.
    fn kept(&self) -> (usize, usize) {
        let values = self.values();
        (values.by_hash.len(), values.bytes)
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
        let share = may_call.then_some(Share { gas: self.gas, seconds: self.seconds });
        let limits = Limits { most_calls, most_bytes };
        match self.respond(py, body, share, limits, None) {
            Ok((out, names)) => Ok(Some((PyBytes::new(py, &out), names?))),
            Err(Refusal::TooLong) => Ok(Some((PyBytes::new(py, b""), py.None().into_bound(py)))),
            Err(Refusal::Unknown) => Ok(None),
        }
    }
}

/// Of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) most_calls: usize,
    pub(crate) most_bytes: usize,
}

/// One body on its way.
struct Round<'a> {
    head: &'a StateMemory,
    /// What calls may still use; None where none may be run.
    share: Option<Share>,
    /// Seconds that they may use together.
    seconds: f64,
    begun: Option<Instant>,
    /// Of a whole request or frame the bytes of the longest answer; what is longer, or not answered, is tried again.
    longest: Option<usize>,
    most_bytes: usize,
    out: Vec<u8>,
}

impl Values {
    /// Whether what was found out in an epoch may be kept.
    fn takes(&self, epoch: u64) -> bool {
        self.epoch == epoch && self.head.is_some()
    }

    fn end_epoch(&mut self) {
        self.epoch += 1;
        self.results.clear();
        self.surroundings = None;
        self.estimates = None;
        self.heavy.clear();
        self.heavy_whole.clear();
    }
}

/// The names of what was answered, as Python is told them.
pub(crate) type Names<'py> = PyResult<Bound<'py, PyAny>>;

impl HotAnswers {
    /// The answer to a body; with a share of what calls may use, or without any calls.
    fn respond<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        share: Option<Share>,
        limits: Limits,
        longest: Option<usize>,
    ) -> Answered<(Vec<u8>, Names<'py>)> {
        let mut round = Round {
            head: self.memory.get(),
            seconds: share.as_ref().map_or(0.0, |share| share.seconds),
            share,
            begun: None,
            longest,
            most_bytes: limits.most_bytes,
            out: Vec::with_capacity(256),
        };
        let names = match request::read(body) {
            Some(Body::One(call)) => self.one(&mut round, &call, py)?,
            Some(Body::Many(calls)) if (1..=limits.most_calls).contains(&calls.len()) => {
                self.many(&mut round, &calls, py)?
            }
            _ => return Err(Refusal::Unknown),
        };
        Ok((round.out, names))
    }

    /// The answer to the body of a whole request or frame that has come now, if there is one of at most so many bytes.
    ///
    /// Calls in batches are left to who is asked next: what comes behind them may be nothing that is known here.
    pub(crate) fn whole<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        limits: Limits,
        longest: usize,
        now: Instant,
    ) -> Option<(Vec<u8>, Names<'py>)> {
        let is_batch = body.first() == Some(&b'[');
        let mut time = self.time.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let seconds = if is_batch { None } else { time.available(now) };
        let share = seconds.map(|seconds| Share { gas: self.gas, seconds });
        let answer = self.respond(py, body, share, limits, Some(longest)).ok();
        time.take(now.elapsed().as_secs_f64());
        answer.filter(|(answer, _)| answer.len() <= longest)
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn one<'py>(
        &self,
        round: &mut Round<'_>,
        call: &Call<'_>,
        py: Python<'py>,
    ) -> Answered<Names<'py>> {
        self.call(round, call)?;
        Ok(call.method.into_bound_py_any(py))
    }

    fn many<'py>(
        &self,
        round: &mut Round<'_>,
        calls: &[Call<'_>],
        py: Python<'py>,
    ) -> Answered<Names<'py>> {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for (place, call) in calls.iter().enumerate() {
            round.out.push(if place == 0 { b'[' } else { b',' });
            self.call(round, call)?;
            if round.out.len() > LONGEST {
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
        let names = PyDict::new(py);
        Ok(counts
            .iter()
            .try_for_each(|(method, count)| names.set_item(*method, *count))
            .map(|()| names.into_any()))
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
            "eth_call" => self.run(round, call, false)?,
            "eth_estimateGas" => self.run(round, call, true)?,
            method => self.result(round, call, method)?,
        }
        round.out.push(b'}');
        Ok(())
    }

    /// The state as of the head, if the memory is there.
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

    /// Run a call, or find the gas that it needs.
    fn run(&self, round: &mut Round<'_>, call: &Call<'_>, estimates: bool) -> Answered<()> {
        let message = known(call.message())?;
        let state = self.head(round)?;
        let share = round.share.as_mut().ok_or(Refusal::TooLong)?;
        let begun = *round.begun.get_or_insert_with(Instant::now);
        share.seconds = round.seconds - begun.elapsed().as_secs_f64();
        let mut values = self.values();
        let Values { head, surroundings, estimates: rules, heavy, heavy_whole, .. } = &mut *values;
        let heavy = if round.longest.is_some() { heavy_whole } else { heavy };
        let surroundings = known(surroundings.as_ref())?;
        if Some(surroundings.number) != *head {
            return Err(Refusal::Unknown);
        }
        if estimates {
            let rules = known(rules.as_ref())?;
            if !message.names_block && !rules.is_default {
                return Err(Refusal::Unknown);
            }
            let gas = call::estimate(surroundings, rules, state, message, share, heavy).found()?;
            quantity(&mut round.out, &U256::from(gas));
        } else {
            // Two digits a byte, and what stands around them.
            let room = round.longest.map(|longest| longest.saturating_sub(round.out.len() + 4) / 2);
            let output = call::run(surroundings, state, message, room, share, heavy).found()?;
            data(&mut round.out, &output);
        }
        Ok(())
    }

    /// What was kept of another method.
    fn result(&self, round: &mut Round<'_>, call: &Call<'_>, method: &str) -> Answered<()> {
        if let Some(place) = BY_HASH.iter().position(|one| *one == method) {
            let texts = known(call.texts())?;
            let [hash] = texts[..] else { return Err(Refusal::Unknown) };
            let hash = known(request::word(hash))?;
            let values = self.values();
            known(values.head)?;
            round.out.extend_from_slice(known(values.by_hash.get(&(place, hash)))?);
            return Ok(());
        }
        if !call.has_no_params() {
            return Err(Refusal::Unknown);
        }
        round.out.extend_from_slice(known(self.values().results.get(method))?);
        Ok(())
    }
}

impl<T> Outcome<T> {
    fn found(self) -> Answered<T> {
        match self {
            Self::Found(found) => Ok(found),
            Self::TooLong => Err(Refusal::TooLong),
            Self::Unknown => Err(Refusal::Unknown),
        }
    }
}

fn quantity(out: &mut Vec<u8>, value: &U256) {
    out.extend_from_slice(format!("\"{value:#x}\"").as_bytes());
}

/// Write bytes as JSON has them.
pub(crate) fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"\"0x");
    let start = out.len();
    out.resize(start + 2 * bytes.len(), 0);
    hex::encode_to_slice(bytes, &mut out[start..]).expect("room for two digits a byte");
    out.push(b'"');
}
