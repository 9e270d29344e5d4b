"""The content of the page "Consensus" and of the list of decisions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from network_app.admin import voting
from network_app.consensus.report import ConsensusReport, ReportedBlock, StakeReport
from network_app.store import consensus
from platform_app.chain import PlatformChain
from primitives.ids import NodeID
from tests.builders import network_rows
from tests.builders.consensus_report import REPORT, block_id, decided, node_id, processing
from tests.builders.node_settings import updated
from tests.integration.admin_pages import Browse
from tests.integration.network_app.admin import past
from tests.integration.network_app.admin.paths import detail, listing

pytestmark = pytest.mark.usefixtures("network")


@pytest.fixture
def snowman(settings: Any) -> None:
    settings.NODE = updated(settings.NODE, consensus="snowman")


def show(browse: Browse, report: ConsensusReport = REPORT) -> str:
    consensus.write(report, network_rows.ago(0))
    page = browse(listing("chainconsensus"))
    assert page.status == 200
    return page.text


@pytest.mark.usefixtures("snowman")
def test_each_chain_has_its_parameters_its_stake_and_its_head(browse: Browse) -> None:
    consensus.write(replace(REPORT, alias="P"), network_rows.ago(0))
    text = show(browse)
    assert text.index('aria-label="P-Chain"') < text.index('aria-label="C-Chain"')
    for shown in (
        "The validators vote on each block", ">votes</span>", "80.0 %",
        "65 % needed for polls, 72 % to be healthy", "13 of 20, 20 times",
        "k 20, alpha 13 and 13, beta 20 polls, 4 at a time", "40 successful, 2 failed",
        "unhealthy above 256", str(block_id(1)), str(block_id(3)),
    ):  # fmt: skip
        assert text.count(shown) >= 1, shown


@pytest.mark.usefixtures("snowman")
def test_processing_blocks_are_a_tree(browse: Browse) -> None:
    def block(number: int, parent: int, **changes: Any) -> ReportedBlock:
        return processing(number)._replace(parent_id=block_id(parent), **changes)

    report = replace(
        REPORT,
        processing=(
            block(2, 1),
            block(3, 1, height=2, preferred=False, confidence=0, proposer=None),
            block(5, 2, height=3),
        ),
    )
    text = show(browse, report)
    places = [text.index(f'title="{block_id(number)}"') for number in (2, 5)]
    rival = text.rindex(f'title="{block_id(3)}"')
    assert places[0] < places[1] < rival
    assert 'padding-left:0.75rem">└ 3</span>' in text
    assert text.count(">preferred</span>") == 2
    assert "7 of 20" in text
    assert "0 of 20" in text
    assert ">unsigned</span>" in text


@pytest.mark.usefixtures("snowman")
def test_polls_absent_validators_and_equivocations_are_named(browse: Browse) -> None:
    text = show(browse)
    assert "13 of 20<" in text
    assert str(node_id(4)) in text
    assert "20.0 %" in text
    for shown in (str(node_id(2)), str(block_id(5)), str(block_id(6))):
        assert shown in text
    empty = replace(
        REPORT, polls=(), processing=(), equivocations=(), stake=StakeReport(5, 10_000, {})
    )
    text = show(browse, empty)
    for title in ("Open polls</h3><", "Silent validators", "Second block"):
        assert title not in text
    assert "all known blocks are decided" in text


@pytest.mark.usefixtures("snowman")
def test_obstacle_of_consensus_is_shown(browse: Browse) -> None:
    text = show(browse, replace(REPORT, stake=StakeReport(5, 10_000, {node_id(4): 4000})))
    assert ">no quorum</span>" in text
    assert "hears 60 % of the stake, needs 65 %" in text
    assert "it bootstraps the chain" in show(browse, replace(REPORT, is_running=False))
    network_rows.report(heartbeat_at=network_rows.ago(60))
    assert ">silent</span>" in show(browse)


@pytest.mark.usefixtures("snowman")
def test_more_than_can_be_named_are_counted(browse: Browse) -> None:
    tables = replace(REPORT.tables, processing=70)
    stake = StakeReport(500, 10_000, {node_id(4): 1000}, unnamed=500)
    text = show(browse, replace(REPORT, tables=tables, stake=stake))
    assert "and 68 more" in text
    assert "and others with" in text


@pytest.mark.usefixtures("snowman")
def test_consensus_page_takes_few_statements(browse: Browse) -> None:
    consensus.write(replace(REPORT, alias="P"), network_rows.ago(0))
    consensus.write(REPORT, network_rows.ago(0))
    consensus.add("C", [decided(number) for number in range(1, 101)], keep=1000)
    page = browse(listing("chainconsensus"))
    shown = page.text.count(">accepted</span>") + page.text.count(">rejected</span>")
    assert shown == 2 * voting.LATEST
    asked = [sql for sql, _ in page.chain_statements]
    # The process's report, the clock, the reports of the chains, and each chain's last decisions.
    assert len(asked) <= 5, "\n".join(asked)


def test_sole_producer_is_explained(browse: Browse, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, bootstrap=())
    consensus.write(REPORT, network_rows.ago(0))
    text = browse(listing("chainconsensus")).text
    assert "makes all blocks and decides on them alone, without votes." in text
    assert 'aria-label="C-Chain"' not in text


def test_page_before_the_first_start_names_the_future_producer(
    browse: Browse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def read(_: object) -> NodeID:
        raise FileNotFoundError(tmp_path / "staker.crt")

    monkeypatch.setattr(PlatformChain, "node_id", property(read))
    text = browse(listing("chainconsensus")).text
    assert "The producer decides on its blocks without votes." in text


def test_a_row_has_no_page_of_its_own(admin_client: Client) -> None:
    consensus.write(REPORT, network_rows.ago(0))
    answer = admin_client.get(detail("chainconsensus", "C"))
    assert (answer.status_code, answer.headers["Location"]) == (302, listing("chainconsensus"))


def test_page_without_permission_is_forbidden(client: Client, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create_user("reader", is_staff=True))
    assert client.get(listing("chainconsensus")).status_code == 403
    assert client.get(detail("chainconsensus", "C")).status_code == 403


def test_decisions_are_listed_and_found(browse: Browse) -> None:
    proposer = past.node(3)
    consensus.add("C", [decided(8, proposer=proposer), decided(9, accepted=False)], keep=10_000)
    consensus.add("P", [decided(9)], keep=10_000)

    def heights(**parameters: str) -> list[tuple[str, int]]:
        page = browse(listing("blockdecision"), **parameters)
        return [(row.chain, row.height) for row in page.rows[:3]]

    latest = [("P", 9), ("C", 9), ("C", 8)]
    assert heights() == latest
    assert heights(show="C") == latest[1:] + heights(show="C")[2:]
    assert heights(show="rejected")[0] == ("C", 9)
    assert heights(q="8")[0] == ("C", 8)
    assert heights(q=str(proposer))[0] == ("C", 8)
    assert heights(q=str(block_id(9)), show="C") == [("C", 9)]
    page = browse(listing("blockdecision"))
    for shown in (">rejected</span>", ">accepted</span>", "2.0 s", str(proposer)):
        assert shown in page.text


def test_decision_page_shows_all_fields(browse: Browse) -> None:
    consensus.add("C", [decided(8, proposer=past.node(3))], keep=10_000)
    (row, *_) = browse(listing("blockdecision")).rows
    text = browse(detail("blockdecision", row.pk)).text
    for shown in (str(block_id(8)), str(block_id(7)), str(past.node(3)), "2023-11-14 22:13:18"):
        assert shown in text
