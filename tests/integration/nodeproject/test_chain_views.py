"""SQL views over all EVM chains: always on PostgreSQL, for a session on SQLite."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from chaindb.database import Database
from nodeproject.startup import chain_views
from tests.builders.subnet_evm import subnet_genesis
from tests.integration.nodeproject.test_subnet_chains import CHAIN_ID, World, world
from tests.integration.nodeproject.test_third_chain import mine, send, transfer

__all__ = ["world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",)),
]
HEADS = (
    "SELECT chain, chain_name, max(number) FROM evm_blocks GROUP BY chain, chain_name ORDER BY 3, 2"
)
SENT = "SELECT chain_name, value FROM evm_transactions"


def printed(*names: str) -> list[str]:
    """Return the statements that the command prints."""
    out = StringIO()
    call_command("chain_views", *names, stdout=out)
    return out.getvalue().splitlines()


def two_chains(world: World) -> tuple[str, str]:
    """Create two chains, the first with a transaction in its first block; return their IDs."""
    dex = world.create()
    genesis = subnet_genesis(9_002)
    game = world.create(genesis, "game", subnet_id=world.subnet())
    send(world.node, str(dex), transfer(chain_id=CHAIN_ID))
    mine(world.node, str(dex))
    for _ in range(2):
        mine(world.node, str(game))
    return str(dex), str(game)


def test_views_have_the_rows_of_all_chains(world: World) -> None:
    dex, game = two_chains(world)
    db = world.node.database
    sqlite = db.connection.vendor == "sqlite"
    statements = printed() if sqlite else []
    for statement in statements:
        db.execute(statement.replace("%", "%%"))
    try:
        rows = [tuple(row) for row in db.rows(HEADS)]
        assert rows == [("C", "C-Chain", 0), (dex, "dex", 1), (game, "game", 2)]
        assert [(name, str(value)) for name, value in db.rows(SENT)] == [("dex", "7")]
        ((count,),) = db.rows("SELECT count(*) FROM evm_balances WHERE chain = %s", (dex,))
        assert count > 1
    finally:
        for statement in reversed(statements):
            words = statement.split()
            if words[0] == "ATTACH":
                db.execute(f"DETACH DATABASE {words[-1]}")
            else:
                db.execute(f"DROP VIEW temp.{words[3]}")


def test_the_command_takes_the_chains_that_are_meant(world: World) -> None:
    dex, game = two_chains(world)
    if world.node.database.connection.vendor != "sqlite":
        with pytest.raises(CommandError, match="PostgreSQL has these views"):
            printed()
        return
    for names in (("dex",), (dex,)):
        statements = printed(*names)
        assert [dex in line for line in statements if line.startswith("ATTACH")] == [True]
        assert not any(game in line for line in statements)
    assert any(line.startswith("CREATE TEMP VIEW evm_token_transfers AS") for line in printed())


def test_the_views_follow_the_chains_of_the_node(world: World) -> None:
    db = Database()

    def chains() -> list[str]:
        return [str(name) for (name,) in db.rows("SELECT DISTINCT chain_name FROM evm_blocks")]

    if db.connection.vendor == "sqlite":
        chain_views.refresh(db)  # nothing to do
        chain_views.drop(db)
        return
    exists = "SELECT count(*) FROM pg_views WHERE viewname = 'evm_blocks'"
    assert db.row(exists) == (0,)
    world.create()
    assert sorted(chains()) == ["C-Chain", "dex"]
    world.create(subnet_genesis(9_002), "game", subnet_id=world.subnet())
    assert sorted(chains()) == ["C-Chain", "dex", "game"]
    before = db.row("SELECT oid FROM pg_class WHERE relname = 'evm_blocks'")
    chain_views.refresh(db)
    assert db.row("SELECT oid FROM pg_class WHERE relname = 'evm_blocks'") == before
    chain_views.drop(db)  # as before a migration
    assert db.row(exists) == (0,)
    chain_views.refresh(db)
    assert sorted(chains()) == ["C-Chain", "dex", "game"]
