//! A partially loaded trie in memory: load nodes, read, set and delete entries, write back.

use std::collections::BTreeSet;

use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, TrieMask, nodes::RlpNode};
use revm::primitives::{B256, Bytes, HashMap, HashSet, hex, keccak256};

use super::{
    TrieFault,
    node::{Child, Kind, Node, decode, encode_branch, encode_extension, encode_leaf, only_child},
};

/// Nodes with fewer bytes are embedded in their parent.
const EMBEDDED: usize = 32;

/// Keys and the nodes to store under them; None: delete the node.
pub(crate) type Nodes = Vec<(Vec<u8>, Option<Bytes>)>;

/// A trie whose stored nodes are loaded on demand.
pub(super) struct Trie {
    prefix: Vec<u8>,
    root: Child,
    /// Nodes as they are stored, by path.
    stored: HashMap<Nibbles, Bytes>,
    /// Paths of stored nodes that have changed or no longer exist.
    stale: HashSet<Nibbles>,
}

impl Trie {
    /// Return the trie with this root; None if the root is not known yet.
    pub(super) fn new(prefix: Vec<u8>, root: Option<B256>) -> Self {
        let root = match root {
            Some(root) if root == EMPTY_ROOT_HASH => Child::Empty,
            root => Child::Stored(root),
        };
        Self { prefix, root, stored: HashMap::default(), stale: HashSet::default() }
    }

    /// Return the key under which the node at a path is stored.
    pub(super) fn key(&self, path: &Nibbles) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.prefix.len() + path.len());
        key.extend_from_slice(&self.prefix);
        key.extend(path.iter());
        key
    }

    /// Return the path of the first node on the way down a path that is not loaded.
    pub(super) fn first_unloaded(&self, path: &Nibbles) -> Option<Nibbles> {
        let (mut child, mut depth) = (&self.root, 0);
        loop {
            match child {
                Child::Empty => return None,
                Child::Stored(_) => return Some(path.slice(..depth)),
                Child::Loaded(node) => match &node.kind {
                    Kind::Leaf { .. } => return None,
                    Kind::Extension { path: way, child: below } => {
                        if !path.slice(depth..).starts_with(way) {
                            return None;
                        }
                        (child, depth) = (below, depth + way.len());
                    }
                    Kind::Branch(children) => {
                        child = &children[usize::from(path.get_unchecked(depth))];
                        depth += 1;
                    }
                },
            }
        }
    }

    /// Return the unloaded nodes that are the only child of a branch and will move up.
    pub(super) fn lonely(&self) -> BTreeSet<Nibbles> {
        let mut found = BTreeSet::new();
        lonely(&self.root, Nibbles::new(), &mut found);
        found
    }

    /// Return all unloaded children of loaded nodes; loading them repeatedly loads the whole trie.
    pub(super) fn unloaded(&self) -> BTreeSet<Nibbles> {
        let mut found = BTreeSet::new();
        unloaded(&self.root, Nibbles::new(), &mut found);
        found
    }

    /// Insert the stored node at a path, after comparing its hash with the one in its parent.
    pub(super) fn supply(
        &mut self,
        path: Nibbles,
        stored: Option<(Bytes, B256)>,
    ) -> Result<(), TrieFault> {
        let slot = place(&mut self.root, &path, 0);
        match (slot, stored) {
            (Some(slot @ Child::Stored(None)), None) => *slot = Child::Empty,
            (_, None) => {
                let name = self.name(&path);
                return Err(TrieFault::Missing(format!("trie node {name} is not stored")));
            }
            (Some(slot), Some((data, hash))) if slot.may_be(hash) => {
                let Ok(kind) = decode(&data) else { return Err(self.foreign(&path)) };
                *slot = Child::Loaded(Box::new(Node { kind, hash: Some(hash) }));
                self.stored.insert(path, data);
            }
            _ => return Err(self.foreign(&path)),
        }
        Ok(())
    }

    /// Compare the trie's root with the expected one.
    pub(super) fn check_root(&mut self, root: B256) -> Result<(), TrieFault> {
        let have = match &self.root {
            Child::Stored(None) => {
                *self = Self::new(std::mem::take(&mut self.prefix), Some(root));
                return Ok(());
            }
            Child::Empty => Some(EMPTY_ROOT_HASH),
            Child::Stored(hash) => *hash,
            Child::Loaded(node) => node.hash,
        };
        if have == Some(root) {
            return Ok(());
        }
        let name = self.name(&Nibbles::new());
        Err(TrieFault::Foreign(format!("trie {name} has another root than it should")))
    }

    /// Return the value at the end of a path, whose nodes must be loaded.
    pub(super) fn get(&self, path: &Nibbles) -> Result<Option<&Bytes>, TrieFault> {
        let (mut child, mut depth) = (&self.root, 0);
        loop {
            match child {
                Child::Empty => return Ok(None),
                Child::Stored(_) => return Err(self.unloaded_at(path, depth)),
                Child::Loaded(node) => match &node.kind {
                    Kind::Leaf { path: rest, value } => {
                        return Ok((*rest == path.slice(depth..)).then_some(value));
                    }
                    Kind::Extension { path: way, child: below } => {
                        if !path.slice(depth..).starts_with(way) {
                            return Ok(None);
                        }
                        (child, depth) = (below, depth + way.len());
                    }
                    Kind::Branch(children) => {
                        child = &children[usize::from(path.get_unchecked(depth))];
                        depth += 1;
                    }
                },
            }
        }
    }

    /// Return the stored nodes from the root down to the end of a path, all of which are loaded.
    pub(super) fn proof(&self, path: &Nibbles) -> Vec<Bytes> {
        (0..=path.len())
            .filter_map(|depth| self.stored.get(&path.slice(..depth)))
            .cloned()
            .collect()
    }

    /// Set the value at the end of a path, whose nodes must be loaded.
    pub(super) fn put(&mut self, path: &Nibbles, value: Bytes) -> Result<(), TrieFault> {
        put(&mut self.root, path, 0, value, &mut self.stale)
            .map_err(|depth| self.unloaded_at(path, depth))
    }

    /// Delete the value at the end of a path, whose nodes must be loaded. `tidy` must be called
    /// later.
    pub(super) fn delete(&mut self, path: &Nibbles) -> Result<(), TrieFault> {
        if self.get(path)?.is_some() {
            delete(&mut self.root, path, 0, &mut self.stale);
        }
        Ok(())
    }

    /// Restore the canonical form of branches after deletions; the nodes of `lonely` must be
    /// loaded.
    pub(super) fn tidy(&mut self) {
        tidy(&mut self.root, Nibbles::new(), &mut self.stale);
    }

    /// Delete all entries; the whole trie must be loaded.
    pub(super) fn clear(&mut self) {
        self.stale.extend(self.stored.keys());
        self.root = Child::Empty;
    }

    /// Return the root, and add all new, changed and deleted nodes to `nodes`.
    pub(super) fn finish(&mut self, nodes: &mut Nodes) -> B256 {
        let mut written = HashMap::default();
        let root = match &self.root {
            Child::Empty => EMPTY_ROOT_HASH,
            Child::Stored(hash) => hash.unwrap_or(EMPTY_ROOT_HASH),
            loaded => {
                let reference = write(loaded, Nibbles::new(), &mut written);
                reference.as_hash().unwrap_or_else(|| keccak256(reference.as_slice()))
            }
        };
        for path in &self.stale {
            if !written.contains_key(path) {
                nodes.push((self.key(path), None));
            }
        }
        for (path, data) in written {
            if self.stored.get(&path) != Some(&data) {
                nodes.push((self.key(&path), Some(data)));
            }
        }
        root
    }

    fn name(&self, path: &Nibbles) -> String {
        let digits: String =
            path.iter().filter_map(|nibble| char::from_digit(nibble.into(), 16)).collect();
        let kind = char::from(self.prefix[0]);
        format!("{kind}{}/{digits}", hex::encode(&self.prefix[1..]))
    }

    fn foreign(&self, path: &Nibbles) -> TrieFault {
        let name = self.name(path);
        TrieFault::Foreign(format!("trie node {name} is not the one its parent names"))
    }

    fn unloaded_at(&self, path: &Nibbles, depth: usize) -> TrieFault {
        let name = self.name(&path.slice(..depth));
        TrieFault::Missing(format!("trie node {name} is not loaded"))
    }
}

/// Return the place of a path in the trie, as far as the trie is loaded.
fn place<'trie>(child: &'trie mut Child, path: &Nibbles, depth: usize) -> Option<&'trie mut Child> {
    if depth >= path.len() {
        return (depth == path.len()).then_some(child);
    }
    match child {
        Child::Loaded(node) => match &mut node.kind {
            Kind::Leaf { .. } => None,
            Kind::Extension { path: way, child } => place(child, path, depth + way.len()),
            Kind::Branch(children) => {
                place(&mut children[usize::from(path.get_unchecked(depth))], path, depth + 1)
            }
        },
        _ => None,
    }
}

/// Mark a node that is about to change, so that its stored version is replaced.
fn touch(node: &mut Node, path: Nibbles, stale: &mut HashSet<Nibbles>) {
    if node.hash.take().is_some() {
        stale.insert(path);
    }
}

/// Set a value. Fails with the depth of a node that is not loaded.
fn put(
    slot: &mut Child,
    path: &Nibbles,
    depth: usize,
    value: Bytes,
    stale: &mut HashSet<Nibbles>,
) -> Result<(), usize> {
    let node = match slot {
        Child::Empty => {
            *slot = Child::leaf(path.slice(depth..), value);
            return Ok(());
        }
        Child::Stored(_) => return Err(depth),
        Child::Loaded(node) => node,
    };
    touch(node, path.slice(..depth), stale);
    let shared = match &mut node.kind {
        Kind::Branch(children) => {
            let child = &mut children[usize::from(path.get_unchecked(depth))];
            return put(child, path, depth + 1, value, stale);
        }
        Kind::Leaf { path: rest, value: old } => {
            let shared = rest.common_prefix_length(&path.slice(depth..));
            if depth + shared == path.len() {
                *old = value;
                return Ok(());
            }
            shared
        }
        Kind::Extension { path: way, child } => {
            let shared = way.common_prefix_length(&path.slice(depth..));
            if shared == way.len() {
                return put(child, path, depth + shared, value, stale);
            }
            shared
        }
    };
    let Child::Loaded(node) = std::mem::take(slot) else { return Ok(()) };
    *slot = fork(node.kind, shared, path.slice(depth + shared..), value);
    Ok(())
}

/// Return a branch for a new leaf that diverges from the path of a leaf or extension, below their
/// common prefix.
fn fork(old: Kind, shared: usize, rest: Nibbles, value: Bytes) -> Child {
    let mut children = Box::new([const { Child::Empty }; 16]);
    let (way, below) = match old {
        Kind::Leaf { path, value } => (path, Child::leaf(path.slice(shared + 1..), value)),
        Kind::Extension { path, child } if path.len() == shared + 1 => (path, child),
        Kind::Extension { path, child } => {
            let path_below = path.slice(shared + 1..);
            (path, Child::new(Kind::Extension { path: path_below, child }))
        }
        Kind::Branch(_) => unreachable!("a branch is never left between two nibbles"),
    };
    children[usize::from(way.get_unchecked(shared))] = below;
    children[usize::from(rest.get_unchecked(0))] = Child::leaf(rest.slice(1..), value);
    let branch = Child::new(Kind::Branch(children));
    if shared == 0 {
        return branch;
    }
    Child::new(Kind::Extension { path: way.slice(..shared), child: branch })
}

/// Delete an entry, which must exist and be loaded.
fn delete(slot: &mut Child, path: &Nibbles, depth: usize, stale: &mut HashSet<Nibbles>) {
    let Child::Loaded(node) = slot else { return };
    touch(node, path.slice(..depth), stale);
    let empty = match &mut node.kind {
        Kind::Leaf { .. } => true,
        Kind::Extension { path: way, child } => {
            delete(child, path, depth + way.len(), stale);
            child.is_empty()
        }
        Kind::Branch(children) => {
            let nibble = usize::from(path.get_unchecked(depth));
            delete(&mut children[nibble], path, depth + 1, stale);
            children.iter().all(Child::is_empty)
        }
    };
    if empty {
        *slot = Child::Empty;
    }
}

fn below(path: &Nibbles, nibble: usize) -> Nibbles {
    let mut longer = *path;
    longer.push(nibble as u8);
    longer
}

fn tidy(slot: &mut Child, path: Nibbles, stale: &mut HashSet<Nibbles>) {
    let Child::Loaded(node) = slot else { return };
    if node.hash.is_some() {
        return;
    }
    let (way, child) = match &mut node.kind {
        Kind::Leaf { .. } => return,
        Kind::Extension { path: way, child } => {
            tidy(child, path.join(way), stale);
            (*way, std::mem::take(child))
        }
        Kind::Branch(children) => {
            for (nibble, child) in children.iter_mut().enumerate() {
                tidy(child, below(&path, nibble), stale);
            }
            let Some(nibble) = only_child(children) else { return };
            (Nibbles::from_nibbles([nibble as u8]), std::mem::take(&mut children[nibble]))
        }
    };
    *slot = join(way, child, path.join(&way), stale);
}

/// Return a child with a path before it as a single node.
fn join(way: Nibbles, child: Child, path: Nibbles, stale: &mut HashSet<Nibbles>) -> Child {
    match child {
        Child::Loaded(mut node) if !matches!(node.kind, Kind::Branch(_)) => {
            touch(&mut node, path, stale);
            Child::new(match node.kind {
                Kind::Leaf { path: rest, value } => Kind::Leaf { path: way.join(&rest), value },
                Kind::Extension { path: rest, child } => {
                    Kind::Extension { path: way.join(&rest), child }
                }
                branch => branch,
            })
        }
        child => Child::new(Kind::Extension { path: way, child }),
    }
}

fn lonely(child: &Child, path: Nibbles, found: &mut BTreeSet<Nibbles>) {
    let Child::Loaded(node) = child else { return };
    if node.hash.is_some() {
        return;
    }
    match &node.kind {
        Kind::Leaf { .. } => {}
        Kind::Extension { path: way, child } => lonely(child, path.join(way), found),
        Kind::Branch(children) => {
            if let Some(nibble) = only_child(children)
                && matches!(children[nibble], Child::Stored(_))
            {
                found.insert(below(&path, nibble));
            }
            for (nibble, child) in children.iter().enumerate() {
                lonely(child, below(&path, nibble), found);
            }
        }
    }
}

fn unloaded(child: &Child, path: Nibbles, found: &mut BTreeSet<Nibbles>) {
    match child {
        Child::Empty => {}
        Child::Stored(_) => {
            found.insert(path);
        }
        Child::Loaded(node) => match &node.kind {
            Kind::Leaf { .. } => {}
            Kind::Extension { path: way, child } => unloaded(child, path.join(way), found),
            Kind::Branch(children) => {
                for (nibble, child) in children.iter().enumerate() {
                    unloaded(child, below(&path, nibble), found);
                }
            }
        },
    }
}

/// Collect the RLP of a changed node and of those below it; return the reference for its parent.
fn write(child: &Child, path: Nibbles, written: &mut HashMap<Nibbles, Bytes>) -> RlpNode {
    let node = match child {
        Child::Loaded(node) => node,
        Child::Stored(hash) => return RlpNode::word_rlp(&hash.unwrap_or(EMPTY_ROOT_HASH)),
        Child::Empty => return RlpNode::from_rlp(&[alloy_rlp::EMPTY_STRING_CODE]),
    };
    if let Some(hash) = &node.hash {
        return RlpNode::word_rlp(hash);
    }
    let mut buffer = Vec::new();
    let reference = match &node.kind {
        Kind::Leaf { path, value } => encode_leaf(path, value, &mut buffer),
        Kind::Extension { path: way, child } => {
            let child = write(child, path.join(way), written);
            encode_extension(way, &child, &mut buffer)
        }
        Kind::Branch(children) => {
            let mut references = Vec::with_capacity(16);
            let mut mask = TrieMask::default();
            for (nibble, child) in children.iter().enumerate() {
                if !child.is_empty() {
                    references.push(write(child, below(&path, nibble), written));
                    mask.set_bit(nibble as u8);
                }
            }
            encode_branch(&references, mask, &mut buffer)
        }
    };
    if buffer.len() >= EMBEDDED || path.is_empty() {
        written.insert(path, buffer.into());
    }
    reference
}
