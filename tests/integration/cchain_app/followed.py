"""The same chain twice on one database: blocks are made, then taken back and followed as another's.

What is compared is every row that blocks make.
"""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, models

from cchain_app import models as rows
from cchain_app.apps import evm_chain
from cchain_app.blocks.accepted import AcceptedBlock, encode_block
from cchain_app.blocks.candidate import CandidateBlock, parse_block
from cchain_app.genesis import built_in_text
from cchain_app.selectors import blocks
from cchain_app.selectors.blocks import raw_blocks
from cchain_app.services.genesis import genesis_text, load_genesis
from tests.builders.decided import accept_evm
from tests.builders.process import begin_anew

WRITTEN_BY_BLOCKS: tuple[type[models.Model], ...] = (
    rows.Log, rows.Receipt, rows.Transaction, rows.Block, rows.AccountChange, rows.StorageChange,
    rows.Account, rows.StorageSlot, rows.Code, rows.TrieNode, rows.Chain,
)  # fmt: skip
"""Those that refer to others first."""

FUTURE = 2**33
"""A time at which no block of a test is in the future."""

Rows = dict[str, list[tuple[Any, ...]]]


def genesis_without(*keys: str) -> str:
    """Return the local network's genesis file without some keys of its `config`."""
    document = json.loads(built_in_text("local"))
    for key in keys:
        del document["config"][key]
    return json.dumps(document)


def dump() -> Rows:
    """Return every row that blocks have made."""
    return {
        model.__name__: [
            tuple(bytes(one) if isinstance(one, memoryview) else one for one in row)
            for row in model._default_manager.order_by("pk").values_list()
        ]
        for model in WRITTEN_BY_BLOCKS
    }


def rewind(monkeypatch: pytest.MonkeyPatch) -> list[CandidateBlock]:
    """Return all blocks above genesis as bytes give them, and make the node one that has none."""
    head = blocks.catch_up(evm_chain()).number
    candidates = (
        [parse_block(one.raw) for one in raw_blocks(evm_chain(), 1, head, 1 << 40)] if head else []
    )
    text = genesis_text(evm_chain()).encode()
    models_to_empty: list[type[models.Model]] = [*WRITTEN_BY_BLOCKS, rows.PoolTransaction]
    with connection.cursor() as cursor:
        for model in models_to_empty:
            cursor.execute(f"DELETE FROM {model._meta.db_table}")
    forget()
    monkeypatch.setattr(evm_chain(), "genesis_file", lambda: text)
    load_genesis(evm_chain())
    return candidates


def forget() -> None:
    """Forget the chain, as if the process had just begun."""
    begin_anew()


def follow(*candidates: CandidateBlock, **given: Any) -> list[AcceptedBlock]:
    """Accept blocks in one call."""
    accept_evm(evm_chain(), candidates, **{"now": FUTURE, **given})
    found = [blocks.by_hash(evm_chain(), one.hash) for one in candidates]
    return [one for one in found if one is not None]


def forged(block: CandidateBlock, *transactions: bytes, **changes: Any) -> CandidateBlock:
    """Return a block with another header (and other transactions, if there are any)."""
    header = replace(block.header, **changes)
    return parse_block(encode_block(header, transactions or block.transactions))
