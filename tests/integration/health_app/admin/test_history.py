"""The list of health changes and the page of one change: content and database queries."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from health_app.models import HealthChange
from tests.integration.admin_pages import Browse
from tests.integration.health_app.admin.conftest import PATH

CHOICES = {"C": 1, "P": 2, "X": 1, "bootstrapped": 3, "network": 3, "router": 1}


def latest(name: str, *, healthy: bool) -> HealthChange:
    return HealthChange.objects.filter(name=name, healthy=healthy).latest("id")


@pytest.mark.usefixtures("history")
def test_changes_are_listed_the_latest_first(browse: Browse) -> None:
    page = browse(PATH)

    assert page.status == 200
    assert [(row.name, row.healthy) for row in page.rows[:5]] == [
        ("P", False), ("network", True), ("bootstrapped", True), ("bootstrapped", False),
        ("network", False),
    ]  # fmt: skip
    assert "the database does not answer: OperationalError" in page.text
    assert 'class="nd-badge nd-bad">fails<' in page.text
    assert 'class="nd-badge nd-good">passes<' in page.text
    assert "2026-09-21 14:23:20 UTC" in page.text


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("name", CHOICES)
def test_list_can_be_filtered_by_check(browse: Browse, name: str) -> None:
    page = browse(PATH, show=name)

    assert {row.name for row in page.rows} == {name}
    assert len(page.rows) == CHOICES[name]


@pytest.mark.usefixtures("history")
def test_list_can_be_filtered_by_failures(browse: Browse) -> None:
    assert [row.name for row in browse(PATH, show="failures").rows] == [
        "P", "bootstrapped", "network",
    ]  # fmt: skip


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    ("text", "name"), [("P", "P"), ("p-chain", "P"), ("Network", "network"), (" router ", "router")]
)
def test_a_check_is_found_by_name_or_title(browse: Browse, text: str, name: str) -> None:
    assert {row.name for row in browse(PATH, q=text).rows} == {name}


@pytest.mark.usefixtures("history")
def test_unknown_check_matches_nothing(browse: Browse) -> None:
    page = browse(PATH, q="nonsense")
    assert page.rows == []
    assert "Nothing found for “nonsense”." in page.text


@pytest.mark.usefixtures("history")
def test_change_page_shows_reasons_and_measurements(browse: Browse) -> None:
    text = browse(f"{PATH}{latest('network', healthy=False).pk}/change/").text

    for shown in (
        "network layer is unhealthy",
        ">not connected to a minimum of 1 peer(s) only 0<",
        ">no messages received from network in 1m5s &gt; 1m0s<",
        "&quot;connectedPeers&quot;: 0",
    ):
        assert shown in text


@pytest.mark.usefixtures("history")
def test_change_without_measurement_is_marked(browse: Browse) -> None:
    text = browse(f"{PATH}{latest('P', healthy=False).pk}/change/").text
    assert "Nothing could be measured." in text


def test_empty_history_is_explained(browse: Browse) -> None:
    assert "No rows yet." in browse(PATH).text


@pytest.mark.usefixtures("long_history")
@pytest.mark.parametrize("parameters", [{}, {"show": "network"}, {"show": "failures"}, {"q": "C"}])
def test_lists_are_read_by_an_index_a_page_at_a_time(
    browse: Browse, parameters: dict[str, str]
) -> None:
    page = browse(PATH, **parameters)

    assert len(page.rows) == 50
    # A scan of the index of failures in its order stops after one page: it contains only failures.
    assert [plan for plan in page.slow_plans() if "health_change_failures" not in plan] == []
    assert len(page.chain_statements) <= 2


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("action", ["add", "change", "delete"])
def test_history_is_read_only(admin_client: Client, action: str) -> None:
    row = latest("P", healthy=False)
    path = f"{PATH}add/" if action == "add" else f"{PATH}{row.pk}/{action}/"
    before = HealthChange.objects.count()

    assert admin_client.post(path, {"post": "yes", "name": "X"}).status_code == 403
    assert HealthChange.objects.count() == before


@pytest.mark.usefixtures("history")
def test_history_needs_the_view_permission(client: Client) -> None:
    user = User.objects.create_user("reader", is_staff=True)
    client.force_login(user)
    assert client.get(PATH).status_code == 403

    user.user_permissions.add(Permission.objects.get(codename="view_healthchange"))
    assert client.get(PATH).status_code == 200
