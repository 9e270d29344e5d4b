//! Conversion of values between Python's `bytes` and `int` and the EVM's words.

use pyo3::{
    intern,
    prelude::*,
    types::{PyBytes, PyInt, PyTuple},
};
use revm::primitives::{Address, B256, Bytes, U256};

use crate::trie::{AccountAfter, StateDifference};

/// 20 bytes from Python.
#[derive(Clone, Copy)]
pub(crate) struct Addr(pub(crate) Address);

/// 32 bytes from Python: a hash, a slot or a slot's value.
#[derive(Clone, Copy)]
pub(crate) struct Word(pub(crate) B256);

/// A non-negative integer of at most 256 bits from Python.
#[derive(Clone, Copy)]
pub(crate) struct Uint(pub(crate) U256);

/// `bytes` of any length from Python, copied.
#[derive(Clone)]
pub(crate) struct Blob(pub(crate) Bytes);

fn fixed<const N: usize>(object: &Borrowed<'_, '_, PyAny>, what: &str) -> PyResult<[u8; N]> {
    let object = object.cast::<PyBytes>()?;
    let bytes = object.as_bytes();
    bytes.try_into().map_err(|_| {
        pyo3::exceptions::PyValueError::new_err(format!(
            "{what} has {N} bytes, not {}",
            bytes.len()
        ))
    })
}

impl<'py> FromPyObject<'_, 'py> for Addr {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(fixed::<20>(&object, "an address")?.into()))
    }
}

impl<'py> FromPyObject<'_, 'py> for Word {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(fixed::<32>(&object, "a word")?.into()))
    }
}

impl<'py> FromPyObject<'_, 'py> for Uint {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if !object.is_truthy()? {
            return Ok(Self(U256::ZERO));
        }
        let bytes = object.call_method1(intern!(py, "to_bytes"), (32, intern!(py, "big")))?;
        Ok(Self(U256::from_be_slice(bytes.cast::<PyBytes>()?.as_bytes())))
    }
}

impl<'py> FromPyObject<'_, 'py> for Blob {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Bytes::copy_from_slice(object.cast::<PyBytes>()?.as_bytes())))
    }
}

/// A log of the port, borrowed from Python, which is safe because tuples and `bytes` are immutable.
pub(crate) struct LogParts<'a> {
    pub(crate) address: &'a [u8],
    /// The topics in their four columns of a row.
    pub(crate) padded: [Option<&'a [u8]>; 4],
    pub(crate) data: &'a [u8],
}

impl<'a> LogParts<'a> {
    pub(crate) fn topics(&self) -> impl Iterator<Item = &'a [u8]> {
        self.padded.into_iter().flatten()
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for LogParts<'a> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let (address, Topics(padded), data) = object.extract()?;
        Ok(Self { address, padded, data })
    }
}

/// A log's topics, borrowed in the same way.
struct Topics<'a>([Option<&'a [u8]>; 4]);

impl<'a, 'py> FromPyObject<'a, 'py> for Topics<'a> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let none = None::<&[u8]>;
        let topics = match object.cast::<PyTuple>()?.len() {
            0 => [none; 4],
            1 => object.extract().map(|(a,): (_,)| [Some(a), none, none, none])?,
            2 => object.extract().map(|(a, b)| [Some(a), Some(b), none, none])?,
            3 => object.extract().map(|(a, b, c)| [Some(a), Some(b), Some(c), none])?,
            _ => object.extract().map(|(a, b, c, d)| [Some(a), Some(b), Some(c), Some(d)])?,
        };
        Ok(Self(topics))
    }
}

/// From this many logs on, work takes half a millisecond: as long as it may take to get the
/// interpreter lock back from a busy thread.
const MANY: usize = 2_000;

/// Do work on logs, without the interpreter lock if there are many.
pub(crate) fn without_lock<T: Send>(
    py: Python<'_>,
    logs: usize,
    work: impl FnOnce() -> T + Send,
) -> T {
    if logs < MANY { work() } else { py.detach(work) }
}

/// Return the logs of a receipt.
pub(crate) fn log_parts<'a>(logs: &'a Bound<'_, PyTuple>) -> PyResult<Vec<LogParts<'a>>> {
    logs.iter_borrowed().map(|log| log.extract()).collect()
}

/// Return a 256-bit number as Python's `int`.
pub(crate) fn int<'py>(py: Python<'py>, value: &U256) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(small) = u64::try_from(value) {
        return Ok(small.into_pyobject(py)?.into_any());
    }
    let bytes = PyBytes::new(py, &value.to_be_bytes::<32>());
    py.get_type::<PyInt>().call_method1(intern!(py, "from_bytes"), (bytes, intern!(py, "big")))
}

/// Return Python's `bytes`.
pub(crate) fn bytes<'py>(py: Python<'py>, value: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, value)
}

/// Return a 256-bit number as Python's `bytes`: 32, big endian.
pub(crate) fn word<'py>(py: Python<'py>, value: &U256) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &value.to_be_bytes::<32>())
}

/// Return the part of the port's `StateChanges` that the trie needs.
pub(crate) fn difference(changes: &Bound<'_, PyAny>) -> PyResult<StateDifference> {
    let py = changes.py();
    let items = |name| changes.getattr(name)?.call_method0(intern!(py, "items"))?.try_iter();
    let mut accounts = Vec::new();
    for item in items(intern!(py, "accounts"))? {
        let (address, (_, after)): (Addr, Change<'_>) = item?.extract()?;
        accounts.push((address.0, account_after(&after)?));
    }
    let mut storage = Vec::new();
    for item in items(intern!(py, "storage"))? {
        let ((address, slot), (_, after)): ((Addr, Word), (Word, Word)) = item?.extract()?;
        storage.push((address.0, slot.0, after.0.into()));
    }
    let mut cleared = Vec::new();
    for address in changes.getattr(intern!(py, "cleared"))?.try_iter()? {
        cleared.push(address?.extract::<Addr>()?.0);
    }
    Ok(StateDifference { accounts, storage, cleared })
}

/// An account before and after, not converted yet.
type Change<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

fn account_after(state: &Bound<'_, PyAny>) -> PyResult<AccountAfter> {
    if state.is_none() {
        return Ok(None);
    }
    let (nonce, balance, code_hash): (u64, Uint, Word) = state.extract()?;
    Ok(Some((nonce, balance.0, code_hash.0)))
}
