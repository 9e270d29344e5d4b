//! State from Python's `StateReader`. Each query acquires the interpreter lock, and an exception
//! raised by the reader passes through the EVM unchanged.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Instant,
};

use pyo3::{
    intern,
    prelude::*,
    types::{PyBytes, PyTuple},
};
use revm::{
    database_interface::DBErrorMarker,
    primitives::{Address, B256, Bytes, U256},
    state::{AccountInfo, Bytecode},
};

use crate::{
    cchain_native::{CallInterrupted, NotRemembered},
    codes,
    convert::{Addr, Blob, Uint, Word, bytes, int, word},
    hot::{Head, StateMemory},
    limits,
    slots::Turn,
};

/// Maximum number of missing values that are noted for one body.
const MOST_UNREAD: usize = 4_096;

/// The exception raised by a reader's method.
#[derive(Debug)]
pub(crate) struct ReaderError(pub(crate) PyErr);

impl fmt::Display for ReaderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl std::error::Error for ReaderError {}

impl DBErrorMarker for ReaderError {}

impl From<PyErr> for ReaderError {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

/// Analyse code. Code that only looks like a delegation (overrides can set such code) is ordinary
/// code.
fn analyse(raw: Bytes) -> Bytecode {
    Bytecode::new_raw_checked(raw.clone()).unwrap_or_else(|_| Bytecode::new_legacy(raw))
}

/// The state that a call needs and that is not in memory.
#[derive(Clone, Default)]
pub(crate) struct Unread {
    pub(crate) accounts: Vec<Address>,
    pub(crate) slots: Vec<(Address, B256)>,
}

impl Unread {
    pub(crate) fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.slots.is_empty()
    }
}

/// The missing state that a reader has noted. It is read when the reader is gone.
pub(crate) type Notes = Arc<Mutex<Unread>>;

/// The process's memory of the reader's state, which can be used without the interpreter.
struct Memory {
    state: Head,
    /// An account that is always queried from the reader, which wants to know that it is read.
    watched: Option<Address>,
}

/// A `StateReader` of Python. It is not queried after a deadline, nor for values that are in
/// memory.
pub(crate) struct Reader {
    /// None: only values in memory can be read.
    object: Option<Py<PyAny>>,
    memory: Option<Memory>,
    /// If set, missing values are noted here and execution continues with default values.
    unread: Option<Notes>,
    deadline: Option<Instant>,
    turn: Option<Arc<Turn>>,
}

impl Reader {
    /// Wrap a reader of Python, which may have a `memory`: (state memory, height, watched account
    /// or None).
    pub(crate) fn new(py: Python<'_>, object: Py<PyAny>) -> PyResult<Self> {
        let found = object.bind(py).getattr_opt(intern!(py, "memory"))?;
        let memory = match found {
            Some(found) if !found.is_none() => {
                let (state, number, watched): (Py<StateMemory>, u64, Option<Addr>) =
                    found.extract()?;
                let watched = watched.map(|address| address.0);
                Some(Memory { state: state.get().at(number), watched })
            }
            _ => None,
        };
        Ok(Self { object: Some(object), memory, unread: None, deadline: None, turn: None })
    }

    /// Return a reader that has only the values in memory.
    pub(crate) fn of_memory(state: Head, watched: Address) -> Self {
        let memory = Some(Memory { state, watched: Some(watched) });
        Self { object: None, memory, unread: None, deadline: None, turn: None }
    }

    /// Return a reader that treats missing accounts as nonexistent and missing slots as zero, and
    /// notes them. So a call finds out which other values it needs, as far as they do not depend on
    /// the missing ones.
    pub(crate) fn noting(state: Head, watched: Address, unread: Notes) -> Self {
        Self { unread: Some(unread), ..Self::of_memory(state, watched) }
    }

    /// Note a missing value if there is room; return whether to continue without it.
    fn note(&self, note: impl FnOnce(&mut Unread)) -> bool {
        let Some(notes) = &self.unread else { return false };
        let mut unread = notes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let fits = unread.accounts.len() + unread.slots.len() < MOST_UNREAD;
        if fits {
            note(&mut unread);
        }
        fits
    }

    /// Return the same reader with a deadline, for a call that runs in a slot.
    pub(crate) fn within(self, deadline: Option<Instant>, turn: Option<Arc<Turn>>) -> Self {
        Self { deadline, turn, ..self }
    }

    /// Change the limits.
    pub(crate) fn limit(&mut self, deadline: Option<Instant>, turn: Option<Arc<Turn>>) {
        self.deadline = deadline;
        self.turn = turn;
    }

    /// Query Python's reader. This may take long, because it may wait for the interpreter lock or
    /// for a database.
    fn ask<T>(
        &self,
        question: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Result<T, ReaderError> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(CallInterrupted::new_err(limits::TIME).into());
        }
        let Some(object) = &self.object else {
            return Err(NotRemembered::new_err(()).into());
        };
        let turn = self.turn.as_deref();
        turn.inspect(|turn| turn.pause());
        let answer = Python::attach(|py| question(py, object.bind(py)));
        turn.inspect(|turn| turn.resume());
        answer.map_err(ReaderError)
    }

    /// Return nonce, balance and code hash, or None if the account does not exist.
    pub(crate) fn account(&self, address: Address) -> Result<Option<AccountInfo>, ReaderError> {
        if let Some(memory) = &self.memory
            && !self.is_watched(address)
            && let Some(found) = memory.state.account(&address)
        {
            return Ok(found.map(|(nonce, balance, code_hash)| AccountInfo {
                balance,
                nonce,
                code_hash,
                account_id: None,
                code: None,
            }));
        }
        if !self.is_watched(address) && self.note(|unread| unread.accounts.push(address)) {
            return Ok(None);
        }
        self.ask(|py, reader| {
            let key = bytes(py, address.as_slice());
            let found = reader.call_method1(intern!(py, "account"), (key,))?;
            if found.is_none() {
                return Ok(None);
            }
            let found = found.cast::<PyTuple>().map_err(PyErr::from)?;
            let nonce = found.get_item(0)?.extract()?;
            let balance: Uint = found.get_item(1)?.extract()?;
            let code_hash: Word = found.get_item(2)?.extract()?;
            Ok(Some(AccountInfo {
                balance: balance.0,
                nonce,
                code_hash: code_hash.0,
                account_id: None,
                code: None,
            }))
        })
    }

    fn is_watched(&self, address: Address) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.watched == Some(address))
    }

    /// Return a slot's value if it is in memory.
    pub(crate) fn remembered(&self, address: Address, slot: U256) -> Option<U256> {
        Some(self.memory.as_ref()?.state.slot(address, slot.into())?.into())
    }

    /// Return a slot's value, zero if it was never written.
    pub(crate) fn storage(&self, address: Address, slot: U256) -> Result<U256, ReaderError> {
        if let Some(found) = self.remembered(address, slot) {
            return Ok(found);
        }
        if self.note(|unread| unread.slots.push((address, slot.into()))) {
            return Ok(U256::ZERO);
        }
        self.ask(|py, reader| {
            let keys = (bytes(py, address.as_slice()), word(py, &slot));
            let value: Word = reader.call_method1(intern!(py, "storage"), keys)?.extract()?;
            Ok(value.0.into())
        })
    }

    /// Return analysed code by its hash, from the process's cache if possible.
    pub(crate) fn code(&self, hash: B256) -> Result<Bytecode, ReaderError> {
        if let Some(code) = codes::get(&hash) {
            return Ok(code);
        }
        let raw = self.ask(|py, reader| {
            let key = bytes(py, hash.as_slice());
            let code: Blob = reader.call_method1(intern!(py, "code"), (key,))?.extract()?;
            Ok(code.0)
        })?;
        let code = analyse(raw);
        codes::put(hash, code.clone());
        Ok(code)
    }

    /// Return whether any slot of an account is not zero.
    pub(crate) fn has_storage(&self, address: Address) -> Result<bool, ReaderError> {
        self.ask(|py, reader| {
            let key = bytes(py, address.as_slice());
            reader.call_method1(intern!(py, "has_storage"), (key,))?.extract()
        })
    }

    /// Return the hash of an earlier block, zero if it does not exist.
    pub(crate) fn block_hash(&self, number: u64) -> Result<B256, ReaderError> {
        let head = self.memory.as_ref().map(|memory| &memory.state);
        if let Some(hash) = head.and_then(|head| head.block_hash(number)) {
            return Ok(hash);
        }
        let hash = self.ask(|py, reader| {
            let hash: Word =
                reader.call_method1(intern!(py, "block_hash"), (number,))?.extract()?;
            Ok(hash.0)
        })?;
        if let Some(head) = head {
            head.remember_block_hash(number, hash);
        }
        Ok(hash)
    }
}

/// An `AccountState` of the port as a plain tuple.
pub(crate) type AccountTuple<'py> = (u64, Bound<'py, PyAny>, Bound<'py, PyBytes>);

/// Convert an account for Python.
pub(crate) fn account_tuple<'py>(
    py: Python<'py>,
    info: &AccountInfo,
) -> PyResult<AccountTuple<'py>> {
    Ok((info.nonce, int(py, &info.balance)?, bytes(py, info.code_hash.as_slice())))
}
