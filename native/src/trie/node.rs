//! Nodes of a trie in memory, and how they are read from RLP and referred to.
//!
//! No branch has a value of its own: all keys of a trie have the same length, being hashes.

use alloy_rlp::Decodable;
use alloy_trie::{
    Nibbles, TrieMask,
    nodes::{BranchNodeRef, ExtensionNodeRef, LeafNodeRef, RlpNode, TrieNode},
};
use revm::primitives::{B256, Bytes};

/// What hangs below a node, or the root.
#[derive(Debug, Default)]
pub(super) enum Child {
    #[default]
    Empty,
    /// A node that was not loaded; of a storage trie's root the hash is not known at first.
    Stored(Option<B256>),
    Loaded(Box<Node>),
}

/// A node, and its hash as long as it is as it was stored.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) hash: Option<B256>,
}

/// The three kinds of nodes.
#[derive(Debug)]
pub(super) enum Kind {
    Leaf { path: Nibbles, value: Bytes },
    Extension { path: Nibbles, child: Child },
    Branch(Box<[Child; 16]>),
}

impl Child {
    pub(super) fn new(kind: Kind) -> Self {
        Self::Loaded(Box::new(Node { kind, hash: None }))
    }

    pub(super) fn leaf(path: Nibbles, value: Bytes) -> Self {
        Self::new(Kind::Leaf { path, value })
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Whether the node with this hash is the one that is meant.
    pub(super) fn may_be(&self, hash: B256) -> bool {
        matches!(self, Self::Stored(named) if named.is_none_or(|named| named == hash))
    }

    fn from_rlp(node: &RlpNode) -> alloy_rlp::Result<Self> {
        match node.as_hash() {
            Some(hash) => Ok(Self::Stored(Some(hash))),
            None => Ok(Self::new(decode(node.as_slice())?)),
        }
    }
}

/// Read a node, with those embedded in it.
pub(super) fn decode(mut rlp: &[u8]) -> alloy_rlp::Result<Kind> {
    match TrieNode::decode(&mut rlp)? {
        TrieNode::EmptyRoot => Err(alloy_rlp::Error::Custom("empty node")),
        TrieNode::Leaf(leaf) => Ok(Kind::Leaf { path: leaf.key, value: leaf.value.into() }),
        TrieNode::Extension(extension) => {
            Ok(Kind::Extension { path: extension.key, child: Child::from_rlp(&extension.child)? })
        }
        TrieNode::Branch(branch) => {
            let mut children = Box::new([const { Child::Empty }; 16]);
            for (nibble, child) in branch.as_ref().children() {
                if let Some(child) = child {
                    children[usize::from(nibble)] = Child::from_rlp(child)?;
                }
            }
            Ok(Kind::Branch(children))
        }
    }
}

/// Write a leaf to a buffer; return how its parent refers to it.
pub(super) fn encode_leaf(path: &Nibbles, value: &[u8], buffer: &mut Vec<u8>) -> RlpNode {
    LeafNodeRef::new(path, value).rlp(buffer)
}

/// Write an extension to a buffer; return how its parent refers to it.
pub(super) fn encode_extension(path: &Nibbles, child: &RlpNode, buffer: &mut Vec<u8>) -> RlpNode {
    ExtensionNodeRef::new(path, child.as_slice()).rlp(buffer)
}

/// Write a branch to a buffer; return how its parent refers to it.
pub(super) fn encode_branch(children: &[RlpNode], mask: TrieMask, buffer: &mut Vec<u8>) -> RlpNode {
    BranchNodeRef::new(children, mask).rlp(buffer)
}

/// The only child of a branch that has but one.
pub(super) fn only_child(children: &[Child; 16]) -> Option<usize> {
    let mut present = children.iter().enumerate().filter(|(_, child)| !child.is_empty());
    match (present.next(), present.next()) {
        (Some((nibble, _)), None) => Some(nibble),
        _ => None,
    }
}
