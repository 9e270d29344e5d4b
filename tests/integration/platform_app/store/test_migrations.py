"""Migrations of the P-Chain go back as well as forth, views included."""

import pytest
from django.core.management import call_command
from django.db import connection


def names() -> set[str]:
    with connection.cursor() as cursor:
        found = connection.introspection.table_names(cursor, include_views=True)
    return {name for name in found if name.startswith(("platform_app_", "p_"))}


@pytest.mark.django_db(transaction=True)
def test_tables_and_views_can_be_taken_away_and_made_again() -> None:
    before = names()
    assert {"platform_app_staker", "platform_app_utxo", "p_validators", "p_utxos"} <= before

    call_command("migrate", "platform_app", "zero", verbosity=0)
    assert names() == set()

    call_command("migrate", "platform_app", verbosity=0)
    assert names() == before
