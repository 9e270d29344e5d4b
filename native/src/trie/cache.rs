//! A cache of trie nodes that were recently read or written, valid for one root. A block's nodes
//! are added only when its commit is reported, so that the cache stays valid if the commit fails.

use std::sync::{Mutex, MutexGuard};

use alloy_trie::EMPTY_ROOT_HASH;
use revm::primitives::{B256, Bytes, HashMap, keccak256};

use super::editor::Nodes;

/// A cache of nodes by key, limited in size. Its lock is never held while waiting for the
/// interpreter lock.
pub(crate) struct Cache {
    /// Maximum number of bytes of keys and nodes in the cache.
    capacity: usize,
    inner: Mutex<Inner>,
}

struct Entry {
    data: Bytes,
    hash: B256,
    used: u64,
}

struct Inner {
    root: B256,
    entries: HashMap<Vec<u8>, Entry>,
    held: usize,
    /// Increases with each access; the value at an entry's last access is its age.
    clock: u64,
    /// The root after the last update, and the nodes that it changed.
    pending: Option<(B256, Nodes)>,
}

impl Cache {
    pub(crate) fn new(capacity: usize) -> Self {
        let inner = Inner {
            root: EMPTY_ROOT_HASH,
            entries: HashMap::default(),
            held: 0,
            clock: 0,
            pending: None,
        };
        Self { capacity, inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Make the cache valid for this root; drop the entries if they belong to another one.
    pub(super) fn turn_to(&self, root: B256) {
        let mut inner = self.lock();
        if inner.root != root {
            inner.root = root;
            inner.forget();
        }
    }

    /// Drop everything, because the stored nodes were inconsistent.
    pub(super) fn forget(&self) {
        self.lock().forget();
    }

    /// Return the node and its hash for each key that is in the cache.
    pub(super) fn get(&self, root: B256, keys: &[Vec<u8>]) -> Vec<Option<(Bytes, B256)>> {
        let mut inner = self.lock();
        if inner.root != root {
            return vec![None; keys.len()];
        }
        inner.clock += 1;
        let now = inner.clock;
        let found = |key: &Vec<u8>| {
            let entry: &mut Entry = inner.entries.get_mut(key)?;
            entry.used = now;
            Some((entry.data.clone(), entry.hash))
        };
        keys.iter().map(found).collect()
    }

    /// Add nodes that were read for a root.
    pub(super) fn put(&self, root: B256, nodes: impl Iterator<Item = (Vec<u8>, Bytes, B256)>) {
        let mut inner = self.lock();
        if inner.root == root {
            for (key, data, hash) in nodes {
                inner.put(key, data, hash);
            }
            inner.shrink(self.capacity);
        }
    }

    /// Save the changes of an update until its commit is reported.
    pub(super) fn expect(&self, before: B256, after: B256, nodes: Nodes) {
        let mut inner = self.lock();
        if inner.root == before {
            inner.pending = Some((after, nodes));
        }
    }

    /// Apply the update with this root; its nodes are now stored.
    pub(crate) fn commit(&self, root: B256) {
        let mut inner = self.lock();
        let Some((_, nodes)) = inner.pending.take_if(|(after, _)| *after == root) else { return };
        inner.root = root;
        inner.clock += 1;
        for (key, data) in nodes {
            match data {
                Some(data) => {
                    let hash = keccak256(&data);
                    inner.put(key, data, hash);
                }
                None => inner.remove(&key),
            }
        }
        inner.shrink(self.capacity);
    }
}

impl Inner {
    fn forget(&mut self) {
        self.entries.clear();
        self.held = 0;
        self.pending = None;
    }

    fn put(&mut self, key: Vec<u8>, data: Bytes, hash: B256) {
        self.remove(&key);
        self.held += key.len() + data.len();
        self.entries.insert(key, Entry { data, hash, used: self.clock });
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some(entry) = self.entries.remove(key) {
            self.held -= key.len() + entry.data.len();
        }
    }

    /// Drop half of the cache in one go, so that sorting by age costs little per node.
    fn shrink(&mut self, capacity: usize) {
        if self.held <= capacity {
            return;
        }
        let mut ages: Vec<_> =
            self.entries.iter().map(|(key, entry)| (entry.used, key.clone())).collect();
        ages.sort_unstable();
        for (_, key) in ages {
            if self.held <= capacity / 2 {
                break;
            }
            self.remove(&key);
        }
    }
}
