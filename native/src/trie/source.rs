//! The source of stored nodes: the cache, and behind it Python's `NodeReader`, which is queried for
//! many keys in one call.

use pyo3::{
    intern,
    prelude::*,
    types::{PyBytes, PyList},
};
use revm::primitives::{B256, Bytes, keccak256};

use super::{Cache, TrieFault};
use crate::convert::bytes;

/// The stored nodes of the state with one root.
pub(crate) struct Source<'cache> {
    pub(crate) reader: Py<PyAny>,
    pub(crate) cache: &'cache Cache,
    pub(crate) root: B256,
}

impl Source<'_> {
    /// Return the node under each key with its hash, in order; None if no node is stored there.
    pub(super) fn nodes(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<(Bytes, B256)>>, TrieFault> {
        let mut found = self.cache.get(self.root, keys);
        let unknown: Vec<usize> = (0..keys.len()).filter(|&at| found[at].is_none()).collect();
        if unknown.is_empty() {
            return Ok(found);
        }
        let read = self.ask(unknown.iter().map(|&at| keys[at].as_slice()))?;
        let mut fresh = Vec::with_capacity(read.len());
        for (&at, data) in unknown.iter().zip(read) {
            if let Some(data) = data {
                let hash = keccak256(&data);
                fresh.push((keys[at].clone(), data.clone(), hash));
                found[at] = Some((data, hash));
            }
        }
        self.cache.put(self.root, fresh.into_iter());
        Ok(found)
    }

    fn ask<'key>(
        &self,
        keys: impl ExactSizeIterator<Item = &'key [u8]>,
    ) -> Result<Vec<Option<Bytes>>, TrieFault> {
        let count = keys.len();
        let read = Python::attach(|py| -> PyResult<Vec<Option<Bytes>>> {
            let keys = PyList::new(py, keys.map(|key| bytes(py, key)))?;
            let answers = self.reader.bind(py).call_method1(intern!(py, "nodes"), (keys,))?;
            let mut read = Vec::with_capacity(count);
            for answer in answers.try_iter()? {
                let answer = answer?;
                read.push(if answer.is_none() {
                    None
                } else {
                    Some(Bytes::copy_from_slice(answer.cast::<PyBytes>()?.as_bytes()))
                });
            }
            Ok(read)
        })
        .map_err(TrieFault::Reader)?;
        if read.len() == count {
            return Ok(read);
        }
        Err(TrieFault::Missing(format!("asked for {count} trie nodes, got {}", read.len())))
    }
}
