"""Validators and delegators as CSV: all rows of the list, and safe to open in any program."""

import csv
import io
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.test import Client

from adminkit import changelist
from platform_app import models
from tests.builders import platform_history as past
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.admin.paths import export, listing
from tests.integration.platform_app.admin.shown import address

pytestmark = pytest.mark.usefixtures("history")


async def _read(answer: StreamingHttpResponse) -> list[bytes]:
    assert answer.is_async  # a synchronous response would be read completely before the first byte
    return [part async for part in answer]


def _export(client: Client, model: str, **parameters: str) -> list[dict[str, str]]:
    answer = client.get(export(model), parameters)
    assert answer.status_code == 200
    assert isinstance(answer, StreamingHttpResponse)
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{model}s.csv"'
    text = b"".join(async_to_sync(_read)(answer)).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _stakers(**where: Any) -> list[str]:
    found = models.Staker.objects.filter(**where).order_by("-position")
    return [str(tx_id) for tx_id in found.values_list("tx_id", flat=True)]


@pytest.mark.parametrize("model", ["validator", "delegator"])
@pytest.mark.parametrize("phase", list(models.Phase))
def test_a_file_has_all_of_the_chosen_part_in_order(
    admin_client: Client, model: str, phase: models.Phase
) -> None:
    rows = _export(admin_client, model, show=phase.label)
    expected = _stakers(is_delegator=model == "delegator", phase=phase)
    assert [row["tx_id"] for row in rows] == expected


@pytest.mark.parametrize("size", [1, 7, 500])
def test_pages_of_any_size_make_the_same_file(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(changelist, "EXPORT_PAGE", size)
    rows = _export(admin_client, "validator", show="all")
    assert [row["tx_id"] for row in rows] == _stakers(is_delegator=False)


def test_exported_row_matches_the_list(admin_client: Client) -> None:
    (row,) = _export(admin_client, "validator", q=str(past.validator_tx(3).tx_id))
    assert row == {
        "node_id": str(past.node(3)),
        "subnet_id": "11111111111111111111111111111111LpoYY",
        "tx_id": str(past.validator_tx(3).tx_id),
        "phase": "current",
        "outcome": "",
        "weight": "2291000000",
        "coins": "2291",
        "start_time": "2026-06-01T14:13:20Z",
        "end_time": "2027-04-27T14:13:20Z",
        "left_time": "",
        "potential_reward": "45820000",
        "paid_reward": "",
        "rewards_owner": address(past.person(3)),
        "rewards_threshold": "1",
        "delegation_fee_percent": "2",
        "delegator_count": "2",
        "delegated_coins": "116",
        "uptime_percent": "",  # uptimes are not tracked yet
        "delegatee_reward": "0",
    }


def test_past_stakers_say_how_they_left(admin_client: Client) -> None:
    (row,) = _export(admin_client, "validator", q=str(past.past_tx(10).tx_id))
    assert (row["phase"], row["outcome"], row["paid_reward"]) == ("past", "rewarded", "60000000")
    assert row["left_time"].endswith("Z")
    assert len(row["rewards_owner"].split()) == 3
    (row,) = _export(admin_client, "validator", q=str(past.past_tx(6).tx_id))
    assert (row["outcome"], row["paid_reward"]) == ("not rewarded", "0")


def test_exported_formula_becomes_text(admin_client: Client) -> None:
    staker = models.Staker.objects.filter(pk=past.validator_tx(3).tx_id)
    staker.update(node='=HYPERLINK("x")')
    (row,) = _export(admin_client, "validator", q=str(past.validator_tx(3).tx_id))
    assert row["node_id"] == '\'=HYPERLINK("x")'


def test_a_file_is_read_in_few_statements_however_many_rows(
    admin_client: Client, browse: Browse
) -> None:
    page = browse(export("validator"), show="current")
    before = len(page.chain_statements)
    assert before == 4  # the first page of the list, whose position was not requested yet
    assert page.slow_plans() == []


def test_export_link_has_the_chosen_filter(browse: Browse) -> None:
    text = browse(listing("delegator"), show="past").text
    assert f'href="{export("delegator")}?show=past" download' in text
    assert "export/" not in browse(listing("subnet")).text


def test_an_empty_file_has_its_headings(admin_client: Client) -> None:
    answer = admin_client.get(export("validator"), {"q": "nobody"})
    assert isinstance(answer, StreamingHttpResponse)
    lines = b"".join(async_to_sync(_read)(answer)).decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("node_id,subnet_id,tx_id,phase")
