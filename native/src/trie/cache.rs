//! Nodes that were lately read or written, true for one root. What a block made is taken in only
//! when its commit is told, so that a commit that failed leaves the cache as true as it was.

use std::sync::{Mutex, MutexGuard};

use alloy_trie::EMPTY_ROOT_HASH;
use revm::primitives::{B256, Bytes, HashMap, keccak256};

use super::editor::Nodes;

/// A bounded cache of nodes by key. Its lock is never held while the interpreter's is waited for.
pub(crate) struct Cache {
    /// Bytes of keys and nodes that are kept at most.
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
    /// Grows with each look-up: an entry's age.
    clock: u64,
    /// The root that the last update led to, and what it does to the nodes.
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

    /// From now on the cache is for this root; what it holds for another one goes.
    pub(super) fn turn_to(&self, root: B256) {
        let mut inner = self.lock();
        if inner.root != root {
            inner.root = root;
            inner.forget();
        }
    }

    /// Drop everything: something in the stored nodes was wrong.
    pub(super) fn forget(&self) {
        self.lock().forget();
    }

    /// A node and its hash, for those keys that are here.
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

    /// Remember nodes that were read for a root.
    pub(super) fn put(&self, root: B256, nodes: impl Iterator<Item = (Vec<u8>, Bytes, B256)>) {
        let mut inner = self.lock();
        if inner.root == root {
            for (key, data, hash) in nodes {
                inner.put(key, data, hash);
            }
            inner.shrink(self.capacity);
        }
    }

    /// Keep what an update does until its commit is told.
    pub(super) fn expect(&self, before: B256, after: B256, nodes: Nodes) {
        let mut inner = self.lock();
        if inner.root == before {
            inner.pending = Some((after, nodes));
        }
    }

    /// The update that led to this root was stored.
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

    /// Half of the cache goes at once, so that sorting by age costs little for each node.
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
