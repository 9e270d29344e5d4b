"""Migrations of the network app can be reverted and applied again, including views."""

import pytest
from django.core.management import call_command
from django.db import connection


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

    call_command("migrate", "network_app", verbosity=0)
    assert names() == before
