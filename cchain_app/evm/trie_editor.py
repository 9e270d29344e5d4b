"""One Merkle-Patricia trie, in memory as far as it is accessed: load, read, set, delete, write back.

`trie_python` defines the tries that exist and the meaning of their values.
"""

from collections.abc import Iterable, Mapping

from cchain_app.evm.trie import TrieError
from cchain_app.evm.trie_nodes import (
    Branch,
    Extension,
    Leaf,
    Node,
    common_length,
    decode_node,
    encode_node,
    fork,
    lonely,
    only_child,
    refer,
    unloaded,
)
from primitives.evm import Hash
from primitives.hashing import EMPTY_ROOT, keccak256
from primitives.rlp import encode_bytes


class TrieEditor:
    """A trie whose stored nodes are loaded on demand."""

    def __init__(self, prefix: bytes, root: Hash | None = EMPTY_ROOT) -> None:
        """Start with the trie of this root; None if the root is not known yet."""
        self.prefix = prefix
        self._root: Node | bytes | None = None if root == EMPTY_ROOT else (root or b"")
        self._stored: dict[bytes, bytes] = {}
        self._stale: set[bytes] = set()

    # Loading

    def wanted(self, paths: Iterable[bytes]) -> set[bytes]:
        """Return the first node on each path that is not loaded."""
        found = (self._first_unloaded(path) for path in paths)
        return {path for path in found if path is not None}

    def wanted_siblings(self) -> set[bytes]:
        """Return the unloaded nodes that are a branch's only child and will move up."""
        return set(lonely(self._root, b""))

    def supply(self, path: bytes, data: bytes | None) -> None:
        """Add the stored node at a path that `wanted` or `wanted_siblings` returned.

        Raises:
            TrieError: It is not stored, although its parent references it, or it is another node than that.
        """
        reference = self._reference_at(path)
        if data is None:
            if reference == b"":
                self._root = None
                return
            raise TrieError(f"trie node {self._name(path)} is not stored")
        node = decode_node(data)
        node.reference = keccak256(data)
        if reference not in (b"", node.reference):
            raise TrieError(f"trie node {self._name(path)} is not the one its parent names")
        self._stored[path] = data
        self._replace(path, node)

    def check_root(self, root: Hash) -> None:
        """Compare the loaded trie with a root from another source.

        Raises:
            TrieError: The roots differ.
        """
        if self._root == b"":
            self._root = None if root == EMPTY_ROOT else root
            return
        have = EMPTY_ROOT if self._root is None else _reference_of(self._root)
        if have != root:
            raise TrieError(f"trie {self._name(b'')} has another root than it should")

    # Reading

    def get(self, path: bytes) -> bytes | None:
        """Return the value at the end of a path, which must be loaded."""
        node: Node | bytes | None = self._root
        depth = 0
        while node is not None:
            match node:
                case Leaf():
                    return node.value if node.path == path[depth:] else None
                case Extension():
                    if not path.startswith(node.path, depth):
                        return None
                    depth += len(node.path)
                    node = node.child
                case Branch():
                    node = node.children[path[depth]]
                    depth += 1
                case _:
                    raise TrieError(f"trie node {self._name(path[:depth])} is not loaded")
        return None

    def proof(self, path: bytes) -> list[bytes]:
        """Return the stored nodes from the root down to the end of a path; all must be loaded."""
        return [
            self._stored[path[:depth]]
            for depth in range(len(path) + 1)
            if path[:depth] in self._stored
        ]

    # Changing

    def put(self, path: bytes, value: bytes) -> None:
        """Set the value at the end of a path, which must be loaded."""
        self._root = self._put(self._root, path, 0, value)

    def delete(self, path: bytes) -> None:
        """Delete the value at the end of a path, which must be loaded. Call `tidy` later."""
        if self.get(path) is not None:
            self._root = self._delete(self._root, path, 0)

    def tidy(self) -> None:
        """Restore the canonical form of branches after deletions.

        The nodes that `wanted_siblings` returned must be loaded.
        """
        self._root = self._tidied(self._root, b"")

    def clear(self) -> None:
        """Drop all entries. Nodes that were never loaded remain stored: call `load_everything` first."""
        self._stale.update(self._stored)
        self._root = None

    def everything(self) -> set[bytes]:
        """Return all unloaded children of loaded nodes; repeated calls reach the whole trie."""
        return set(unloaded(self._root, b""))

    def finish(self) -> tuple[Hash, Mapping[bytes, bytes | None]]:
        """Return the root, and by key the nodes that are new, changed or deleted (None)."""
        written: dict[bytes, bytes] = {}
        root = EMPTY_ROOT
        if self._root is not None:
            reference = self._write(self._root, b"", written)
            root = Hash(reference[1:] if len(reference) == 33 else keccak256(reference))
        nodes: dict[bytes, bytes | None] = {
            self.prefix + path: None for path in sorted(self._stale) if path not in written
        }
        for path, data in written.items():
            if self._stored.get(path) != data:
                nodes[self.prefix + path] = data
        return root, nodes

    # Internals

    def _name(self, path: bytes) -> str:
        return f"{self.prefix[:1].decode()}{self.prefix[1:].hex()}/{path.hex()[1::2]}"

    def _first_unloaded(self, path: bytes) -> bytes | None:
        node, depth = self._root, 0
        while isinstance(node, Branch | Extension):
            if isinstance(node, Branch):
                node, depth = node.children[path[depth]], depth + 1
                continue
            if not path.startswith(node.path, depth):
                return None
            depth += len(node.path)
            node = node.child
        return path[:depth] if isinstance(node, bytes) else None

    def _reference_at(self, path: bytes) -> bytes:
        node, depth = self._root, 0
        while isinstance(node, Branch | Extension) and depth < len(path):
            if isinstance(node, Branch):
                node, depth = node.children[path[depth]], depth + 1
            else:
                depth += len(node.path)
                node = node.child
        return node if isinstance(node, bytes) else b""

    def _replace(self, path: bytes, loaded: Node) -> None:
        if not path:
            self._root = loaded
            return
        node, depth = self._root, 0
        while True:
            if isinstance(node, Branch):
                if depth + 1 == len(path):
                    node.children[path[depth]] = loaded
                    return
                node, depth = node.children[path[depth]], depth + 1
            elif isinstance(node, Extension):
                depth += len(node.path)
                if depth == len(path):
                    node.child = loaded
                    return
                node = node.child
            else:
                return

    def _touch(self, node: Node, path: bytes) -> None:
        if node.reference is not None:
            node.reference = None
            self._stale.add(path)

    def _put(self, node: Node | bytes | None, path: bytes, depth: int, value: bytes) -> Node:
        match node:
            case None:
                return Leaf(path[depth:], value)
            case bytes():
                raise TrieError(f"trie node {self._name(path[:depth])} is not loaded")
        self._touch(node, path[:depth])
        if isinstance(node, Branch):
            nibble = path[depth]
            node.children[nibble] = self._put(node.children[nibble], path, depth + 1, value)
            return node
        shared = common_length(node.path, path[depth:])
        if isinstance(node, Leaf) and depth + shared == len(path):
            node.value = value
            return node
        if isinstance(node, Extension) and shared == len(node.path):
            node.child = self._put(node.child, path, depth + shared, value)
            return node
        return fork(node, shared, path[depth + shared :], value)

    def _delete(self, node: Node | bytes | None, path: bytes, depth: int) -> Node | None:
        if node is None or isinstance(node, bytes):
            raise TrieError(f"trie node {self._name(path[:depth])} is not loaded")
        self._touch(node, path[:depth])
        match node:
            case Leaf():
                return None
            case Extension():
                node.child = self._delete(node.child, path, depth + len(node.path))
                return None if node.child is None else node
            case Branch():
                nibble = path[depth]
                node.children[nibble] = self._delete(node.children[nibble], path, depth + 1)
                return node if any(child is not None for child in node.children) else None

    def _tidied(self, node: Node | bytes | None, path: bytes) -> Node | bytes | None:
        if node is None or isinstance(node, bytes | Leaf) or node.reference is not None:
            return node
        if isinstance(node, Extension):
            below = path + node.path
            return self._joined(node.path, self._tidied(node.child, below), below)
        for nibble, child in enumerate(node.children):
            if child is not None:
                node.children[nibble] = self._tidied(child, path + bytes([nibble]))
        only = only_child(node)
        if only is None:
            return node
        way = bytes([only])
        return self._joined(way, node.children[only], path + way)

    def _joined(self, way: bytes, child: Node | bytes | None, path: bytes) -> Node:
        """Merge a branch's only child with the nibble that leads to it, and return the node."""
        match child:
            case Leaf():
                self._touch(child, path)
                return Leaf(way + child.path, child.value)
            case Extension():
                self._touch(child, path)
                return Extension(way + child.path, child.child)
            case _:
                return Extension(way, child)

    def _write(self, node: Node | bytes, path: bytes, written: dict[bytes, bytes]) -> bytes:
        """Add the RLP of a changed node and of those below it to `written`; return its reference for the parent."""
        if isinstance(node, bytes):
            return encode_bytes(node)
        if node.reference is not None:
            return encode_bytes(node.reference)
        children: list[bytes] = []
        if isinstance(node, Extension) and node.child is not None:
            children = [self._write(node.child, path + node.path, written)]
        elif isinstance(node, Branch):
            children = [
                b"\x80" if child is None else self._write(child, path + bytes([nibble]), written)
                for nibble, child in enumerate(node.children)
            ]
        data = encode_node(node, children)
        if len(data) >= 32 or not path:
            written[path] = data
        return refer(data)


def _reference_of(node: Node | bytes) -> bytes | None:
    return node if isinstance(node, bytes) else node.reference
