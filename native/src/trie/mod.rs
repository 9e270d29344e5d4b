//! The state trie over nodes that are stored by path, not by hash.
//!
//! The key of a node is `a` and its path in the account trie, or `s`, the address's hash and its
//! path in a storage trie, one nibble in each byte; the value is the node's RLP. A node of less
//! than 32 bytes stands inside its parent only; the root of a trie that is not empty always
//! stands under the empty path.

mod cache;
mod editor;
mod node;
mod source;
mod state;

use revm::primitives::B256;

pub(crate) use cache::Cache;
pub(crate) use source::Source;
pub(crate) use state::{AccountAfter, Proof, StateDifference, Update, prove, update};

/// Why stored nodes are not the trie they should be; or why they could not be read.
#[derive(Debug)]
pub(crate) enum TrieFault {
    /// A node that its parent (or the root) names is not stored.
    Missing(String),
    /// A stored node has another hash than its parent (or the root) names.
    Foreign(String),
    /// Storage was changed of an account that is not in the trie.
    NoAccount(String),
    /// The reader raised.
    Reader(pyo3::PyErr),
}

/// The root of the trie that has each item under the RLP of its index.
pub(crate) fn ordered_root(items: &[Vec<u8>]) -> B256 {
    alloy_trie::root::ordered_trie_root_encoded(items)
}
