"""Admin messages for rows that do not exist, and for unknown filters."""

import pytest
from django.test import Client

LISTS = (
    "/admin/cchain_app/block/",
    "/admin/platform_app/utxo/",
    "/admin/network_app/peer/",
    "/admin/health_app/healthchange/",
    "/admin/explorer_app/token/",
    "/admin/auth/user/",
    "/admin/auth/group/",
    "/admin/admin/logentry/",
    "/admin/django_celery_beat/periodictask/",
)
"""One list of each app, including those of third-party apps."""

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("asked", [{"height": "abc"}, {"pk__gt": "5", "x": "y"}])
def test_a_mistyped_filter_leads_to_the_list_and_is_named(
    admin_client: Client, path: str, asked: dict[str, str]
) -> None:
    answer = admin_client.get(path, asked)
    assert (answer.status_code, answer.headers["Location"]) == (302, path)
    text = admin_client.get(path).content.decode()
    words = ", ".join(f"{name}={value}" for name, value in asked.items())
    assert f"This list has no filter “{words}”" in text
    assert words not in admin_client.get(path).content.decode()  # the message is shown once


def test_unknown_filter_is_escaped_and_shortened(admin_client: Client) -> None:
    admin_client.get(LISTS[0], {"<script>": "x" * 5000})
    text = admin_client.get(LISTS[0]).content.decode()
    assert "“&lt;script&gt;=x" in text
    assert "x" * 100 not in text


@pytest.mark.parametrize("asked", [{"height": "abc"}, {"next": "abc"}])
def test_a_file_of_a_list_is_refused_the_same(admin_client: Client, asked: dict[str, str]) -> None:
    path = "/admin/platform_app/validator/"
    answer = admin_client.get(f"{path}export/", asked)
    assert (answer.status_code, answer.headers["Location"]) == (302, path)


@pytest.mark.parametrize(
    ("path", "key", "because"),
    [
        ("/admin/cchain_app/block/", "99999", "or the chain was rewound below it"),
        ("/admin/cchain_app/transaction/", "99999", "it may be pending in the mempool"),
        ("/admin/cchain_app/pooltransaction/", "99999", "mined, replaced, dropped or expired"),
        ("/admin/platform_app/mempooltx/", "99999", "it was accepted or dropped"),
        ("/admin/health_app/healthchange/", "99999", "NODE_HISTORY_HEALTH"),
        ("/admin/network_app/networkstatus/", "9", "does not exist"),
        ("/admin/cchain_app/block/", "x" * 500, "does not exist"),
    ],
)
def test_a_missing_row_shows_possible_reasons(
    admin_client: Client, path: str, key: str, because: str
) -> None:
    answer = admin_client.get(f"{path}{key}/change/")
    assert (answer.status_code, answer.headers["Location"]) == (302, path)
    text = admin_client.get(path).content.decode()
    assert because in text
    assert "Perhaps it was deleted" not in text
