"""Responses to clients of other explorers on a forked chain."""

import pytest
from django.test import Client

from explorer_app.api.replies import ActionReason
from tests.integration.cchain_app.forking.conftest import RICH

pytestmark = pytest.mark.sqlite_only


@pytest.mark.usefixtures("forked")
def test_supply_of_a_fork_is_refused(client: Client) -> None:
    def ask(**query: str) -> object:
        return client.get("/api", query, headers={"host": "localhost"}).json()

    balance = ask(module="account", action="balance", address=RICH)
    assert balance == {"status": "1", "message": "OK", "result": str(10**20)}
    refused = {"status": "0", "message": "NOTOK", "result": ActionReason.SUPPLY_UNKNOWN}
    for action in ("ethsupply", "ethsupply2"):
        assert ask(module="stats", action=action) == refused
