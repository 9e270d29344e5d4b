"""The state trie in pure Python: account trie and storage tries together.

The port is in `trie`, the code for a single trie in `trie_editor`. The native engine has the same in Rust.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cchain_app.evm.coreth import (
    MULTI_COIN,
    MULTI_COIN_SLOT,
    NOT_MULTI_COIN,
    is_of_asset,
    stored_slot,
)
from cchain_app.evm.engine import AccountState, SlotChange, StateChanges
from cchain_app.evm.trie import (
    ACCOUNT_TRIE,
    NodeReader,
    StateProof,
    TrieError,
    TrieUpdate,
    nibbles,
    storage_trie,
)
from cchain_app.evm.trie_editor import TrieEditor
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_ROOT, keccak256
from primitives.rlp import (
    encode_bytes,
    encode_list,
    encode_uint,
    iterate,
    read_fixed,
    read_only_item,
    read_uint64,
    read_uint256,
)


class PythonStateTrie:
    """A `StateTrie` without a cache, safe to use from several threads.

    Args:
        of_coreth: Whether accounts and slots are stored as on coreth (`evm.coreth`).
    """

    def __init__(self, *, of_coreth: bool = False) -> None:
        self._of_coreth = of_coreth

    def update(self, root: Hash, changes: StateChanges, reader: NodeReader) -> TrieUpdate:
        """Return root and nodes after changes to the state that has this root."""
        accounts = TrieEditor(ACCOUNT_TRIE, root)
        touched = _touched(changes, of_coreth=self._of_coreth)
        paths = {address: nibbles(keccak256(address)) for address in touched}
        load(
            {accounts: paths.values()}
            | {item.trie: item.slots.keys() for item in touched.values() if item.trie is not None},
            reader,
        )
        _clear(touched, accounts, paths, reader)
        nodes = _update_storage(touched, reader)
        for address, one in touched.items():
            after = _state_after(address, changes, accounts.get(paths[address]))
            if after is None:
                accounts.delete(paths[address])
            else:
                accounts.put(paths[address], self._encode(after, one))
        load_siblings([accounts], reader)
        accounts.tidy()
        new_root, account_nodes = accounts.finish()
        return TrieUpdate(new_root, nodes | dict(account_nodes))

    def prove(
        self, root: Hash, address: Address, slots: Sequence[Slot], reader: NodeReader
    ) -> StateProof:
        """Return an account and some of its slots with their proofs."""
        accounts, path = TrieEditor(ACCOUNT_TRIE, root), nibbles(keccak256(address))
        storage = TrieEditor(storage_trie(address), None)
        slot_paths = [nibbles(keccak256(slot)) for slot in slots]
        load({accounts: [path], storage: slot_paths}, reader)
        leaf = accounts.get(path)
        account = None if leaf is None else _decode_account(leaf)
        storage_root = EMPTY_ROOT if account is None else account.storage_root
        if slots:
            storage.check_root(storage_root)
        value_paths = slot_paths
        if self._of_coreth:
            value_paths = [nibbles(keccak256(stored_slot(slot))) for slot in slots]
            load({storage: value_paths}, reader)
        return StateProof(
            account=None if account is None else account.state,
            storage_root=storage_root,
            account_proof=accounts.proof(path),
            storage=[
                (_value(storage, value_path), storage.proof(slot_path))
                for value_path, slot_path in zip(value_paths, slot_paths, strict=True)
            ],
        )

    def ordered_root(self, items: Sequence[bytes]) -> Hash:
        """Return the root of the trie that stores each item under the RLP of its index."""
        trie = TrieEditor(b"")
        for index, item in enumerate(items):
            trie.put(nibbles(encode_uint(index)), item)
        return trie.finish()[0]

    def commit(self, root: Hash) -> None:
        """Do nothing: there is no cache."""

    def _encode(self, state: AccountState, nodes: "_TouchedNodes") -> bytes:
        fields = _account_fields(state, nodes.root)
        if self._of_coreth:
            is_multi_coin = nodes.is_multi_coin if nodes.field is None else nodes.field
            fields += (MULTI_COIN if is_multi_coin else NOT_MULTI_COIN,)
        return encode_list(fields)


class _Leaf(NamedTuple):
    """A value of the account trie."""

    state: AccountState
    storage_root: Hash
    is_multi_coin: bool = False
    """Whether the account of coreth ever held another asset."""


class _TouchedNodes:
    """An account that a block changed, with the changes of its storage."""

    __slots__ = ("field", "gone", "is_multi_coin", "root", "slots", "trie")

    def __init__(self) -> None:
        self.slots: dict[bytes, Word] = {}
        """New value of each slot, by path."""
        self.gone = False
        """Whether the old storage is deleted first."""
        self.trie: TrieEditor | None = None
        """None if the storage is unchanged."""
        self.root: Hash = EMPTY_ROOT
        self.is_multi_coin = False
        """Whether the account of coreth held another asset before, or does from now on."""
        self.field: bool | None = None
        """The same as the changes say; None: they do not."""


def _touched(changes: StateChanges, *, of_coreth: bool) -> dict[Address, _TouchedNodes]:
    touched: defaultdict[Address, _TouchedNodes] = defaultdict(_TouchedNodes)
    for address, change in changes.accounts.items():
        touched[address].gone = change.after is None
    for address in changes.cleared:
        touched[address].gone = True
    for (address, slot), of_slot in _slots(changes):
        if of_coreth and slot == MULTI_COIN_SLOT:
            touched[address].field = of_slot.after != ZERO_WORD
            continue
        touched[address].slots[nibbles(keccak256(slot))] = of_slot.after
        if of_coreth and is_of_asset(slot):
            touched[address].is_multi_coin = True
    for address, nodes in touched.items():
        if nodes.gone or nodes.slots:
            nodes.trie = TrieEditor(storage_trie(address), None)
    return dict(sorted(touched.items()))


def _slots(changes: StateChanges) -> list[tuple[tuple[Address, Slot], SlotChange]]:
    """Return changed slots, except those of deleted accounts."""
    gone = {address for address, change in changes.accounts.items() if change.after is None}
    return [item for item in changes.storage.items() if item[0][0] not in gone]


def _clear(
    touched: dict[Address, _TouchedNodes],
    accounts: TrieEditor,
    paths: dict[Address, bytes],
    reader: NodeReader,
) -> None:
    """Empty the storage tries of deleted accounts, and check the roots of the others."""
    gone = []
    for address, nodes in touched.items():
        leaf = accounts.get(paths[address])
        if leaf is not None:
            before = _decode_account(leaf)
            nodes.root = before.storage_root
            nodes.is_multi_coin |= before.is_multi_coin and not nodes.gone
        if nodes.trie is None:
            continue
        nodes.trie.check_root(nodes.root)
        if nodes.gone and nodes.root != EMPTY_ROOT:
            gone.append(nodes.trie)
    load_everything(gone, reader)
    for trie in gone:
        trie.clear()


def _update_storage(
    touched: dict[Address, _TouchedNodes], reader: NodeReader
) -> dict[bytes, bytes | None]:
    tries = [(item, item.trie) for item in touched.values() if item.trie is not None]
    for one, trie in tries:
        for path, word in one.slots.items():
            if word == ZERO_WORD:
                trie.delete(path)
            else:
                trie.put(path, encode_bytes(word.lstrip(b"\0")))
    load_siblings([trie for _, trie in tries], reader)
    nodes: dict[bytes, bytes | None] = {}
    for one, trie in tries:
        trie.tidy()
        one.root, changed = trie.finish()
        nodes |= changed
    return nodes


def _state_after(
    address: Address, changes: StateChanges, leaf: bytes | None
) -> AccountState | None:
    """Return an account after the changes, None if it was deleted; possibly only its storage changed."""
    if address in changes.accounts:
        return changes.accounts[address].after
    if leaf is None:
        raise TrieError(f"storage of an account that is not there: 0x{address.hex()}")
    return _decode_account(leaf).state


def _value(storage: TrieEditor, path: bytes) -> Word:
    value = storage.get(path)
    return ZERO_WORD if value is None else Word(read_only_item(value).rjust(32, b"\0"))


def _account_fields(state: AccountState, storage_root: Hash) -> tuple[bytes, ...]:
    return (
        encode_uint(state.nonce),
        encode_uint(state.balance),
        encode_bytes(storage_root),
        encode_bytes(state.code_hash),
    )


def _decode_account(leaf: bytes) -> _Leaf:
    """Read an account, also one of coreth, which has one field more."""
    nonce, balance, storage_root, code_hash, *more = iterate(read_only_item(leaf))
    state = AccountState(read_uint64(nonce), read_uint256(balance), Hash(read_fixed(code_hash, 32)))
    return _Leaf(state, Hash(read_fixed(storage_root, 32)), bool(more and more[0]))


def load(editors: Mapping[TrieEditor, Iterable[bytes]], reader: NodeReader) -> None:
    """Load the nodes on paths in several tries, with one read for each depth."""
    paths = {editor: list(of_editor) for editor, of_editor in editors.items()}
    while _ask(reader, ((editor, editor.wanted(paths[editor])) for editor in paths)):
        pass


def load_siblings(editors: Iterable[TrieEditor], reader: NodeReader) -> None:
    """Load the nodes that will move up when the tries are tidied, with one read."""
    _ask(reader, ((editor, editor.wanted_siblings()) for editor in editors))


def load_everything(editors: Iterable[TrieEditor], reader: NodeReader) -> None:
    """Load whole tries, with one read for each depth."""
    editors = list(editors)
    while _ask(reader, ((editor, editor.everything()) for editor in editors)):
        pass


def _ask(reader: NodeReader, wanted: Iterable[tuple[TrieEditor, set[bytes]]]) -> bool:
    places = [(editor, path) for editor, paths in wanted for path in sorted(paths)]
    if not places:
        return False
    found = reader.nodes([editor.prefix + path for editor, path in places])
    for (editor, path), data in zip(places, found, strict=True):
        editor.supply(path, data)
    return True
