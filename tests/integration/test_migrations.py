"""Migrations can be reverted and applied again, and the models need no further migrations."""

import pytest
from django.core.management import call_command
from django.db import connection


@pytest.mark.django_db(transaction=True)
def test_tables_can_be_dropped_and_created_again() -> None:
    call_command("migrate", "cchain_app", "zero", verbosity=0)
    assert not [name for name in tables() if name.startswith(("cchain_app_", "explorer_app_"))]

    # The explorer's data is derived from the chain's rows, and was deleted with them.
    call_command("migrate", verbosity=0)
    assert {"cchain_app_block", "cchain_app_trienode", "explorer_app_token"} <= set(tables())


@pytest.mark.django_db
def test_models_have_no_pending_migration() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def tables() -> list[str]:
    with connection.cursor() as cursor:
        return connection.introspection.table_names(cursor)
