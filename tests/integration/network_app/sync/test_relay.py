"""A process without connections gets the signatures of the peers of the network process."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from chaindb.connections import in_thread
from network_app.chains import relay
from network_app.chains.relay import MAX_WAITING, RelayedPeers, SignatureRelay
from network_app.models import SignatureQuery
from network_app.store import signature_requests as rows
from nodeproject.apps import this_node
from platform_app.services.signatures import AggregationSlots
from tests.builders import network_rows
from tests.builders.memory_network import PATIENT, World, node_id, quick_config
from tests.integration.network_app.sync.test_signatures import REQUEST, refusing, signing

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("node_settings")]


def asking(chain: str = "P") -> RelayedPeers:
    node = this_node()
    return RelayedPeers(node.database, node.events, chain)


async def test_signatures_come_through_the_rows() -> None:
    world = World()
    config = quick_config(**PATIENT)
    asker = world.add("asker", config=config)
    peers = {name: world.add(name, config=config) for name in ("one", "two", "no")}
    for name in ("one", "two"):
        peers[name].engine._signers = {"P": signing(name)}
    peers["no"].engine._signers = {"P": refusing}
    world.link_all()
    await in_thread(network_rows.report)
    relaying = SignatureRelay(this_node().database, asker.engine.requests)
    asked = [node_id(name) for name in (*peers, "nobody")]

    waiting = [
        asyncio.create_task(in_thread(asking().ask, REQUEST, asked)),
        asyncio.create_task(in_thread(asking("not joined").ask, REQUEST, asked)),
    ]
    while not all(task.done() for task in waiting):
        await relaying.look()
        relaying.look_soon()
        await asyncio.sleep(0.01)

    found, nothing = (task.result() for task in waiting)
    assert found == {node_id(name): signing(name).signature for name in ("one", "two")}
    assert nothing == {}
    assert not await in_thread(SignatureQuery.objects.exists)
    relaying.stop()


def test_nobody_answers_without_a_network_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asking().ask(REQUEST, [node_id("one")]) == {}
    network_rows.report()
    monkeypatch.setattr(relay, "MAX_SECONDS", 0.0)
    assert asking().ask(REQUEST, [node_id("one")]) == {}
    assert not SignatureQuery.objects.exists()


def test_requests_of_ended_processes_are_forgotten() -> None:
    key = rows.ask("P", REQUEST, [node_id("one"), node_id("two")])
    (query,) = rows.unanswered(20, MAX_WAITING, ())
    assert (query.key, query.chain, query.payload) == (key, "P", REQUEST)
    assert query.node_ids == [node_id("one"), node_id("two")]
    assert rows.unanswered(20, MAX_WAITING, [key]) == []
    SignatureQuery.objects.update(asked_at=datetime.now(UTC) - timedelta(seconds=61))
    assert rows.unanswered(20, MAX_WAITING, ()) == []
    rows.forget_old(60)
    assert not SignatureQuery.objects.exists()


@pytest.mark.parametrize(("threads", "slots"), [(1, 1), (4, 1), (8, 2), (16, 4), (64, 16)])
def test_aggregations_leave_threads_for_other_calls(threads: int, slots: int) -> None:
    assert AggregationSlots(threads).count == slots
