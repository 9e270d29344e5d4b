"""Lists as CSV files: the rows of the pages, exact amounts, limits, and no cell that a spreadsheet would execute."""

import csv
import io
import re
from http import HTTPStatus
from typing import Any

import pytest
from django.test import Client

from cchain_app import models
from cchain_app.services.calls import index_calls
from explorer_app.models import Token
from explorer_app.views import csv_lists
from explorer_app.views.csv_lists import units
from platform_app.models import Block as PlatformBlock
from platform_app.models import Tx
from primitives.hexadecimal import checksum_address
from tests.builders import puppet
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.admin_pages import Browse
from tests.integration.cchain_app.traced_chain import ADDRESSES, TracedChain
from tests.integration.conftest import Chain
from tests.integration.explorer_app.token_chain import TokenChain, erc20
from tests.integration.platform_app.conftest import PChain

COIN = 10**18


def table(response: Any) -> list[dict[str, str]]:
    """Return the rows of a CSV file by their headings."""
    assert response.status_code == HTTPStatus.OK
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith('attachment; filename="')
    return list(csv.DictReader(io.StringIO(response.content.decode())))


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0"), (1, "0.000000000000000001"), (1_234_567 * COIN + COIN // 2, "1234567.5")],
)
def test_amounts_are_exact_numbers(amount: int, text: str) -> None:
    assert units(amount, COIN) == text


def of(address: bytes, name: str) -> str:
    return f"/address/0x{address.hex()}/{name}.csv"


def test_transactions_of_an_address(made: TracedChain, client: Client) -> None:
    rows = table(client.get(of(SENDER, "transactions")))

    sent = list(models.Transaction.objects.filter(sender=SENDER).order_by("-id"))
    assert [row["Transaction"] for row in rows] == [str(tx.hash) for tx in sent]
    first, tx = rows[0], sent[0]
    receipt = models.Receipt.objects.get(transaction=tx)
    assert first["From"] == checksum_address(SENDER)
    assert first["Value AVAX"] == units(tx.value, COIN)
    assert first["Fee AVAX"] == units(receipt.gas_used * receipt.effective_gas_price, COIN)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", first["Time"])
    states = {row["State"] for row in rows}
    assert states == {"succeeded", "failed"}
    deployed = [row for row in rows if row["Created contract"]]
    created = models.Receipt.objects.filter(contract_address__isnull=False, succeeded=True)
    assert {row["Created contract"] for row in deployed} == {
        checksum_address(receipt.contract_address) for receipt in created
    }
    assert table(client.get(of(SENDER, "transactions"), {"show": "received"})) == []
    assert client.get(of(SENDER, "transactions"), {"show": "x"}).status_code == HTTPStatus.NOT_FOUND


def test_a_file_has_a_limit_and_names_the_next(
    made: TracedChain, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_lists, "MAX_ROWS", 3)
    monkeypatch.setattr(csv_lists, "AT_ONCE", 2)
    path, found = of(SENDER, "transactions") + "?show=sent", []
    parts = 0
    while True:
        response = client.get(path)
        rows = table(response)
        found += [row["Transaction"] for row in rows]
        parts += 1
        if "Link" not in response:
            break
        assert len(rows) == 3
        match = re.fullmatch(r'<(\?show=sent&before=\d+)>; rel="next"', response["Link"])
        assert match is not None
        path = of(SENDER, "transactions") + match[1]

    sent = models.Transaction.objects.filter(sender=SENDER).order_by("-id")
    assert found == [str(tx.hash) for tx in sent]
    assert parts == -(-len(found) // 3)


def test_file_size_is_limited(
    made: TracedChain, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.get(of(SENDER, "transactions")).content
    monkeypatch.setattr(csv_lists, "MAX_BYTES", len(whole) - 1)
    cut = client.get(of(SENDER, "transactions"))

    assert whole.startswith(cut.content)
    assert len(cut.content) < len(whole)
    assert cut.content.endswith(b"\r\n")
    assert "Link" in cut


def test_a_file_takes_a_bounded_number_of_queries(
    made: TracedChain, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_lists, "AT_ONCE", 1)
    monkeypatch.setattr(csv_lists, "MAX_PARTS", 4)
    page = browse(of(SENDER, "transactions"))

    assert len(table(page.response)) == 4
    assert "Link" in page.response
    assert page.slow_plans() == []


def test_internal_transactions_and_events(made: TracedChain, client: Client) -> None:
    index_calls(made.chain.evm, seconds=60)
    proxy, logger = ADDRESSES["proxy"], ADDRESSES["logger"]
    calls = table(client.get(of(proxy, "internal")))
    logs = table(client.get(of(logger, "events")))

    inner = models.Call.objects.filter(sender=proxy, depth__gt=0, succeeded=True)
    shown = [call for call in inner.order_by("-id") if call.get_type_display() not in {"DELEGATECALL", "STATICCALL"}]  # fmt: skip
    assert [(row["Type"], row["Value AVAX"]) for row in calls] == [
        (call.get_type_display(), units(call.value or 0, COIN)) for call in shown
    ]
    emitted = list(models.Log.objects.filter(address=logger).order_by("-id"))
    assert len(emitted) > 0
    assert [(row["Index"], row["Topic 0"], row["Data"]) for row in logs] == [
        (str(log.index), "" if log.topic0 is None else str(log.topic0), str(log.data))
        for log in emitted
    ]


def test_formulas_in_token_names_become_text(tokens: TokenChain, pchain: PChain, client: Client) -> None:  # fmt: skip
    coin = tokens.deploy(puppet.of_erc20(name=b"=HYPERLINK(1)", symbol=b"@SUM"))
    tokens.call(coin, erc20(SENDER, RECIPIENT, 1_500), erc20(SENDER, RECIPIENT, 0))
    tokens.index()
    rows = table(client.get(of(RECIPIENT, "transfers")))

    token = Token.objects.get(address=coin)
    assert [row["Name"] for row in rows] == ["'=HYPERLINK(1)"] * 2
    assert {row["Symbol"] for row in rows} == {"'@SUM"}
    assert [row["Amount"] for row in rows] == ["0", units(1_500, 10**token.decimals)]
    assert rows[0]["Doubt"]
    assert rows[1]["To"] == checksum_address(RECIPIENT)
    sure = table(client.get(of(RECIPIENT, "transfers"), {"show": "confirmed"}))
    assert [row["Amount"] for row in sure] == [rows[1]["Amount"]]


def test_lists_of_the_cchain(made: TracedChain, client: Client) -> None:
    blocks, txs = table(client.get("/blocks.csv")), table(client.get("/txs.csv"))

    assert [row["Block"] for row in blocks] == ["3", "2", "1", "0"]
    assert [row["Hash"] for row in blocks] == [str(block.hash) for block in models.Block.objects.order_by("-number")]  # fmt: skip
    assert len(txs) == models.Transaction.objects.count()
    assert [row["Block"] for row in table(client.get("/blocks.csv", {"before": "2"}))] == ["1", "0"]


def test_lists_of_the_pchain(pchain: PChain, client: Client) -> None:
    validators = table(client.get("/p/validators.csv"))
    ends = table(client.get("/p/calendar.csv"))
    txs, blocks = table(client.get("/p/txs.csv")), table(client.get("/p/blocks.csv"))

    assert len(validators) > 0
    assert all(float(row["Stake AVAX"]) > 0 for row in validators)
    assert {row["NodeID"] for row in ends} == {row["NodeID"] for row in validators}
    assert [row["Ends"] for row in ends] == sorted(row["Ends"] for row in ends)
    assert [row["Transaction"] for row in txs] == [str(tx.tx_id) for tx in Tx.objects.order_by("-pk")]  # fmt: skip
    assert len(blocks) == PlatformBlock.objects.count()


@pytest.mark.parametrize("name", ["transactions", "transfers", "internal", "events"])
def test_a_file_of_no_address_is_not_found(
    pchain: PChain, chain: Chain, client: Client, name: str
) -> None:
    assert client.get(f"/address/nobody/{name}.csv").status_code == HTTPStatus.NOT_FOUND


def test_pages_link_to_their_downloads(made: TracedChain, client: Client) -> None:
    address = f"/address/0x{ADDRESSES['logger'].hex()}"
    for path, file in (
        (f"{address}?show=sent", f"{address}/transactions.csv?show=sent"),
        (f"{address}?tab=tokens", f"{address}/transfers.csv?tab=tokens"),
        (f"{address}?tab=inner", f"{address}/internal.csv?tab=inner"),
        (f"{address}?tab=events", f"{address}/events.csv?tab=events"),
        ("/blocks?before=2", "/blocks.csv?before=2"),
        ("/txs", "/txs.csv"),
        ("/p/txs", "/p/txs.csv"),
        ("/p/blocks", "/p/blocks.csv"),
        ("/p/validators", "/p/validators.csv"),
        ("/p/calendar", "/p/calendar.csv"),
    ):
        assert f'href="{file}" download' in client.get(path).content.decode()
        assert client.get(file).status_code == HTTPStatus.OK
    assert b".csv" not in client.get(f"{address}?tab=contract").content
