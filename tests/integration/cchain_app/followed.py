"""The same chain twice in one database: blocks are made, removed, and then followed like those of a peer.

Every row that blocks create is compared.
"""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, models

from cchain_app import models as rows
from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.blocks.accepted import AcceptedBlock, encode_block
from cchain_app.blocks.candidate import CandidateBlock, parse_block
from cchain_app.genesis import built_in_text
from cchain_app.selectors import blocks
from cchain_app.selectors.blocks import raw_blocks
from cchain_app.services.genesis import genesis_text, load_genesis
from tests.builders.decided import accept_evm
from tests.builders.process import restart_node

WRITTEN_BY_BLOCKS: tuple[type[models.Model], ...] = (
    rows.Log, rows.Receipt, rows.Transaction, rows.Block, rows.AccountChange, rows.StorageChange,
    rows.Account, rows.StorageSlot, rows.Code, rows.TrieNode, rows.Chain,
)  # fmt: skip
"""Rows with foreign keys come first."""

FUTURE = 2**33
"""A time that is later than every block of a test."""

Rows = dict[str, list[tuple[Any, ...]]]


def genesis_without(*keys: str) -> str:
    """Return the local network's genesis file without some keys of its `config`."""
    document = json.loads(built_in_text("local"))
    for key in keys:
        del document["config"][key]
    return json.dumps(document)


def dump() -> Rows:
    """Return every row that blocks have created."""
    return {
        model.__name__: [
            tuple(bytes(item) if isinstance(item, memoryview) else item for item in row)
            for row in model._default_manager.order_by("pk").values_list()
        ]
        for model in WRITTEN_BY_BLOCKS
    }


def rewind(monkeypatch: pytest.MonkeyPatch) -> list[CandidateBlock]:
    """Return all blocks above genesis, decoded from bytes, and remove them from the node."""
    head = blocks.catch_up(evm_chain()).number
    candidates = (
        [parse_block(raw_block.raw) for raw_block in raw_blocks(evm_chain(), 1, head, 1 << 40)]
        if head
        else []
    )
    text = genesis_text(evm_chain()).encode()
    models_to_empty: list[type[models.Model]] = [
        *WRITTEN_BY_BLOCKS, rows.PoolTransaction, rows.TrieNodeChange, rows.TrieHistory,
    ]  # fmt: skip
    with connection.cursor() as cursor:
        for model in models_to_empty:
            cursor.execute(f"DELETE FROM {model._meta.db_table}")
    forget()
    monkeypatch.setattr(evm_chain(), "genesis_file", lambda: text)
    load_genesis(evm_chain())
    return candidates


def forget() -> None:
    """Clear the memory of the chain, as after a restart of the process."""
    restart_node()


def follow(*candidates: CandidateBlock, **given: Any) -> list[AcceptedBlock]:
    """Accept the blocks in one call."""
    accept_evm(evm_runtime(), candidates, **{"now": FUTURE, **given})
    found = [blocks.by_hash(evm_chain(), candidate.hash) for candidate in candidates]
    return [item for item in found if item is not None]


def forged(block: CandidateBlock, *transactions: bytes, **changes: Any) -> CandidateBlock:
    """Return a block with a changed header (and with other transactions, if given)."""
    header = replace(block.header, **changes)
    return parse_block(encode_block(header, transactions or block.transactions))
