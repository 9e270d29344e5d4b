"""Migrations of the network app can be reverted and applied again, including views."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from chaindb.database import Database
from network_app.store import fetched, outer
from network_app.store.outer import Wrapping
from primitives.ids import ID, NodeID


def names() -> set[str]:
    with connection.cursor() as cursor:
        found = connection.introspection.table_names(cursor, include_views=True)
    return {name for name in found if name.startswith(("network_app_", "n_"))}


@pytest.mark.django_db(transaction=True)
def test_tables_and_views_can_be_taken_away_and_made_again() -> None:
    before = names()
    assert {"network_app_peer", "n_peers", "n_bootstrap", "n_block_proposers"} <= before

    call_command("migrate", "network_app", "zero", verbosity=0)
    assert names() == set()

    call_command("migrate", verbosity=0)
    assert names() == before


def ask(sql: str, *params: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall()) if cursor.description else []


BLOCKS = [("P", 1), ("C", 1), ("P", 2), ("C", 2), ("C", 3)]
KEYS = "SELECT id, chain, height, block_id FROM network_app_outerblock ORDER BY id"
SEEN = "SELECT chain, height, block_id, node_id FROM n_block_proposers ORDER BY chain, height"


def an_id(chain: str, height: int) -> ID:
    return ID(chain.encode().rjust(31) + bytes([height]))


def old_rows() -> None:
    """Write rows as the versions before 0011 did: with twice the height, plus one for the C-Chain, as keys."""
    node = NodeID(bytes([5]) * 20)
    ask(
        "INSERT INTO network_app_certificate (node_id, node, der) VALUES (%s, %s, %s)",
        node, str(node), b"der",
    )  # fmt: skip
    for chain, height in BLOCKS:
        key = height << 1 | (chain == "C")
        ask(
            "INSERT INTO network_app_outerblock (id, chain, height, block_id, kind, proposer_id, signature)"
            " VALUES (%s, %s, %s, %s, 0, %s, %s)",
            key, chain, height, an_id(chain, height), node, b"signed",
        )  # fmt: skip
        ask(
            "INSERT INTO network_app_fetchedblock (id, chain, height, block_id, parent_id, raw)"
            " VALUES (%s, %s, %s, %s, %s, %s)",
            key, chain, height, an_id(chain, height), an_id(chain, height - 1), bytes([height]),
        )  # fmt: skip
        ask(
            "INSERT INTO network_app_blockdecision (chain, height, block_id, parent_id, accepted,"
            " issued_at, decided_at, polls, rejected) VALUES (%s, %s, %s, %s, %s, %s, %s, 1, 0)",
            chain, height, an_id(chain, height), an_id(chain, height - 1), True,
            "2026-01-01 00:00:00+00", "2026-01-01 00:00:00+00",
        )  # fmt: skip


def wrapping(chain: str, height: int) -> Wrapping:
    return Wrapping(
        height, an_id(chain, height), 0, None, None, None, None, None, None, b"", b""
    )  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_migration_keeps_outer_blocks_and_allows_further_chains() -> None:
    db = Database()
    call_command("migrate", "network_app", "0010", verbosity=0)
    old_rows()
    before, seen = ask(KEYS), ask(SEEN)
    assert len(before) == len(seen) == len(BLOCKS)

    call_command("migrate", verbosity=0)

    assert ask(KEYS) == before
    assert ask(SEEN) == seen
    assert outer.ids_at(db, "C", [1, 3, 9]) == {1: an_id("C", 1), 3: an_id("C", 3)}
    assert fetched.above(db, "C", 0, 9) == [b"\x01", b"\x02", b"\x03"]
    outer.add(db, "second", [wrapping("second", 1)])
    outer.add(db, "P", [wrapping("P", 3)])
    assert outer.ids_at(db, "second", [1, 2]) == {1: an_id("second", 1)}
    assert {row[1:3] for row in ask(KEYS)} == {*BLOCKS, ("second", 1), ("P", 3)}

    call_command("migrate", "network_app", "0010", verbosity=0)

    assert [row[:3] for row in ask(KEYS)] == [
        (2, "P", 1), (3, "C", 1), (4, "P", 2), (5, "C", 2), (6, "P", 3), (7, "C", 3),
    ]  # fmt: skip
    assert ask("SELECT COUNT(*) FROM network_app_blockdecision") == [(len(BLOCKS),)]
    call_command("migrate", verbosity=0)
    assert [item.height for item in outer.latest(db, "P", 9)] == [3, 2, 1]
