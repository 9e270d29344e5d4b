"""SQL views over all EVM chains: always on PostgreSQL, for a session on SQLite."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

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


def test_views_have_the_rows_of_all_chains(world: World) -> None:
    db = world.node.database
    exists = "SELECT count(*) FROM pg_views WHERE viewname = 'evm_blocks'"
    number = "SELECT oid FROM pg_class WHERE relname = 'evm_blocks'"
    sqlite = db.connection.vendor == "sqlite"
    assert sqlite or db.row(exists) == (0,)
    dex = str(world.create())
    send(world.node, dex, transfer(chain_id=CHAIN_ID))
    mine(world.node, dex)

    def verify() -> None:
        rows = [tuple(row) for row in db.rows(HEADS)]
        assert rows == [("C", "C-Chain", 0), (dex, "dex", 1)]
        assert [(name, str(value)) for name, value in db.rows(SENT)] == [("dex", "7")]
        ((count,),) = db.rows("SELECT count(*) FROM evm_balances WHERE chain = %s", (dex,))
        assert count > 1

    if not sqlite:
        verify()
        before = db.row(number)
        chain_views.refresh(db)
        assert db.row(number) == before, "nothing has changed"
        chain_views.drop(db)  # as before a migration
        assert db.row(exists) == (0,)
        chain_views.refresh(db)
        verify()
        with pytest.raises(CommandError, match="PostgreSQL has these views"):
            printed()
        return
    statements = printed()
    for statement in statements:
        db.execute(statement.replace("%", "%%"))
    try:
        verify()
    finally:
        for statement in reversed(statements):
            words = statement.split()
            if words[0] == "ATTACH":
                db.execute(f"DETACH DATABASE {words[-1]}")
            else:
                db.execute(f"DROP VIEW temp.{words[3]}")


@pytest.mark.sqlite_only
def test_the_command_takes_the_chains_that_are_meant(world: World) -> None:
    dex = str(world.create())
    game = str(world.create(subnet_genesis(9_002), "game", subnet_id=world.subnet()))
    for names in (("dex",), (dex,)):
        statements = printed(*names)
        assert [dex in line for line in statements if line.startswith("ATTACH")] == [True]
        assert not any(game in line for line in statements)
    assert any(line.startswith("CREATE TEMP VIEW evm_token_transfers AS") for line in printed())
    chain_views.refresh(world.node.database)  # nothing to do
    chain_views.drop(world.node.database)
