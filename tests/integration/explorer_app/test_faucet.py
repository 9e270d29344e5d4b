"""The faucet: coins on both chains, through a form and JSON, with rate limits."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from cchain_app.chain import EvmChain
from cchain_app.services.runtime import EvmRuntime
from chaindb import clock
from explorer_app.services import faucet
from explorer_app.services.composition import compose
from explorer_app.services.faucet import HOUR, OF_CLIENT, PAUSE, Faucet, TooOften
from nodeproject.apps import this_node
from nodeproject.node import Node
from platform_app.apps import platform_chain
from platform_app.selectors import outputs
from primitives.addresses import format_address
from primitives.hexadecimal import checksum_address
from primitives.ids import ShortID
from primitives.keys import EWOQ_KEY
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.builders.transactions import RECIPIENT
from tests.integration.conftest import Chain
from tests.integration.platform_app.conftest import PChain
from xchain_app.selectors import outputs as x_outputs
from xchain_app.services import mempool as x_mempool
from xchain_app.services import wallet_retry
from xchain_app.wallet.errors import AvmWalletReason
from xchain_app.wallet.transactions import AssetPayment

SOMEBODY = ShortID(b"\x11" * 20)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def runtime_of(_chain: EvmChain) -> EvmRuntime:
    raise AssertionError("only the C-Chain runs")


@pytest.fixture(autouse=True)
def opened(request: pytest.FixtureRequest) -> None:
    """Start both chains, with the clock of the P-Chain, unless the test has committed chains."""
    if "shared_chain" in request.fixturenames:
        return
    pchain = request.getfixturevalue("pchain")
    request.getfixturevalue("chain")
    request.getfixturevalue("monkeypatch").setattr(clock, "now", lambda *_: pchain.now)
    compose(this_node().explorer, this_node().evm_runtime, runtime_of)


@pytest.fixture
def tap(opened: None) -> Faucet:
    """The faucet of this process."""
    found = this_node().explorer.faucet
    assert isinstance(found, Faucet)
    return found


def ask(client: Client, address: object) -> Any:
    return client.post("/faucet", {"address": address}, content_type="application/json")


def test_an_address_of_the_c_chain_gets_coins(chain: Chain, client: Client) -> None:
    answer = ask(client, "0x" + RECIPIENT.hex())
    block = chain.mine()

    (sent,) = block.transactions
    assert answer.status_code == HTTPStatus.OK
    assert answer.json() == {
        "chain": "C", "address": "0x" + RECIPIENT.hex(), "transaction": "0x" + sent.hash.hex(), "coins": 10,
    }  # fmt: skip
    assert (sent.to, sent.value) == (RECIPIENT, 10 * 10**18)
    assert block.receipts[0].succeeded


def test_an_address_of_the_p_chain_gets_coins(pchain: PChain, client: Client) -> None:
    text = format_address("P", platform_chain().config.hrp, SOMEBODY)
    answer = ask(client, text)
    pchain.now += 1
    pchain.build()

    assert answer.json()["chain"] == "P"
    owned = outputs.balance(platform_chain(), [SOMEBODY], now=pchain.now).funds
    assert owned[pchain.asset_id].unlocked == 10 * pchain.network.unit


def test_an_address_of_the_x_chain_gets_coins(pchain: PChain, client: Client) -> None:
    chain, runtime = this_node().avm_chain, this_node().avm_runtime
    first, second = (chain.address(ShortID(bytes([place]) * 20)) for place in (0x11, 0x12))
    answer = ask(client, first)
    assert runtime.consensus.produce(now=pchain.now) is not None
    page = client.post("/faucet", {"address": second}).content.decode()
    pchain.now += 1
    assert runtime.consensus.produce(now=pchain.now) is not None

    assert answer.json()["chain"] == "X"
    assert 'href="/x/tx/' in page
    asset = chain.stored().fee_asset_id
    for owner in (0x11, 0x12):
        address = ShortID(bytes([owner]) * 20)
        owned = x_outputs.balance(chain.db, address, asset, now=pchain.now, with_partial=False)
        assert owned.amount == 10 * pchain.network.unit


def test_coins_that_are_being_spent_are_awaited_for_a_while(
    pchain: PChain, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wallet_retry, "_PAUSE", 0.0)
    monkeypatch.setattr(wallet_retry.build_and_issue, "__kwdefaults__", {"patience": 0.0})
    chain = this_node().avm_chain
    assert ask(client, chain.address(SOMEBODY)).status_code == HTTPStatus.OK
    refused = ask(client, chain.address(ShortID(b"\x12" * 20)))
    assert refused.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert "but only have 0" in refused.json()["error"]


def test_a_permanent_refusal_on_the_x_chain_is_not_repeated(
    pchain: PChain, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(seconds: float) -> None:
        raise AssertionError(f"waits for {seconds} s")

    monkeypatch.setattr(
        wallet_retry, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep)
    )
    chain = this_node().avm_chain
    with monkeypatch.context() as full:
        full.setattr(x_mempool, "MAX_BYTES", 0)
        refused = ask(client, chain.address(SOMEBODY))
    assert refused.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert "mempool is full" in refused.json()["error"]

    assert ask(client, chain.address(SOMEBODY)).status_code == HTTPStatus.OK
    payment = AssetPayment(chain.stored().fee_asset_id, 2**62, SOMEBODY)
    with raises(AvmWalletReason.NOT_ENOUGH):  # not even with the change that is pending
        wallet_retry.build_and_issue(
            chain, [EWOQ_KEY], lambda own: own.send([payment]), now=lambda: pchain.now
        )


def test_the_form_links_the_sent_transaction(client: Client) -> None:
    page = client.post("/faucet", {"address": checksum_address(RECIPIENT)})

    assert page.status_code == HTTPStatus.OK
    assert b'href="/tx/0x' in page.content
    assert b'href="/faucet"' in client.get("/").content


@pytest.mark.parametrize("address", ["", "nobody", "0x12", "NodeID-1", None, 7, ["0x"], "<b>"])
def test_an_invalid_address_gets_no_coins(client: Client, address: object) -> None:
    answer = ask(client, address)

    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert answer.json() == {
        "error": "this is not an address of the C-Chain, the P-Chain or the X-Chain"
    }
    assert client.post("/faucet", b"{", content_type="application/json").status_code == 400


def test_an_address_gets_some_once_a_minute(client: Client) -> None:
    assert ask(client, "0x" + RECIPIENT.hex()).status_code == HTTPStatus.OK
    again = ask(client, checksum_address(RECIPIENT))

    assert again.status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert 0 < int(again["Retry-After"]) <= PAUSE.total_seconds()
    assert "try again in" in again.json()["error"]


def test_limits_are_of_addresses_and_clients(tap: Faucet) -> None:
    for number in range(OF_CLIENT):
        tap.count(b"C%d" % number, "client", BEGIN + number * SECOND)
    with pytest.raises(TooOften, match="this client has made 10 requests") as failure:
        tap.count(b"another", "client", BEGIN + 20 * SECOND)
    assert failure.value.seconds == 3580
    tap.count(b"another", "else", BEGIN + 20 * SECOND)
    with pytest.raises(TooOften, match="this address"):
        tap.count(b"another", "third", BEGIN + 20 * SECOND + PAUSE - SECOND)
    tap.count(b"another", "third", BEGIN + 20 * SECOND + PAUSE)
    tap.count(b"C0", "client", BEGIN + HOUR + SECOND)


@pytest.mark.node_settings(faucet_hourly=35)
def test_all_payments_of_an_hour_have_a_limit_together(tap: Faucet) -> None:
    for number in range(3):
        tap.count(b"C%d" % number, f"client {number}", BEGIN + number * SECOND)
    with pytest.raises(TooOften, match="gives 35 coins an hour") as failure:
        tap.count(b"P3", "client 3", BEGIN + 3 * SECOND)
    assert failure.value.seconds == 3597
    tap.count(b"P3", "client 3", BEGIN + HOUR + SECOND)


@pytest.mark.node_settings(faucet_hourly=0)
def test_total_limit_can_be_disabled(tap: Faucet) -> None:
    for number in range(200):
        tap.count(b"C%d" % number, f"client {number}", BEGIN)


def test_wrong_clock_closes_the_faucet_for_an_hour_at_most(tap: Faucet) -> None:
    tap.count(b"C0", "client", BEGIN + 24 * HOUR)
    tap.count(b"C0", "client", BEGIN)


def test_processes_share_the_limits(shared_chain: Chain, node_settings: Any) -> None:
    """All explorers use one database, each through its own connection and without knowing the others."""
    explorers = [
        compose(made.explorer, made.evm_runtime, runtime_of)
        for made in (Node(node_settings) for _ in range(4))
    ]
    ready = threading.Barrier(len(explorers))

    def take(number: int) -> int:
        tap = explorers[number].faucet
        assert isinstance(tap, Faucet)
        ready.wait()
        paid = 0
        try:
            for turn in range(OF_CLIENT):
                with suppress(TooOften):
                    tap.count(b"C%d" % (number * OF_CLIENT + turn), "client", BEGIN)
                    paid += 1
            return paid
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(explorers)) as threads:
        assert sum(threads.map(take, range(len(explorers)))) == OF_CLIENT


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", HTTPStatus.FORBIDDEN),
        ("null", HTTPStatus.FORBIDDEN),
        ("http://localhost.evil.example", HTTPStatus.FORBIDDEN),
        ("http://localhost", HTTPStatus.OK),
        ("https://named.example", HTTPStatus.OK),
        (None, HTTPStatus.OK),
    ],
)
def test_the_operators_key_pays_only_for_listed_origins(
    client: Client,
    *,
    node_settings: Any,
    settings: Any,
    tmp_path: Path,
    origin: str | None,
    status: int,
) -> None:
    key = tmp_path / "key"
    key.write_text(EWOQ_KEY.hex())
    settings.NODE = updated(
        node_settings, faucet_key_file=str(key), allowed_origins=("*", "https://named.example")
    )
    headers = {"host": "localhost"} | ({} if origin is None else {"origin": origin})
    for body, kind in (
        ({"address": "0x" + "01" * 20}, "application/json"),
        (f"address=0x{'02' * 20}", "application/x-www-form-urlencoded"),
    ):
        answer = client.post("/faucet", body, content_type=kind, headers=headers)
        assert answer.status_code == status
        assert (b"NODE_ALLOWED_ORIGINS" in answer.content) is (status == HTTPStatus.FORBIDDEN)


def test_a_public_key_pays_for_every_page(client: Client) -> None:
    body = {"address": "0x" + RECIPIENT.hex()}
    headers = {"origin": "https://evil.example"}
    answer = client.post("/faucet", body, content_type="application/json", headers=headers)
    assert answer.status_code == HTTPStatus.OK


def test_a_failed_payment_does_not_count(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faucet, "GAS", 1)
    refused = ask(client, "0x" + RECIPIENT.hex())
    monkeypatch.undo()

    assert refused.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert "intrinsic gas" in refused.json()["error"]
    assert ask(client, "0x" + RECIPIENT.hex()).status_code == HTTPStatus.OK


@pytest.mark.node_settings(faucet=0)
def test_a_disabled_faucet_has_no_page(client: Client) -> None:
    assert ask(client, "0x" + RECIPIENT.hex()).status_code == HTTPStatus.NOT_FOUND
    assert client.get("/faucet").status_code == HTTPStatus.NOT_FOUND
    assert b"Faucet" not in client.get("/").content


def test_faucet_of_a_public_network_needs_a_key(
    node_settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = updated(node_settings, network_id=5)
    assert Node(elsewhere).explorer.faucet is None
    good, bad = tmp_path / "key", tmp_path / "bad"
    good.write_text("0x" + "11" * 32 + "\n")
    bad.write_text("s3cr3tk3y")
    assert Node(updated(elsewhere, faucet_key_file=str(good))).explorer.faucet is not None
    assert Node(updated(elsewhere, faucet_key_file=str(bad))).explorer.faucet is None
    assert "does not contain a private key" in caplog.text
    assert "s3cr3t" not in caplog.text
