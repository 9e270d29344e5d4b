//! The logs of receipts in the form for the receipts root: their RLP and their bloom. Python's
//! `blocks.receipt` defines the format.

use alloy_rlp::{BufMut, Encodable, Header};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use revm::primitives::{
    alloy_primitives::{Bloom, BloomInput},
    map::HashSet,
};

use crate::convert::{LogParts, bytes, log_parts, without_lock};

/// Return the bloom of logs and the RLP of their list.
#[pyfunction]
pub(crate) fn encode_logs<'py>(
    py: Python<'py>,
    logs: &Bound<'py, PyTuple>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let logs = log_parts(logs)?;
    let (bloom, encoded) = without_lock(py, logs.len(), || (bloom(&logs), encode(&logs)));
    Ok((bytes(py, bloom.as_slice()), bytes(py, &encoded)))
}

/// Return the bloom of logs. The same few addresses and topics occur in many logs, so each is
/// hashed once.
fn bloom(logs: &[LogParts<'_>]) -> Bloom {
    let mut items = HashSet::<&[u8]>::default();
    for log in logs {
        items.insert(log.address);
        items.extend(log.topics());
    }
    let mut bloom = Bloom::default();
    for item in items {
        bloom.accrue(BloomInput::Raw(item));
    }
    bloom
}

fn encode(logs: &[LogParts<'_>]) -> Vec<u8> {
    let sizes: Vec<_> = logs.iter().map(Sizes::of).collect();
    let payload_length = sizes.iter().map(|one| with_header(one.log)).sum();
    let mut out = Vec::with_capacity(with_header(payload_length));
    list(&mut out, payload_length);
    for (log, sizes) in logs.iter().zip(&sizes) {
        list(&mut out, sizes.log);
        log.address.encode(&mut out);
        list(&mut out, sizes.topics);
        log.topics().for_each(|topic| topic.encode(&mut out));
        log.data.encode(&mut out);
    }
    out
}

/// Sizes in bytes of the payloads of a log's lists.
struct Sizes {
    log: usize,
    topics: usize,
}

impl Sizes {
    fn of(log: &LogParts<'_>) -> Self {
        let topics = log.topics().map(Encodable::length).sum();
        Self { log: log.address.length() + with_header(topics) + log.data.length(), topics }
    }
}

fn list(out: &mut dyn BufMut, payload_length: usize) {
    Header { list: true, payload_length }.encode(out);
}

/// Return the size in bytes of a list with a payload of this length.
fn with_header(payload_length: usize) -> usize {
    Header { list: true, payload_length }.length_with_payload()
}
