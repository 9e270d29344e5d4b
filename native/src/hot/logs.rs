//! Logs out of rows, as eth_getLogs shows them: there may be thousands in an answer. Python's `wire` is the definition.

use std::io::Write;

use pyo3::{
    prelude::*,
    types::{PyBytes, PyList},
};

use crate::hot::respond::data;

/// Bytes that a log takes, mostly.
const USUAL: usize = 768;

/// What a row has, in its order: address, four topics or None, data; number, hash and timestamp of the block; hash of the
/// transaction and its index; index in the block.
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

/// Rows from one place on, so many of them at most, as JSON objects with commas between them.
#[pyfunction]
pub(crate) fn render_logs<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyList>,
    first: usize,
    most: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let end = rows.len().min(first.saturating_add(most));
    let mut out = Vec::with_capacity(USUAL * end.saturating_sub(first));
    for place in first..end {
        if place > first {
            out.push(b',');
        }
        let row = rows.get_item(place)?;
        write(&mut out, &row.extract()?);
    }
    Ok(PyBytes::new(py, &out))
}

fn write(out: &mut Vec<u8>, row: &Row<'_>) {
    let (
        address,
        topic0,
        topic1,
        topic2,
        topic3,
        bytes,
        number,
        block,
        timestamp,
        sent,
        index,
        place,
    ) = *row;
    out.extend_from_slice(b"{\"address\":");
    data(out, address);
    out.extend_from_slice(b",\"topics\":[");
    for (nth, topic) in [topic0, topic1, topic2, topic3].into_iter().flatten().enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        data(out, topic);
    }
    out.extend_from_slice(b"],\"data\":");
    data(out, bytes);
    quantity(out, "blockNumber", number);
    out.extend_from_slice(b",\"blockHash\":");
    data(out, block);
    quantity(out, "blockTimestamp", timestamp);
    out.extend_from_slice(b",\"transactionHash\":");
    data(out, sent);
    quantity(out, "transactionIndex", index);
    quantity(out, "logIndex", place);
    out.extend_from_slice(b",\"removed\":false}");
}

fn quantity(out: &mut Vec<u8>, name: &str, value: u64) {
    write!(out, ",\"{name}\":\"{value:#x}\"").expect("memory takes what is written");
}
