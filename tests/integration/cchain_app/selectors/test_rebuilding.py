"""The state trie rebuilt from the rows equals the head's, and reports rows that are wrong."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from cchain_app import models
from cchain_app.evm.select import select_trie
from cchain_app.selectors import rebuilding
from cchain_app.selectors.rebuilding import (
    ScratchUnusable,
    StateDifference,
    StateDiffers,
    scratch_nodes,
    verify_state,
)
from cchain_app.services import cheats
from chaindb.database import Database
from primitives.evm import Address, Hash, Slot, Word
from tests.builders import bytecode
from tests.builders.modules import module_with
from tests.builders.reasons import raises
from tests.builders.transactions import SENDER

CONTRACT = bytecode.created(SENDER, 0)


def verified(chain: Any) -> Hash | None:
    """Return the root of the rows, computed by the trie that the settings select."""
    trie = select_trie(chain.evm.settings.engine)
    return verify_state(chain.evm.db, trie, settings.NODE.common.directory)


def store(chain: Any, slot: int, value: int) -> None:
    chain.do(to=CONTRACT, data=bytecode.words(slot, value), gas=100_000, value=0)


@pytest.fixture
def with_storage(chain: Any) -> Any:
    """A chain with a contract that has some slots."""
    chain.do(to=None, data=bytecode.deploy_code(bytecode.STORE), gas=500_000, value=0)
    for slot in range(1, 8):
        store(chain, slot, slot)
    return chain


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("part", [1, 3, 5_000])
def test_the_root_is_the_heads_however_many_rows_are_taken_together(
    with_storage: Any, engine: str, part: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rebuilding, "_PART", part)
    store(with_storage, 3, 0)  # a slot that is cleared
    head = with_storage.mine()
    found = verify_state(with_storage.evm.db, select_trie(engine), tmp_path)
    assert found == head.header.state_root


def test_state_root_excludes_edits_on_the_head(with_storage: Any) -> None:
    head = with_storage.mine()
    nobody = Address(b"\x99" * 20)
    cheats.change_state(
        with_storage.evm,
        [
            cheats.balance(SENDER, 5),
            cheats.balance(nobody, 7),
            cheats.storage(CONTRACT, Slot(bytes(31) + b"\x02"), Word(bytes(32))),
            cheats.storage(CONTRACT, Slot(bytes(31) + b"\x77"), Word(bytes(31) + b"\x01")),
        ],
    )
    assert verified(with_storage) == head.header.state_root
    after = with_storage.mine()
    assert verified(with_storage) == after.header.state_root != head.header.state_root


def test_changed_account_changes_the_root(with_storage: Any) -> None:
    row = models.Account.objects.get(address=SENDER)
    models.Account.objects.filter(address=SENDER).update(balance=row.balance + 1)
    with raises(
        StateDifference.ROOT_DIFFERS,
        kind=StateDiffers,
        match=r"^accounts and storage make the state root 0x",
    ):
        verified(with_storage)
    models.Account.objects.filter(address=SENDER).update(balance=row.balance)
    assert verified(with_storage) is not None


def test_storage_without_account_is_found(with_storage: Any) -> None:
    key = b"\x01" * 20 + bytes(32)
    models.StorageSlot.objects.create(key=key, value=b"\x01" * 32)
    with raises(StateDifference.ROOT_DIFFERS, kind=StateDiffers, match="of no trie"):
        verified(with_storage)
    models.StorageSlot.objects.filter(key=key).delete()


@pytest.mark.parametrize("place", [0, -1])
def test_missing_or_changed_trie_node_is_detected(with_storage: Any, place: int) -> None:
    rows = list(models.TrieNode.objects.order_by("key"))
    chosen = rows[place]
    models.TrieNode.objects.filter(key=chosen.key).delete()
    with raises(StateDifference.NODES_DIFFER, kind=StateDiffers, match=bytes(chosen.key).hex()):
        verified(with_storage)
    models.TrieNode.objects.create(key=chosen.key, rlp=b"\xc0")
    with raises(StateDifference.NODES_DIFFER, kind=StateDiffers):
        verified(with_storage)
    models.TrieNode.objects.filter(key=chosen.key).update(rlp=chosen.rlp)
    assert verified(with_storage) is not None


def test_code_that_is_missing_is_found(with_storage: Any) -> None:
    account = models.Account.objects.get(address=CONTRACT)
    code = models.Code.objects.get(hash=account.code_hash)
    code.delete()
    with raises(
        StateDifference.CODE_MISSING,
        kind=StateDiffers,
        match=f"the code of 0x{CONTRACT.hex()} is missing",
    ):
        verified(with_storage)
    models.Code.objects.create(hash=account.code_hash, code=code.code)


def test_verification_without_chain_returns_none(
    db: None, node_settings: Any, tmp_path: Path
) -> None:
    assert verify_state(Database(), select_trie("auto"), tmp_path) is None


def test_scratch_trie_file_is_already_unlinked(tmp_path: Path) -> None:
    key, found = b"a" * 40, b"\xc0"
    with scratch_nodes(tmp_path) as nodes:
        nodes.write({key: found})
        assert list(tmp_path.iterdir()) == []
        assert nodes.nodes([key]) == [found]


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_full_disk_for_the_trie_gives_no_verdict(
    with_storage: Any, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    connect = sqlite3.connect

    def small(path: str, **named: Any) -> sqlite3.Connection:
        opened.append(Path(path))
        made = connect(path, **named)
        made.execute("PRAGMA max_page_count = 2")  # like a full disk
        return made

    monkeypatch.setattr(rebuilding, "sqlite3", module_with(sqlite3, connect=small))
    trie = select_trie(engine)
    with pytest.raises(ScratchUnusable, match=rf"in {tmp_path} cannot be written .*disk is full"):
        verify_state(with_storage.evm.db, trie, tmp_path)
    assert [path.parent for path in opened] == [tmp_path]
    assert list(tmp_path.iterdir()) == []
