"""Nodes of a Merkle-Patricia trie as values, and their RLP. `trie_python` changes tries.

Branches have no values here: all keys of a trie are prefix-free, because they are hashes or RLP.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from primitives.hashing import keccak256
from primitives.rlp import RlpList, encode_bytes, encode_list, iterate, read_only_item


@dataclass(slots=True)
class Leaf:
    """The end of a path, and the value stored there."""

    path: bytes
    """The rest of the key, in nibbles."""
    value: bytes
    reference: bytes | None = None
    """Its hash, unless it differs from the stored node."""


@dataclass(slots=True)
class Extension:
    """A section of a path without a branch."""

    path: bytes
    """At least one nibble."""
    child: "Node | bytes | None"
    reference: bytes | None = None


@dataclass(slots=True)
class Branch:
    """A node with up to sixteen children."""

    children: "list[Node | bytes | None]"
    reference: bytes | None = None


Node = Leaf | Extension | Branch


def decode_node(data: bytes) -> Node:
    """Return the node that the RLP encodes, including embedded nodes."""
    return _decode(read_only_item(data))


def _decode(payload: bytes) -> Node:
    items = list(iterate(payload))
    if len(items) == 17:
        return Branch([_decode_child(item) for item in items[:16]])
    flag = items[0][0] >> 4
    path = bytes.fromhex("".join(f"0{digit}" for digit in items[0].hex()[2 - (flag & 1) :]))
    if flag & 2:
        return Leaf(path, items[1])
    return Extension(path, _decode_child(items[1]))


def _decode_child(item: bytes) -> Node | bytes | None:
    if isinstance(item, RlpList):
        return _decode(item)
    return item or None


def encode_node(node: Node, children: list[bytes]) -> bytes:
    """Return a node's RLP, given the reference to each of its children (see `refer`)."""
    match node:
        case Leaf():
            return encode_list([encode_bytes(_compact(node.path, 0x20)), encode_bytes(node.value)])
        case Extension():
            return encode_list([encode_bytes(_compact(node.path, 0x00)), children[0]])
        case Branch():
            return encode_list([*children, b"\x80"])


def refer(data: bytes) -> bytes:
    """Return the reference to a node in its parent: its RLP if that is short, else its hash."""
    return data if len(data) < 32 else encode_bytes(keccak256(data))


def _compact(path: bytes, kind: int) -> bytes:
    """Return a path in hex-prefix form: flags, then two nibbles per byte."""
    digits = "".join(f"{nibble:x}" for nibble in path)
    if len(path) % 2:
        return bytes.fromhex(f"{(kind >> 4) + 1}{digits}")
    return bytes([kind]) + bytes.fromhex(digits)


def common_length(one: bytes, other: bytes) -> int:
    """Return the number of leading nibbles that two paths share."""
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return length


def fork(node: Leaf | Extension, shared: int, rest: bytes, value: bytes) -> Node:
    """Return a branch that splits a node's path and a new leaf's after their shared nibbles."""
    branch = Branch([None] * 16)
    nibble, below = node.path[shared], node.path[shared + 1 :]
    if isinstance(node, Leaf):
        branch.children[nibble] = Leaf(below, node.value)
    else:
        branch.children[nibble] = Extension(below, node.child) if below else node.child
    branch.children[rest[0]] = Leaf(rest[1:], value)
    return Extension(node.path[:shared], branch) if shared else branch


def only_child(node: Branch) -> int | None:
    """Return the nibble of a branch's child if it has only one."""
    children = [nibble for nibble, child in enumerate(node.children) if child is not None]
    return children[0] if len(children) == 1 else None


def lonely(node: Node | bytes | None, path: bytes) -> Iterator[bytes]:
    """Yield the paths of unloaded nodes that are the only child of a changed branch."""
    if node is None or isinstance(node, bytes | Leaf) or node.reference is not None:
        return
    if isinstance(node, Extension):
        yield from lonely(node.child, path + node.path)
        return
    only = only_child(node)
    if only is not None and isinstance(node.children[only], bytes):
        yield path + bytes([only])
    for nibble, child in enumerate(node.children):
        yield from lonely(child, path + bytes([nibble]))


def unloaded(node: Node | bytes | None, path: bytes) -> Iterator[bytes]:
    """Yield the paths of all unloaded nodes below a node."""
    match node:
        case bytes():
            yield path
        case Extension():
            yield from unloaded(node.child, path + node.path)
        case Branch():
            for nibble, child in enumerate(node.children):
                yield from unloaded(child, path + bytes([nibble]))
