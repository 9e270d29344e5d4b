"""Migrations of the P-Chain can be reverted and applied again, including views."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from platform_app.apps import platform_chain
from platform_app.store import uptime
from tests.builders import platform
from tests.builders.platform_rows import adding, begin


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

    call_command("migrate", verbosity=0)
    assert names() == before


@pytest.mark.django_db(transaction=True)
def test_uptimes_survive_the_way_back_and_forth() -> None:
    begin(adding(start=platform.NOW, end=platform.NOW + 1000)[1])
    uptime.settle_all(platform_chain().db, platform.NOW + 300, tracking=False)
    before = names()

    call_command("migrate", "platform_app", "0003", verbosity=0)

    assert before - names() == {
        "platform_app_connectednode", "platform_app_uptimetracking", "platform_app_genesis",
        "platform_app_l1validator", "platform_app_l1conversion", "platform_app_l1expiry",
        "platform_app_l1weight", "platform_app_subnetuptime", "p_l1s", "p_l1_validators", "p_l1_weights",
        "platform_app_autorenewedvalidator", "platform_app_renewedperiod", "p_renewed_periods",
    }  # fmt: skip
    assert ask("SELECT up_duration, connected_since FROM p_uptime") == [(300, None)]
    assert ask("SELECT connected_since FROM platform_app_validatoruptime") == [(None,)]

    call_command("migrate", verbosity=0)

    assert names() == before
    assert ask("SELECT up_duration, connected_since FROM p_uptime") == [(300, None)]
    assert ask("SELECT genesis_hash FROM platform_app_genesis") == []


def ask(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
