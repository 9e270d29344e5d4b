//! Conversion of results to Python: tuples, lists and dicts of plain values.

use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyTuple},
};
use revm::primitives::{Address, B256, Bytes, Log};

use crate::{
    block::{Block, Outcome},
    call::Answer,
    convert::{bytes, int, word},
    estimate::Estimate,
    overlay::Changes,
    reader::account_tuple,
    trie::{Proof, Update},
};

/// Python's `bytes` of an address.
pub(crate) fn address<'py>(py: Python<'py>, value: &Address) -> Bound<'py, PyBytes> {
    bytes(py, value.as_slice())
}

fn words<'py>(py: Python<'py>, values: &[B256]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, values.iter().map(|value| bytes(py, value.as_slice())))
}

/// (address, topics, data) of each log.
pub(crate) fn logs<'py>(py: Python<'py>, logs: &[Log]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for log in logs {
        list.append((
            address(py, &log.address),
            words(py, log.topics())?,
            bytes(py, &log.data.data),
        ))?;
    }
    Ok(list)
}

/// (succeeded, gas used, logs, contract) of a transaction.
fn outcome<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyTuple>> {
    let contract = outcome.contract.as_ref().map(|contract| address(py, contract));
    (outcome.succeeded, outcome.gas_used, logs(py, &outcome.logs)?, contract).into_pyobject(py)
}

/// (accounts, storage, codes, cleared).
pub(crate) fn changes<'py>(py: Python<'py>, changes: &Changes) -> PyResult<Bound<'py, PyTuple>> {
    let accounts = PyDict::new(py);
    for (key, before, after) in &changes.accounts {
        let before = before.as_ref().map(|info| account_tuple(py, info)).transpose()?;
        let after = after.as_ref().map(|info| account_tuple(py, info)).transpose()?;
        accounts.set_item(address(py, key), (before, after))?;
    }
    let storage = PyDict::new(py);
    for (key, slot, before, after) in &changes.storage {
        storage
            .set_item((address(py, key), word(py, slot)), (word(py, before), word(py, after)))?;
    }
    let codes = PyDict::new(py);
    for (hash, code) in &changes.codes {
        codes.set_item(bytes(py, hash.as_slice()), bytes(py, code.original_byte_slice()))?;
    }
    let cleared = PyList::new(py, changes.cleared.iter().map(|key| address(py, key)))?;
    (accounts, storage, codes, cleared).into_pyobject(py)
}

/// (included, results, skipped, gas used, changes, requests hash).
pub(crate) fn block<'py>(py: Python<'py>, block: &Block) -> PyResult<Bound<'py, PyTuple>> {
    let outcomes = PyList::empty(py);
    for one in &block.outcomes {
        outcomes.append(outcome(py, one)?)?;
    }
    let skipped: Vec<_> = block
        .skipped
        .iter()
        .map(|(index, rejection)| (*index, rejection.reason.as_str(), rejection.retry))
        .collect();
    (
        PyList::new(py, &block.included)?,
        outcomes,
        skipped,
        block.gas_used,
        changes(py, &block.changes)?,
        block.requests_hash.as_ref().map(|hash| bytes(py, hash.as_slice())),
    )
        .into_pyobject(py)
}

/// (changes, requests hash).
pub(crate) fn closed<'py>(
    py: Python<'py>,
    (changed, requests_hash): &(Changes, Option<B256>),
) -> PyResult<Bound<'py, PyTuple>> {
    let requests_hash = requests_hash.as_ref().map(|hash| bytes(py, hash.as_slice()));
    (changes(py, changed)?, requests_hash).into_pyobject(py)
}

/// (output, gas used, gas peak, error, logs, access list).
pub(crate) fn call<'py>(py: Python<'py>, answer: &Answer) -> PyResult<Bound<'py, PyTuple>> {
    let access_list = match &answer.access_list {
        None => None,
        Some(touched) => {
            let list = PyList::empty(py);
            for (key, slots) in touched {
                list.append((address(py, key), words(py, slots)?))?;
            }
            Some(list)
        }
    };
    (
        bytes(py, &answer.output),
        answer.gas_used,
        answer.gas_peak,
        answer.error.as_deref(),
        logs(py, &answer.logs)?,
        access_list,
    )
        .into_pyobject(py)
}

/// (gas, failure): a gas limit that works, or None and the call's failure, which is None for a lack
/// of gas.
pub(crate) fn estimate<'py>(
    py: Python<'py>,
    estimate: &Estimate,
) -> PyResult<(Option<u64>, Option<Bound<'py, PyTuple>>)> {
    Ok(match estimate {
        Estimate::Gas(gas) => (Some(*gas), None),
        Estimate::NotEnough => (None, None),
        Estimate::Fails(answer) => (None, Some(call(py, answer)?)),
    })
}

/// (root, nodes by key).
pub(crate) fn trie_update<'py>(py: Python<'py>, update: &Update) -> PyResult<Bound<'py, PyTuple>> {
    let nodes = PyDict::new(py);
    for (key, data) in &update.nodes {
        nodes.set_item(bytes(py, key), data.as_ref().map(|data| bytes(py, data)))?;
    }
    (bytes(py, update.root.as_slice()), nodes).into_pyobject(py)
}

fn proof_nodes<'py>(py: Python<'py>, nodes: &[Bytes]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, nodes.iter().map(|node| bytes(py, node)))
}

/// (account, storage root, account proof, [(value, proof)]).
pub(crate) fn proof<'py>(py: Python<'py>, proof: &Proof) -> PyResult<Bound<'py, PyTuple>> {
    let account = match &proof.account {
        None => None,
        Some((nonce, balance, code_hash)) => {
            Some((*nonce, int(py, balance)?, bytes(py, code_hash.as_slice())))
        }
    };
    let storage = PyList::empty(py);
    for (value, nodes) in &proof.storage {
        storage.append((word(py, value), proof_nodes(py, nodes)?))?;
    }
    let storage_root = bytes(py, proof.storage_root.as_slice());
    (account, storage_root, proof_nodes(py, &proof.account_proof)?, storage).into_pyobject(py)
}
