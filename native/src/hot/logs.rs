//! Logs from database rows in the format of eth_getLogs, whose answers may contain thousands of
//! them. Python's `wire` defines the format.

use std::io::Write;

use pyo3::{
    prelude::*,
    types::{PyBytes, PyList, PyTuple},
};

use crate::{
    convert::{LogParts, log_parts, without_lock},
    hot::respond::data,
};

/// Usual size of a log in bytes.
const USUAL: usize = 768;

/// The columns of a row: address, four topics or None, data; the columns of `LogPosition`; index of the
/// log in the block.
type Row<'a> = (
    &'a [u8],
    Option<&'a [u8]>,
    Option<&'a [u8]>,
    Option<&'a [u8]>,
    Option<&'a [u8]>,
    &'a [u8],
    u64,
    &'a [u8],
    u64,
    &'a [u8],
    u64,
    u64,
);

/// Position of a transaction: number, hash and timestamp of its block; its hash and its index.
type LogPosition<'a> = (u64, &'a [u8], u64, &'a [u8], u64);

/// Render up to `most` rows, starting at `first`, as JSON objects separated by commas.
#[pyfunction]
pub(crate) fn render_log_rows<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyList>,
    first: usize,
    most: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let end = rows.len().min(first.saturating_add(most));
    let mut out = Vec::with_capacity(USUAL * end.saturating_sub(first));
    for nth in first..end {
        if nth > first {
            out.push(b',');
        }
        let row = rows.get_item(nth)?;
        let (address, a, b, c, d, data, number, block, timestamp, sent, index, log_index): Row<'_> =
            row.extract()?;
        let log = LogParts { address, padded: [a, b, c, d], data };
        write(&mut out, &log, (number, block, timestamp, sent, index), log_index);
    }
    Ok(PyBytes::new(py, &out))
}

/// Render the logs of a transaction, the first of which has this index in its block, as JSON
/// objects separated by commas; also return where each of them ends.
#[pyfunction]
pub(crate) fn render_logs<'py>(
    py: Python<'py>,
    logs: &Bound<'py, PyTuple>,
    position: LogPosition<'_>,
    first: u64,
) -> PyResult<(Bound<'py, PyBytes>, Vec<usize>)> {
    let logs = log_parts(logs)?;
    let (out, ends) = without_lock(py, logs.len(), || {
        let mut out = Vec::with_capacity(USUAL * logs.len());
        let mut ends = Vec::with_capacity(logs.len());
        for (log, log_index) in logs.iter().zip(first..) {
            if !ends.is_empty() {
                out.push(b',');
            }
            write(&mut out, log, position, log_index);
            ends.push(out.len());
        }
        (out, ends)
    });
    Ok((PyBytes::new(py, &out), ends))
}

fn write(out: &mut Vec<u8>, log: &LogParts<'_>, position: LogPosition<'_>, log_index: u64) {
    let (number, block, timestamp, sent, index) = position;
    out.extend_from_slice(b"{\"address\":");
    data(out, log.address);
    out.extend_from_slice(b",\"topics\":[");
    for (nth, topic) in log.topics().enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        data(out, topic);
    }
    out.extend_from_slice(b"],\"data\":");
    data(out, log.data);
    quantity(out, "blockNumber", number);
    out.extend_from_slice(b",\"blockHash\":");
    data(out, block);
    quantity(out, "blockTimestamp", timestamp);
    out.extend_from_slice(b",\"transactionHash\":");
    data(out, sent);
    quantity(out, "transactionIndex", index);
    quantity(out, "logIndex", log_index);
    out.extend_from_slice(b",\"removed\":false}");
}

fn quantity(out: &mut Vec<u8>, name: &str, value: u64) {
    write!(out, ",\"{name}\":\"{value:#x}\"").expect("memory takes what is written");
}
