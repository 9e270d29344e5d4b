//! Trie nodes in memory, and how they are decoded from RLP and referenced.
//!
//! No branch has a value of its own, because all keys of a trie are hashes and have the same
//! length.

use alloy_rlp::Decodable;
use alloy_trie::{
    Nibbles, TrieMask,
    nodes::{BranchNodeRef, ExtensionNodeRef, LeafNodeRef, RlpNode, TrieNode},
};
use revm::primitives::{B256, Bytes};

/// The child of a node, or the root.
#[derive(Debug, Default)]
pub(super) enum Child {
    #[default]
    Empty,
    /// A node that is not loaded. The hash of a storage trie's root is unknown at first.
    Stored(Option<B256>),
    Loaded(Box<Node>),
}

/// A node, and its hash while it is unchanged since it was stored.
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

    /// Return whether a node with this hash can be the referenced one.
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

/// Decode a node, including those embedded in it.
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

/// Encode a leaf into a buffer; return the reference for its parent.
pub(super) fn encode_leaf(path: &Nibbles, value: &[u8], buffer: &mut Vec<u8>) -> RlpNode {
    LeafNodeRef::new(path, value).rlp(buffer)
}

/// Encode an extension into a buffer; return the reference for its parent.
pub(super) fn encode_extension(path: &Nibbles, child: &RlpNode, buffer: &mut Vec<u8>) -> RlpNode {
    ExtensionNodeRef::new(path, child.as_slice()).rlp(buffer)
}

/// Encode a branch into a buffer; return the reference for its parent.
pub(super) fn encode_branch(children: &[RlpNode], mask: TrieMask, buffer: &mut Vec<u8>) -> RlpNode {
    BranchNodeRef::new(children, mask).rlp(buffer)
}

/// Return the only child of a branch, or None if it has several.
pub(super) fn only_child(children: &[Child; 16]) -> Option<usize> {
    let mut present = children.iter().enumerate().filter(|(_, child)| !child.is_empty());
    match (present.next(), present.next()) {
        (Some((nibble, _)), None) => Some(nibble),
        _ => None,
    }
}
