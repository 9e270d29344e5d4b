//! The state trie over nodes that are stored by path, not by hash.
//!
//! The key of a node is `a` and its path in the account trie, or `s`, the address's hash and its
//! path in a storage trie, with one nibble per byte; the value is the node's RLP. A node of less
//! than 32 bytes is stored only as part of its parent; the root of a non-empty trie is always
//! stored under the empty path.

mod cache;
mod editor;
mod node;
mod source;
mod state;

use revm::primitives::B256;

pub(crate) use cache::Cache;
pub(crate) use source::Source;
pub(crate) use state::{AccountAfter, Layout, Proof, StateDifference, Update, prove, update};

/// An inconsistency of the stored nodes, or a failure to read them.
#[derive(Debug)]
pub(crate) enum TrieFault {
    /// A node that its parent (or the root hash) refers to is not stored.
    Missing(String),
    /// A stored node has a different hash than its parent (or the root hash) refers to.
    Foreign(String),
    /// The storage of an account was changed that is not in the trie.
    NoAccount(String),
    /// The reader raised an exception.
    Reader(pyo3::PyErr),
}

/// Return the root of the trie that maps the RLP of each index to an item.
pub(crate) fn ordered_root(items: &[Vec<u8>]) -> B256 {
    alloy_trie::root::ordered_trie_root_encoded(items)
}
